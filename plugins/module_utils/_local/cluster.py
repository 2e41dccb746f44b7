# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Local clusters made, started, upgraded, stopped and removed, or what that would do (check mode), several at once; the
status of one, of all below a root, and the memory that one takes; ``no-such-cluster``, ``linux-only``.

Real etcd and kube-apiserver processes on loopback, each cluster with its own keys, ports, data and logs in a folder of
its own below a root. Every function may be interrupted at any instant, by SIGKILL too, and called again.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import typing as t
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from .._core.errors import FleetError
from .._kube.parallel import in_parallel
from . import (
    control_plane,
    converge,
    nodes,
    processes,
    upgrades,
)
from . import state as states
from .binaries import (
    Binary,
    Say,
    get_binaries,
    silent,
)
from .components import PROFILES
from .kubeconfigs import merge_kubeconfigs
from .outcome import ClusterStatus, LocalOutcome, Outcomes
from .ports import DEFAULT_PORTS, PortRange
from .spec import TIMEOUT, ClusterSpec, refuse_bad, refuse_bad_step
from .state import State

# Binaries may be built under the lock of a cluster.
_LOCK_TIMEOUT = 1800.0


def prepare(
    specs: t.Iterable[ClusterSpec], binaries_dir: Path | None = None, cache: Path | None = None, say: Say = silent
) -> None:
    """Refuse bad specifications, then download or build the binaries that are missing: once, before clusters are
    started side by side. With ``binaries_dir`` they only have to be there. FleetError as of ``refuse_bad`` (of the
    first that is bad), errors as of ``binaries.get_binaries``."""
    wanted = list(specs)
    for spec in wanted:
        refuse_bad(spec)
    for profile, version in dict.fromkeys((spec.profile, spec.version) for spec in wanted):
        get_binaries(PROFILES[profile], version, binaries_dir, cache, say)


def present(
    spec: ClusterSpec,
    root: Path | None = None,
    say: Say = silent,
    *,
    binaries_dir: Path | None = None,
    cache: Path | None = None,
    ports: PortRange = DEFAULT_PORTS,
    timeout: float = TIMEOUT,
    check: bool = False,
) -> LocalOutcome:
    """Make the cluster as ``spec`` says: new, started, repaired, upgraded by a minor, with more or fewer nodes.

    Ports that it lacks come out of ``ports``. ``timeout`` is seconds for all but waiting for another process and
    getting binaries. ``say`` hears of each step once all are done. With ``check`` nothing is done, and the outcome says
    what would be. FleetError: codes of ``spec.refuse_bad``, ``binaries.get_binaries``, ``converge.bring_up``,
    ``settle_nodes`` and ``planned``, and ``linux-only``, ``bad-path``, ``downgrade-refused``, ``minor-skipped``,
    ``busy``. Their other errors (OSError) come through.
    """
    _require_linux()
    refuse_bad(spec)
    root = states.resolved_root(root)
    names = PROFILES[spec.profile]
    if check:
        return _forecast(spec, root, get_binaries(names, spec.version, binaries_dir, cache, check=True))
    with _locked(root, spec.name, say):
        before = _before(root, spec.name)
        _refuse_step(spec, before, get_binaries(names, spec.version, binaries_dir, cache, build=False))
        binaries = get_binaries(names, spec.version, binaries_dir, cache, say)
        end = time.monotonic() + timeout
        words = converge.bring_up(spec, root, binaries, ports, end) + converge.settle_nodes(spec, root, end)
        after = status(root, spec.name) if words else before
    return _told(spec.name, words, before, after, say)


def started(
    name: str,
    root: Path | None = None,
    say: Say = silent,
    *,
    binaries_dir: Path | None = None,
    ports: PortRange = DEFAULT_PORTS,
    timeout: float = TIMEOUT,
    check: bool = False,
) -> LocalOutcome:
    """Start what was stopped, or has died, as it was: its version, profile, users, nodes, ports and data. ``timeout``
    as for ``present``. With ``check`` nothing is done, and the outcome says what would be. Errors as for ``present``,
    FleetError ``bad-name``, and ``no-such-cluster``, also for one that was never complete."""
    _require_linux()
    root = states.resolved_root(root)
    folder = states.cluster_dir(root, name)
    with contextlib.nullcontext() if check else _locked_there(root, name, "started", say):
        state = _kept_state(root, name, "started")
        spec = converge.recorded_spec(folder, state, state.version)
        refuse_bad(spec)
        binaries = get_binaries(PROFILES[spec.profile], spec.version, binaries_dir, say=say, check=check)
        before = status(root, name)
        if check:
            words = converge.planned_start(spec, folder, state, binaries)
            after = replace(before, state="running") if words else before
        else:
            words = converge.bring_up(spec, root, binaries, ports, time.monotonic() + timeout)
            after = status(root, name) if words else before
    return _told(name, words, before, after, silent if check else say)


def upgraded(
    name: str,
    version: str,
    root: Path | None = None,
    say: Say = silent,
    *,
    operation: str = "",
    binaries_dir: Path | None = None,
    cache: Path | None = None,
    timeout: float = TIMEOUT,
) -> LocalOutcome:
    """Put a newer Kubernetes (``version`` as in ``ClusterSpec``) on the same data; all else stays, as nodes and users.
    Finish what was cut off, and start what does not run.

    Each upgrade that it makes gets one line, which names ``operation``, in ``<root>/upgrades.log``. ``timeout`` as for
    ``present``. Errors as for it, FleetError ``bad-name``, and ``no-such-cluster``, also for one that was never
    complete.
    """
    _require_linux()
    root = states.resolved_root(root)
    folder = states.cluster_dir(root, name)
    with _locked_there(root, name, "upgraded", say):
        state = _kept_state(root, name, "upgraded")
        spec = converge.recorded_spec(folder, state, version)
        refuse_bad(spec)
        before = status(root, name)
        _refuse_step(spec, before, get_binaries(PROFILES[spec.profile], version, binaries_dir, cache, build=False))
        binaries = get_binaries(PROFILES[spec.profile], version, binaries_dir, cache, say)
        newer = binaries["kube-apiserver"].version
        intent = upgrades.intend(folder, f"v{state.version}", f"v{newer}")

        def note(started: str) -> None:
            """Writes the line of the upgrade, unless it is there, if ``started`` is the version that it leads to."""
            if intent is not None and f"v{started}" == intent.after:
                upgrades.log_upgrade(root, name, operation, intent, datetime.now(UTC))

        words = converge.bring_up(spec, root, binaries, DEFAULT_PORTS, time.monotonic() + timeout, note)
        note(newer)  # also where ``present`` has started that API server meanwhile
        upgrades.finish(folder)
        after = status(root, name) if words else before
    return _told(name, words, before, after, say)


def stopped(name: str, root: Path | None = None, say: Say = silent, *, check: bool = False) -> LocalOutcome:
    """End the processes; data, keys and ports are kept. That it is to be stopped is recorded first. ``say`` hears only
    that another process is waited for. With ``check`` nothing is done, and the outcome says what would be. FleetError
    ``no-such-cluster``, ``bad-name``, ``bad-path``, ``cannot-stop``, ``busy``, ``unwritable-folder``, ``linux-only``,
    and as of ``state.load``."""
    _require_linux()
    root = states.resolved_root(root)
    folder = states.cluster_dir(root, name)
    with contextlib.nullcontext() if check else _locked_there(root, name, "stopped", say):
        before, state = status(root, name), _known_state(root, name, "stopped")
        alive = control_plane.running(state) or control_plane.leftovers(folder, state)
        words = ("stop the cluster",) if alive or state.wanted != "stopped" else ()
        if check:
            after = replace(before, state="stopped") if state.ready else before
        else:
            states.save(folder, replace(state, wanted="stopped"))
            _end_all(folder)
            after = status(root, name)
    return LocalOutcome(bool(words), words, before, after)


def absent(name: str, root: Path | None = None, say: Say = silent, *, check: bool = False) -> LocalOutcome:
    """End the processes and remove all that was kept, also of a cluster that is half made, half removed or damaged;
    nothing is changed if there is none. Its lock file and its lines in ``upgrades.log`` stay. ``say`` hears only that
    another process is waited for. With ``check`` nothing is done, and the outcome says what would be. FleetError
    ``bad-name``, ``bad-path``, ``cannot-stop``, ``busy``, ``unwritable-folder``, ``linux-only`` if there is one, and as
    of ``merge_kubeconfigs``."""
    root = states.resolved_root(root)
    folder = states.cluster_dir(root, name)
    before, gone = status(root, name), ClusterStatus(name, "absent")
    left = states.half_removed(root, name) or (_can_run() and control_plane.leftovers(folder, None))
    if before.state == "absent" and not left:
        return LocalOutcome(False, (), before, gone)
    _require_linux()
    states.refuse_removal(root, name)  # before anything of it is ended
    words = ("remove the cluster",)
    if not check:
        with _locked(root, name, say):
            _end_all(folder)
            states.remove(root, name)
            merge_kubeconfigs(root)
    return LocalOutcome(True, words, before, gone)


def status(root: Path | None, name: str) -> ClusterStatus:
    """What is true now, by its folder, processes and the API server; never fails for a broken cluster: ``incomplete``
    if its state cannot be read; ``nodes`` is None where they cannot be. FleetError ``bad-name``, ``bad-path``."""
    root = states.resolved_root(root)
    folder = states.cluster_dir(root, name)
    try:
        there = folder.is_dir()
    except OSError:
        return ClusterStatus(name, "incomplete")
    if not there:
        return ClusterStatus(name, "absent")
    state = _load_any(folder)
    if state is None:
        return ClusterStatus(name, "incomplete")
    running = control_plane.running(state)
    return ClusterStatus.of(
        folder, state, running, _count_nodes(folder) if control_plane.api_server_can_be_asked(running) else None
    )


def clusters(root: Path | None = None) -> tuple[ClusterStatus, ...]:
    """The status of every cluster of a root, in the order of their names; none where there is no root. FleetError
    ``state-unreadable`` where the root cannot be looked at, ``bad-path``."""
    return tuple(status(root, name) for name in states.cluster_names(states.resolved_root(root)))


def memory(root: Path | None, name: str) -> tuple[int, int]:
    """Bytes resident in all processes on record of a cluster: (plainly added up; with pages shared with others
    divided). Zeros if there is none, or none runs. FleetError ``bad-name``, ``bad-path``, and as of ``state.load``."""
    state = states.load(states.cluster_dir(states.resolved_root(root), name))
    found = [processes.memory(one.id) for one in state.processes.values()] if state else []
    return sum(one[0] for one in found), sum(one[1] for one in found)


def work_on_clusters(work: t.Mapping[str, t.Callable[[], LocalOutcome]], at_once: int = 2) -> Outcomes:
    """Does the work on several clusters, by name, ``at_once`` (1 or more) at a time: one that starts keeps a CPU busy.

    The failure of one neither stops nor hides another: it is in ``errors``, as ``member-fault`` if it is no FleetError.
    FleetError ``no-workers`` is raised where no thread can be started.
    """
    found = in_parallel(work, threads=at_once)
    return Outcomes(
        {name: one for name, one in found.items() if isinstance(one, LocalOutcome)},
        {name: one for name, one in found.items() if isinstance(one, FleetError)},
    )


def _can_run() -> bool:
    """Whether this system is Linux, on which alone local clusters run."""
    return sys.platform.startswith("linux")


def _require_linux() -> None:
    """Raises FleetError ``linux-only`` on any system but Linux."""
    if not _can_run():
        raise FleetError(
            "linux-only", "local clusters run on Linux only", hint="join existing clusters by their kubeconfig instead"
        )


def _told(name: str, words: tuple[str, ...], before: ClusterStatus, after: ClusterStatus, say: Say) -> LocalOutcome:
    """The outcome of the steps ``words``, which were done; each is said, behind the cluster's name."""
    for word in words:
        say(f"{name}: {word}")
    return LocalOutcome(bool(words), words, before, after)


def _locked(root: Path, name: str, say: Say) -> t.ContextManager[None]:
    """The lock of the cluster; ``say`` is told if it is waited for, half an hour at most. FleetError as of
    ``cluster_lock``."""

    def waiting() -> None:
        """Says that it is waited for."""
        say(f"{name}: waiting for another process that works on this cluster")

    return states.cluster_lock(root, name, waiting, _LOCK_TIMEOUT)


def _locked_there(root: Path, name: str, to_be: str, say: Say) -> t.ContextManager[None]:
    """As ``_locked``; where there is no folder of the cluster no lock is made either: FleetErrors of ``_known_state``
    then, unless another process has just made it."""
    if not os.path.isdir(states.cluster_dir(root, name)):
        _known_state(root, name, to_be)
    return _locked(root, name, say)


def _known_state(root: Path, name: str, to_be: str) -> State:
    """The state on record; ``to_be`` (``started``) is for the message. FleetError ``no-such-cluster``, ``bad-name``,
    and as of ``state.load``."""
    state = states.load(states.cluster_dir(root, name))
    if state is None:
        raise _no_such(name, to_be, f"looked in {root}")
    return state


def _kept_state(root: Path, name: str, to_be: str) -> State:
    """The state of a cluster that was whole at least once. FleetErrors as of ``_known_state``."""
    state = _known_state(root, name, to_be)
    if not state.ready:
        raise _no_such(name, to_be, f"looked in {root}; it was begun and never whole: make it present first")
    return state


def _no_such(name: str, to_be: str, hint: str) -> FleetError:
    """The FleetError ``no-such-cluster``, given back, not raised."""
    return FleetError("no-such-cluster", f"there is no such local cluster to be {to_be}", name, hint)


def _load_any(folder: Path) -> State | None:
    """The state on record; None if there is none, or it cannot be read, is damaged or too new."""
    with contextlib.suppress(FleetError):
        return states.load(folder)
    return None


def _before(root: Path, name: str) -> ClusterStatus:
    """As ``status``; absent where no state was recorded yet: whom a cluster is made for is noted in its folder before
    anything else is."""
    found = status(root, name)
    made = os.path.lexists(states.cluster_dir(root, name) / "state.json")
    return found if made else ClusterStatus(name, "absent")


def _refuse_step(spec: ClusterSpec, before: ClusterStatus, binaries: t.Mapping[str, Binary]) -> None:
    """FleetError as of ``refuse_bad_step`` if the API server at hand must not be put on the cluster's data."""
    if before.version:
        refuse_bad_step(spec.name, before.version, binaries["kube-apiserver"].version)


def _forecast(spec: ClusterSpec, root: Path, binaries: t.Mapping[str, Binary]) -> LocalOutcome:
    """What ``present`` would do, with what is true before and would be after. Errors as of ``_refuse_step``,
    ``state.load`` and ``planned``."""
    folder = states.cluster_dir(root, spec.name)
    before = _before(root, spec.name)
    _refuse_step(spec, before, binaries)
    version = binaries["kube-apiserver"].version
    state = states.load(folder)
    if state is None:
        words: tuple[str, ...] = (f"make the cluster: Kubernetes {version}, profile {spec.profile}",)
    else:
        words = converge.planned(spec, folder, state, binaries)
    counts = {pool.pool: pool.count for pool in spec.nodes if pool.count}
    after = replace(before, state="running", version=version, profile=spec.profile, nodes=counts)
    return LocalOutcome(bool(words), words, before, after if words else before)


def _end_all(folder: Path) -> None:
    """Ends all processes of the cluster, those that the state knows first. FleetError ``cannot-stop``,
    ``unwritable-folder``; OSError without /proc."""
    state = _load_any(folder)
    if state is not None:
        control_plane.halt(folder, state, tuple(state.processes))
    control_plane.end_leftovers(folder, None)


def _count_nodes(folder: Path) -> dict[str, int] | None:
    """Simulated nodes by pool, as the API server has them; None if that cannot be read."""
    try:
        with control_plane.client(folder) as client:
            return nodes.count_by_pool(nodes.read_nodes(client))
    except FleetError:
        return None
