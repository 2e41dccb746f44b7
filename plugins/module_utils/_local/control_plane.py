# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The processes of one local cluster: which to start, stop or replace, and doing so; left-over ones, whether the API
server can be asked, waiting until it is ready (``not-ready``, ``component-died``, ``port-taken``), where logs are, a
client of the API server."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from .._core.errors import FleetError
from .._kube.access import server_readiness
from .._kube.client import KubeClient, Timeouts
from .._kube.errors import ApiError
from .._kube.login.credentials import connection_from_kubeconfig
from .binaries import Binary
from .components import LISTENS, PROFILES, environment
from .crds import apply_definitions, not_served
from .locks import make_folder
from .ports import HOST, is_free
from .processes import (
    ProcessId,
    is_running,
    last_lines,
    process_arguments,
    processes_marked,
    start,
    stop,
)
from .state import Process, State, record_process

_ORDER = PROFILES["karpenter"]
# Ended together, one group after the other: whoever uses a server ends before it.
_STOP_GROUPS = (
    ("karpenter",),
    ("kube-controller-manager", "kube-scheduler", "kwok"),
    ("kube-apiserver",),
    ("etcd",),
)
_PAUSE = 0.05
_DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


@dataclass(frozen=True)
class Component:
    """A process as it shall be, or as it runs: its binary's version and the arguments behind the program's path."""

    version: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class ControlPlanePlan:
    """Names of components in the order of starting; one that is replaced is in both ``stop`` and ``start``. ``words``
    say it to people, one step each."""

    stop: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def decide(
    wanted: t.Mapping[str, Component], running: t.Mapping[str, Component], died: t.Collection[str] = ()
) -> ControlPlanePlan:
    """What turns ``running`` into ``wanted``. ``died`` are those that ended without being told to; only the words tell
    that. Names that stand in no profile are passed over."""
    halt, begin, words = [], [], []
    for name in _ORDER:
        want, have = wanted.get(name), running.get(name)
        if want == have:
            continue
        if have is not None:
            halt.append(name)
        if want is not None:
            begin.append(name)
        words.append(_words(name, want, have, name in died))
    return ControlPlanePlan(tuple(halt), tuple(begin), tuple(words))


def _words(name: str, want: Component | None, have: Component | None, died: bool) -> str:
    """The step from ``have`` (None: it does not run) to ``want`` (None: it shall not), which differ."""
    if want is None:
        return f"stop {name}"
    if have is None:
        return f"start {name}, which had died" if died else f"start {name}"
    if want.version != have.version:
        return f"change {name} from {have.version} to {want.version}"
    return f"restart {name} with other options"


def running(state: State) -> dict[str, Component]:
    """The components of which the process lives, by name, with the recorded version and the options that its process
    has; without options, and so to be restarted, where these cannot be read."""
    return {
        name: Component(one.version, process_arguments(one.id)[1:])
        for name, one in state.processes.items()
        if is_running(one.id)
    }


def api_server_can_be_asked(alive: t.Collection[str]) -> bool:
    """Whether the API server can be asked, by the names of the components that live: without etcd it hangs."""
    return {"etcd", "kube-apiserver"} <= set(alive)


def leftovers(folder: Path, state: State | None) -> tuple[ProcessId, ...]:
    """Processes of this cluster, as of ``processes_marked``, that its state does not know, all of them for None:
    whoever started them was killed before noting them, or they are children of others. OSError without /proc."""
    known = {one.id for one in state.processes.values()} if state else set()
    return tuple(one for one in processes_marked(str(folder)) if one not in known)


def end_leftovers(folder: Path, state: State | None) -> int:
    """Stop the processes that ``leftovers`` finds, users before servers, programs of other names last; how many there
    were. FleetError ``cannot-stop``; OSError without /proc."""
    found = leftovers(folder, state)
    programs = {one: Path(program).name for one in found for program in process_arguments(one)[:1]}
    for group in _STOP_GROUPS:
        stop([one for one, program in programs.items() if program in group])
    stop(found)
    return len(found)


def taken_ports(state: State, names: t.Iterable[str]) -> tuple[int, ...]:
    """Ports of components about to be started that are not free. The state has a port for each user of ``LISTENS``.
    OSError as of ``is_free``."""
    ports = (state.ports[user] for name in names for user in LISTENS[name])
    return tuple(port for port in ports if not is_free(port))


def halt(folder: Path, state: State, names: t.Collection[str], grace: float = 15.0) -> State:
    """Stop components, users before servers, and record the state without them; names that do not run are passed over.
    Others may take their ports from then on. ``grace`` seconds are for each group of them, before SIGKILL. FleetError
    ``cannot-stop`` (the recorded state lacks what was stopped before that), ``unwritable-folder``."""
    for group in _STOP_GROUPS:
        there = [name for name in group if name in names and name in state.processes]
        stop([state.processes[name].id for name in there], grace)
        for name in there:
            state = record_process(folder, state, name, None)
    return state


def begin(
    folder: Path,
    state: State,
    names: t.Collection[str],
    wanted: t.Mapping[str, Component],
    binaries: t.Mapping[str, Binary],
    end: float,
) -> State:
    """Start the components ``names``, servers before users, each recorded at once (after an error those that were
    started run on); the new state, when all that ``wanted`` names take connections, the API server is ready, and the
    controller manager has made a first account; by ``end`` (monotonic).

    ``names`` are among ``wanted``, and have their ``binaries``; the kubeconfigs are written before. FleetError
    ``cannot-start``, ``unwritable-folder``, and errors of ``client``, ``wait``, ``_not_ready``, and for Karpenter of
    ``crds.apply_definitions``.
    """
    make_folder(folder / "logs", 0o700)
    # One group after the other: an API server whose first try at etcd fails waits a second before the next.
    with client(folder) as api:
        for group in reversed(_STOP_GROUPS):
            if "karpenter" in names and "karpenter" in group:  # it ends where it does not find its kinds
                kinds = apply_definitions(api, binaries["karpenter"].crds)
                wait(folder, state, functools.partial(not_served, api, kinds), end)
            for name in group:
                if name in names:
                    state = _launch(folder, state, name, wanted[name], binaries[name])
            group_ready = functools.partial(_not_listening, state, [name for name in group if name in wanted])
            wait(folder, state, group_ready, end)
            if group == ("kube-apiserver",):
                wait(folder, state, lambda: _not_ready(api), end)
        if "kube-controller-manager" in wanted:
            wait(folder, state, lambda: _no_account(api), end)
    return state


@contextlib.contextmanager
def client(folder: Path) -> t.Iterator[KubeClient]:
    """A client of the cluster's administrator, which waits a second for a connection and 10 for an answer, closed at
    the end. FleetError as of ``connection_from_kubeconfig``."""
    with KubeClient(connection_from_kubeconfig(folder / "kubeconfig"), Timeouts(connect=1.0, read=10.0)) as client:
        yield client


def log_of(folder: Path, name: str) -> Path:
    """Where a component of the cluster in ``folder`` writes its log."""
    return folder / "logs" / f"{name}.log"


def _launch(folder: Path, state: State, name: str, component: Component, binary: Binary) -> State:
    """Starts one component and notes it; the new state. FleetError ``cannot-start``, ``unwritable-folder``."""
    # HOME is the cluster's folder and proxies are left out: nothing of the user's settings reaches a component.
    environ = {"HOME": str(folder), "PATH": os.environ.get("PATH", os.defpath)}
    environ |= environment(name, folder)
    log = log_of(folder, name)
    before = log.stat().st_size if log.is_file() else 0
    process = start((str(binary.path), *component.arguments), log, str(folder), environ)
    return record_process(folder, state, name, Process(process, component.version, before))


def wait(folder: Path, state: State, missing: t.Callable[[], str], end: float) -> None:
    """Waits until ``missing``, asked 20 times a second at most, gives an empty text; another says what is waited for.
    FleetError ``not-ready`` at ``end`` (of the monotonic clock); at once, where one of the state's processes has ended,
    ``component-died`` (with the end of its log), or ``port-taken`` if it did so for that; or as ``missing`` does."""
    while True:
        what = missing()
        if not what:
            return
        for name, process in state.processes.items():
            if not is_running(process.id):
                raise _died(folder, state, name)
        if time.monotonic() >= end:
            raise FleetError(
                "not-ready",
                f"in the time given, {what}",
                state.name,
                f"see the logs in {folder / 'logs'}, or give it more time",
            )
        time.sleep(_PAUSE)


def _died(folder: Path, state: State, name: str) -> FleetError:
    """The FleetError, given back, for a component that ended: ``port-taken`` if the end of its log since it was started
    says so, else ``component-died`` with that end."""
    log = log_of(folder, name)
    tail = last_lines(log, since=state.processes[name].log_before)
    if "address already in use" in tail:
        ports = ", ".join(str(state.ports[user]) for user in LISTENS[name])
        return FleetError(
            "port-taken",
            f"another process took a port of {name} ({ports}) while it started",
            state.name,
            "end that process, or make the cluster absent and present again",
        )
    return FleetError(
        "component-died",
        f"{name} has ended; the end of its log:\n{tail}",
        state.name,
        f"the whole log is {log}",
    )


def _not_ready(client: KubeClient) -> str:
    """Why the API server is not ready, in words; empty if it is. FleetErrors that are no ApiError, as of credentials,
    are raised."""
    try:
        answer = server_readiness(client)
    except ApiError as error:
        return f"kube-apiserver did not answer ({error.message})"
    return "" if answer else f"kube-apiserver was not ready ({', '.join(answer.failing)})"


def _not_listening(state: State, names: t.Collection[str]) -> str:
    """Which of them take no connections, in words; empty if all do."""
    silent = [name for name in names if not _takes_connections(state.ports[name])]
    return f"{' and '.join(silent)} did not listen" if silent else ""


def _takes_connections(port: int) -> bool:
    """Whether a connection to this port of the machine is taken, within a second."""
    with contextlib.closing(socket.socket()) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


def _no_account(client: KubeClient) -> str:
    """That the namespace ``default`` has no default service account, or cannot be asked for it, in words; empty once it
    has. Pods are refused in a namespace until it is made. FleetErrors that are no ApiError are raised."""
    try:
        client.get(_DEFAULT_ACCOUNT)
    except ApiError as error:
        return f"kube-controller-manager made no service account ({error.message})"
    return ""
