# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Files that verbs read (facts, looks for drift, prices, plans, other JSON; ``facts-missing``, ``prices-invalid``) and
write (``unwritable-file``); a path as an option of a printed command; ``~`` in paths; options with no text in them
refused (``bad-option``)."""

from __future__ import annotations

import errno
import json
import os
import shlex
import typing as t
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from .._core.cluster.facts.prices import NO_PRICES, PriceList, merged_prices, read_prices
from .._core.cluster.facts.snapshot import FactsSnapshot, read_snapshot
from .._core.errors import FleetError, Problem
from .._core.foreign import is_template
from .._core.overview.drift import DriftLook
from .._core.overview.drift_look import read_look
from .._core.plan.approved import Approved, read_approved
from .._core.values.canonical import digest_of, strict_json
from .._kube import files
from .._kube.files import read_file, refuse_special, with_home

PRICES_FOLDER = Path(__file__).resolve().parents[3] / "playbooks" / "prices"
SHIPPED_PRICES = ("aws", "azure", "gce")
# Bytes. A plan of a thousand placements on a thousand clusters has a third of it.
MAX_JSON = 1_000_000_000


def facts_file(path: str, now: datetime, *, for_plan: bool = False) -> FactsSnapshot:
    """The facts snapshot in a JSON file; ``for_plan`` without nodes, and with the digest by which a plan names its
    facts. FleetError ``facts-missing``, ``facts-too-new`` for a newer schema, ``facts-invalid``, also for one captured
    more than 5 minutes after ``now``."""
    command = f"ansible-playbook gitops.fleet.facts {path_option('dest', path)}"
    hint = f"{command} reads the facts of all members and writes it"
    document = json_file(path, "facts-missing", "facts-invalid", hint)
    found = read_snapshot(document, path, now, with_nodes=not for_plan)
    if not for_plan:
        return found
    try:
        return replace(found, digest=digest_of(document))
    except FleetError as error:
        raise FleetError("facts-invalid", error.message, path) from None


def drift_file(path: str, now: datetime) -> DriftLook:
    """What a look for drift has written to its ``result_file``. FleetError ``drift-missing`` if it cannot be read,
    ``drift-invalid`` if it is no JSON, and as of ``read_look``."""
    hint = f"ansible-playbook gitops.fleet.drift {path_option('result_file', path)} writes it"
    return read_look(json_file(path, "drift-missing", "drift-invalid", hint), path, now)


def path_option(name: str, path: str) -> str:
    """The option ``-e`` that gives a playbook the path under that name, quoted for a shell and for Ansible; the word
    PATH stands for a path that Ansible would take for a template."""
    path = "PATH" if is_template(path) else path
    plain = shlex.quote(path) == path
    return f"-e {name}={path}" if plain else f"-e {shlex.quote(json.dumps({name: path}))}"


def json_file(path: str, missing: str, invalid: str, hint: str = "") -> t.Any:
    """A JSON file's content. FleetError with the code ``missing`` where it cannot be read or has more than MAX_JSON
    bytes; with ``invalid`` where it is no JSON, is nested too deep, or has NaN, an infinite number or a key twice.
    ``hint`` is how to get one that is missing."""
    try:
        return strict_json(read_file(path, MAX_JSON), _unrepeated)
    except OSError as error:
        raise FleetError(missing, f"the file cannot be read: {error.strerror}", path, hint) from None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise FleetError(invalid, f"the file is no JSON: {reason}", path) from None


def from_home(path: str) -> str:
    """The path with a leading ``~`` replaced, as of ``with_home``, by the environment of this process."""
    return with_home(path, os.environ)


def _unrepeated(pairs: list[tuple[str, t.Any]]) -> dict[str, t.Any]:
    """The object that these pairs make. ValueError, with the first such key, if one stands twice: readers take one or
    the other, and nobody knows which was meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _value in pairs).items() if count > 1)
        raise ValueError(f"the key {twice!r:.80} stands twice in one object")
    return found


def prices_file(path: str) -> PriceList:
    """The price list in a JSON file; a name in ``SHIPPED_PRICES`` stands for that list of the collection. FleetError
    ``prices-missing``, ``prices-invalid``."""
    if path in SHIPPED_PRICES:
        path = str(PRICES_FOLDER / f"{path}.json")
    return read_prices(json_file(path, "prices-missing", "prices-invalid"), path)


def prices_files(paths: t.Sequence[str]) -> PriceList:
    """The lists as one, a later one counting before an earlier; ``NO_PRICES`` without any. Empty paths are passed over.
    FleetError as of ``prices_file``."""
    found = [prices_file(each) for each in paths if each]
    return merged_prices(found) if len(found) > 1 else found[0] if found else NO_PRICES


def approved_plan(path: str) -> Approved:
    """A plan that was written to a file for approval. FleetError ``plan-missing`` if it cannot be read,
    ``plan-invalid`` if it is no JSON, and as of ``read_approved``, which checks its digests."""
    return read_approved(json_file(path, "plan-missing", "plan-invalid"), path)


def refuse_empty(options: t.Mapping[str, t.Any], *names: str) -> None:
    """FleetError with a problem ``bad-option`` for each of these options (lists of texts, or None) that is an empty
    list, or one of empty texts."""
    empty = [name for name in names if options[name] is not None and not any(options[name])]
    if empty:
        hint = "leave the option out if that is meant"
        raise FleetError.of(Problem("bad-option", f"{name} is empty", name, hint) for name in empty)


def refuse_blank(given: t.Mapping[str, t.Any], names: t.Iterable[str], hint: str) -> None:
    """FleetError with a problem ``bad-option`` for each of these options that is an empty text or blanks; ``hint`` says
    what to do. None and absent ones are passed over."""
    blank = [name for name in names if given.get(name) is not None and not str(given[name]).strip()]
    if blank:
        raise FleetError.of(Problem("bad-option", f"{name} is empty", name, hint) for name in blank)


def refuse_blank_snapshot(given: t.Mapping[str, t.Any]) -> None:
    """As of ``refuse_blank``, of the option ``snapshot``, in whose place members would be read."""
    refuse_blank(given, ("snapshot",), "leave the option out if members are to be asked")


def refuse_unwritable(*paths: str | None) -> None:
    """FleetError ``unwritable-file`` for the first path that could not be written: something else than a regular file
    stands there, its folder, or the nearest one above that exists, is not writable, or an earlier path names the same
    file. Empty paths and None are passed over; nothing is made."""
    before: set[str] = set()
    for path in filter(None, paths):
        folder, name = os.path.split(os.path.abspath(path))
        place = os.path.join(files.real_path(folder), name)
        if place in before:
            text = "another option names the same file, and one of both would be lost"
            raise FleetError("unwritable-file", text, path, "give another path")
        before.add(place)
        while not os.path.exists(folder):
            folder = os.path.dirname(folder)
        try:
            refuse_special(path)
            if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
                raise PermissionError(errno.EACCES, f"see the permissions of {folder}")
        except OSError as error:
            raise _unwritable(error, path) from None


def write_file(path: str, content: str | bytes, mode: int = 0o644) -> None:
    """Writes a file whole or not at all, text in UTF-8 with ``?`` for what that lacks, with the folders that it needs.
    ``mode`` as of ``_kube.files.write_file``. FleetError ``unwritable-file``."""
    try:
        files.make_folder_of(path)
        files.write_file(path, content if isinstance(content, bytes) else content.encode(errors="replace"), mode)
    except OSError as error:
        raise _unwritable(error, path) from None


def _unwritable(error: OSError, path: str) -> FleetError:
    """The error ``unwritable-file``, to be raised."""
    return FleetError("unwritable-file", f"the file cannot be written: {error.strerror}", path, "give another path")
