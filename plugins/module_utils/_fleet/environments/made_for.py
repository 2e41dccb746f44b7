# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""For which fleet, or stack, a local cluster was made, by a mark in its folder; all clusters of a fleet, half removed
ones too, and clusters of others refused (``cluster-of-others``)."""

from __future__ import annotations

import contextlib
import os
import typing as t
from pathlib import Path

from ..._core.errors import FleetError, Problem
from ..._kube.files import read_file
from ..._local import state as states
from ..._local.locks import unwritable_as_error
from ..._local.private import write_private
from ..files import path_option

_MARK, _MOST = "fleet", 4096
# Binaries may be built under the lock of a cluster.
_WAIT = 1800.0


def clusters_of(root: Path, fleet: str) -> tuple[str, ...]:
    """Names, sorted, of all clusters below ``root`` that are marked as made for the fleet, half made ones too.
    FleetError ``state-unreadable``."""
    return tuple(name for name in states.cluster_names(root) if _made_for(root / name) == fleet)


def half_removed_of(root: Path, fleet: str) -> tuple[str, ...]:
    """Names, sorted, of clusters that were made for the fleet and are half removed; none of whose name there is a
    cluster now, which could be anybody's. FleetError ``state-unreadable``."""
    found = {states.name_of_removed(each) for each in states.half_removed(root) if _made_for(each) == fleet}
    return tuple(sorted(found.difference(states.cluster_names(root))))


def refuse_others(root: Path, names: t.Iterable[str], fleet: str) -> None:
    """FleetError ``cluster-of-others`` for each of the named clusters that is there and is not marked as made for the
    fleet, but for one whose folder is still empty; ``state-unreadable``."""
    there = states.cluster_names(root)
    problems = [_of_others(root, name) for name in names if name in there and not _is_free(root / name, fleet)]
    if problems:
        raise FleetError.of(problems)


def mark(root: Path, name: str, fleet: str) -> None:
    """Marks the folder of a cluster, which is made if it is not there, as for the fleet; replaces another mark.
    FleetError as of ``state.made_folder``."""
    folder = states.made_folder(root, name)
    with unwritable_as_error(folder):
        write_private(folder / _MARK, f"{fleet}\n".encode())


def claim(root: Path, name: str, owner: str, before: str = "") -> None:
    """Marks the cluster, which is there or about to be made, as the ``owner``'s, under its lock, for which it waits up
    to half an hour; ``before`` is what the owner was called earlier, empty for nothing. FleetError as of
    ``refuse_foreign``, ``mark`` and ``state.cluster_lock``."""
    with states.cluster_lock(root, name, lambda: None, _WAIT):
        refuse_foreign(root, name, (owner, before))
        mark(root, name, owner)


def refuse_foreign(root: Path, name: str, owners: t.Container[str]) -> None:
    """FleetError ``cluster-of-others`` if the cluster is marked as made for anybody but these, or its mark cannot be
    read; one without a mark, or that is not there, passes. ``bad-name``."""
    folder = states.cluster_dir(root, name)
    whose = _made_for(folder) or ("others, for its mark cannot be read" if os.path.lexists(folder / _MARK) else "")
    if whose and whose not in owners:
        below = path_option("local_root", str(root))
        hint = (
            "give this stack a folder of its own (its setting folder), or remove that cluster first, with all that is"
            f" in it: ansible-playbook gitops.fleet.local_down -e clusters={name} {below}"
        )
        text = f"a cluster of this name in {root} was made for {whose}, and is left alone"
        raise FleetError("cluster-of-others", text, name, hint)


def _is_free(folder: Path, fleet: str) -> bool:
    """Whether it is the fleet's, or has nothing in it yet; not if it cannot be read."""
    with contextlib.suppress(OSError):
        return _made_for(folder) == fleet or not any(folder.iterdir())
    return False


def _made_for(folder: Path) -> str:
    """The fleet that the mark in the folder names; empty where there is none, or it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        return read_file(folder / _MARK, _MOST).decode().strip()
    return ""


def _of_others(root: Path, name: str) -> Problem:
    """The problem ``cluster-of-others`` of one cluster."""
    hint = "use another folder (root, in playbooks local_root), or remove that cluster by its name first"
    return Problem("cluster-of-others", f"a cluster of this name that others made is in {root}", name, hint)
