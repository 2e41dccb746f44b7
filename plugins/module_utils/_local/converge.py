# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""From what a local cluster is to what its specification says, or the steps for that in words (check mode): processes
brought up, simulated nodes made and deleted; the specification of a cluster that is there; every step may be cut off
and done again."""

from __future__ import annotations

import csv
import io
import typing as t
from dataclasses import replace
from pathlib import Path

from .._core.errors import FleetError
from . import control_plane, nodes
from . import state as states
from .binaries import Binary
from .certificates import KARPENTER, CertificateIdentity, make_pki, sign
from .components import (
    LISTENS,
    PROFILES,
    Options,
    arguments,
    audit_policy,
    files,
)
from .control_plane import Component
from .kubeconfigs import is_written, merge_kubeconfigs, write_kubeconfig
from .locks import unwritable_as_error
from .ports import PortRange, port_holder
from .private import write_private
from .spec import ClusterSpec, TokenUser
from .state import State

Binaries = t.Mapping[str, Binary]
# Told the version on record before an API server is started with it; see ``bring_up``.
Noted = t.Callable[[str], None]

_PORT_TRIES = 3
_WRITE_KUBECONFIG = "write the kubeconfig"
_COMPONENT_LOGINS = ("controller-manager", "scheduler", "kwok")


def recorded_spec(folder: Path, state: State, version: str) -> ClusterSpec:
    """What the cluster was asked to be, but for its nodes and their region, which an upgrade leaves alone, and with
    this ``version``: its profile, audit, and users of tokens, as its files tell. FleetError ``state-unreadable``."""
    try:
        # Its lines end as those of CSV do: a name may hold what Python's ``splitlines`` takes for an end.
        texts = [path.read_text("utf-8") for path in folder.glob("tokens-*.csv")]
        rows = [row for text in texts for row in csv.reader(io.StringIO(text, newline=""))]
        tokens = tuple(TokenUser(row[0], row[1], tuple(row[3].split(",")) if row[3] else ()) for row in rows)
    except (OSError, ValueError, IndexError, csv.Error):
        text = f"what users the cluster has cannot be read in {folder}"
        raise FleetError("state-unreadable", text, state.name, "make the cluster present with them again") from None
    return ClusterSpec(state.name, version, profile=state.profile, audit=audit_policy(folder).exists(), tokens=tokens)


def planned_start(spec: ClusterSpec, folder: Path, state: State, binaries: Binaries) -> tuple[str, ...]:
    """The steps that ``bring_up`` would take for a cluster that is there, in words, none if it is as it should be;
    reads only, and asks no API server. FleetError ``missing-stages``, and as of ``kubeconfigs.is_written``; OSError
    without /proc."""
    pki = folder / "pki"
    keyed = pki.is_dir()
    words = _leftover_words(len(control_plane.leftovers(folder, state))) + _finishing_words(state)
    # Without keys all processes are ended first: none runs then, and none has died.
    observed = _observed(state) if keyed else _observed(replace(state, processes={}))
    words += control_plane.decide(_wanted(spec, folder, state, binaries), *observed).words
    written = keyed and is_written(folder / "kubeconfig", spec.name, state.server, pki)
    return words if written else (*words, _WRITE_KUBECONFIG)


def planned(spec: ClusterSpec, folder: Path, state: State, binaries: Binaries) -> tuple[str, ...]:
    """The steps of ``planned_start`` and those of ``settle_nodes``, in words; reads only. Nodes are left out where the
    API server or etcd does not run, or the kubeconfig has to be written. Errors as of ``planned_start`` and
    ``control_plane.client``, ApiError if nodes cannot be read."""
    words = planned_start(spec, folder, state, binaries)
    if _WRITE_KUBECONFIG in words or not control_plane.api_server_can_be_asked(control_plane.running(state)):
        return words
    with control_plane.client(folder) as client:
        there = nodes.read_nodes(client)
    return words + nodes.changes(nodes.wanted_nodes(spec, state.version), there).words()


def bring_up(
    spec: ClusterSpec, root: Path, binaries: Binaries, ports: PortRange, end: float, noted: Noted | None = None
) -> tuple[str, ...]:
    """Make, start, repair or upgrade the processes until ``end`` (monotonic seconds); the steps in words, none if all
    is as it should be, and one alone for a cluster that is new.

    Ports that the cluster lacks come out of ``ports``. ``noted`` is called whenever an API server is about to be
    started, with the version that is on record by then. The caller holds the cluster's lock; ``binaries`` has all of
    the profile. FleetError ``missing-stages``; ``port-taken`` where a port of a cluster that was complete before is
    another's, and for a new one when other ports were tried twice; errors as of what is called in ``control_plane``,
    ``state``, ``certificates`` and ``kubeconfigs``. The next call goes on with what was started until then.
    """
    folder = states.cluster_dir(root, spec.name)
    state = states.load(folder)
    made = (
        () if state else (f"make the cluster: Kubernetes {binaries['kube-apiserver'].version}, profile {spec.profile}",)
    )
    state = state or states.make(root, spec.name, ports)
    left = control_plane.end_leftovers(folder, state)
    users = [user for name in PROFILES[spec.profile] for user in LISTENS[name]]
    for attempt in range(1, _PORT_TRIES + 1):
        state = states.record_missing_ports(root, state, users, ports)
        try:
            steps = _converge(spec, root, state, binaries, end, noted)
            return made or _leftover_words(left) + steps
        except FleetError as error:
            state = states.load(folder) or state
            if error.code != "port-taken" or state.ready or attempt == _PORT_TRIES:
                raise
        state = control_plane.halt(folder, state, tuple(state.processes))
        state = states.record_other_ports(root, state, ports)
    raise AssertionError("the loop returns or raises")


def settle_nodes(spec: ClusterSpec, root: Path, end: float) -> tuple[str, ...]:
    """Make and delete simulated nodes so that they are as wanted, and wait until they are ready, if the specification
    has pools; what was done, in words. FleetError ``state-unreadable``, and as of ``state.load``,
    ``control_plane.client`` and ``wait``: ``not-ready`` at ``end`` (of the monotonic clock); FleetError of requests:
    what was done before stays so. The caller holds the cluster's lock."""
    folder = states.cluster_dir(root, spec.name)
    state = states.load(folder)
    if state is None:
        raise FleetError("state-unreadable", f"the state in {folder} has gone while it was worked on", spec.name)
    with control_plane.client(folder) as client:
        todo = nodes.changes(nodes.wanted_nodes(spec, state.version), nodes.read_nodes(client))
        nodes.carry_out(client, todo)
        if spec.nodes:
            control_plane.wait(folder, state, lambda: _unready(nodes.read_nodes(client)), end)
    return todo.words()


def _converge(
    spec: ClusterSpec, root: Path, state: State, binaries: Binaries, end: float, noted: Noted | None
) -> tuple[str, ...]:
    """One try of ``bring_up`` with the ports that are on record: files, then processes; the steps in words. Errors as
    of it, and ``port-taken`` in any case."""
    folder = states.cluster_dir(root, spec.name)
    if not (folder / "pki").is_dir():
        state = control_plane.halt(folder, state, tuple(state.processes))
    wanted = _wanted(spec, folder, state, binaries)
    plan = control_plane.decide(wanted, *_observed(state))
    _refuse_taken(state, [name for name in plan.start if name not in plan.stop])
    wrote = _write_files(spec, folder, state, binaries)
    merge_kubeconfigs(root)
    if plan.words or not state.ready:
        state = control_plane.halt(folder, state, plan.stop)
        # Noted before the newer API server touches the data: from then on there is no way back.
        version = wanted["kube-apiserver"].version if "kube-apiserver" in plan.start else state.version
        state = states.save(folder, replace(state, profile=spec.profile, wanted="running", version=version))
        if noted is not None and "kube-apiserver" in plan.start:
            noted(version)
        started = control_plane.begin(folder, state, plan.start, wanted, binaries, end)
        states.save(folder, replace(started, ready=True))
    elif state.wanted != "running":  # a stop was cut off before it ended anything
        states.save(folder, replace(state, wanted="running"))
    return _finishing_words(state) + plan.words + ((_WRITE_KUBECONFIG,) if wrote else ())


def _leftover_words(count: int) -> tuple[str, ...]:
    """The step that ends so many processes, in words; none for 0."""
    return (f"end {count} leftover process{'es' if count > 1 else ''}",) if count else ()


def _finishing_words(state: State) -> tuple[str, ...]:
    """The step that completes a cluster that never was complete, in words; none for another."""
    return () if state.ready else ("finish what a run that was cut off had begun",)


def _observed(state: State) -> tuple[dict[str, Component], tuple[str, ...]]:
    """(Components that run, by name; names of those on record that have died)."""
    alive = control_plane.running(state)
    return alive, tuple(name for name in state.processes if name not in alive)


def _wanted(spec: ClusterSpec, folder: Path, state: State, binaries: Binaries) -> dict[str, Component]:
    """The components of the profile, which all have ``binaries``, as they shall be, by name. FleetError
    ``missing-stages``."""
    options = _options(spec, binaries)
    return {
        name: Component(binaries[name].version, arguments(name, folder, state.ports, options))
        for name in PROFILES[spec.profile]
    }


def _options(spec: ClusterSpec, binaries: Binaries) -> Options:
    """What of the specification, and of kwok's files, changes arguments. FleetError ``missing-stages`` if kwok has no
    Stage files."""
    stages = binaries["kwok"].stages if "kwok" in binaries else ()
    if "kwok" in binaries and not stages:
        raise FleetError(
            "missing-stages",
            f"no Stage files (stages/**/*.yaml) beside {binaries['kwok'].path}",
            spec.name,
            "put kustomize/stage/{node/fast,node/heartbeat-with-lease,pod/fast} of the kwok module there",
        )
    rows = (f'{one.token},"{one.user}","{one.user}","{",".join(one.groups)}"\n' for one in spec.tokens)
    return Options(spec.profile, spec.audit, "".join(rows), stages)


def _refuse_taken(state: State, names: t.Iterable[str]) -> None:
    """FleetError ``port-taken``, with who has them, if ports of these components are not free. OSError as of
    ``taken_ports`` and ``port_holder``."""
    taken = control_plane.taken_ports(state, names)
    if taken:
        one = len(taken) == 1
        raise FleetError(
            "port-taken",
            f"{'port' if one else 'ports'} {', '.join(map(str, taken))}, reserved for this cluster,"
            f" {'is' if one else 'are'} in use by {' and '.join(sorted(set(map(port_holder, taken))))}",
            state.name,
            "end that process, or make the cluster absent and present again: it gets other ports then",
        )


def _write_files(spec: ClusterSpec, folder: Path, state: State, binaries: Binaries) -> bool:
    """Writes keys, kubeconfigs and the files that the arguments name, and deletes token files and an audit policy that
    they name no more; whether the admin's kubeconfig is another now. FleetError as of ``make_pki``, ``sign`` and
    ``write_kubeconfig``, and ``missing-stages``."""
    pki = folder / "pki"
    make_pki(pki, spec.name)
    logins = list(_COMPONENT_LOGINS)
    if KARPENTER.file in PROFILES[spec.profile]:
        logins.append(KARPENTER.file)
        if not (pki / f"{KARPENTER.file}.crt").is_file():  # written after its key
            sign(pki, KARPENTER)
    for login in logins:
        write_kubeconfig(folder / f"{login}.kubeconfig", spec.name, state.server, pki, CertificateIdentity(login, ""))
    named = files(folder, _options(spec, binaries))
    with unwritable_as_error(folder):
        # What is there tells later how the cluster was asked for. First goes what goes: cut off in between, a user that
        # was taken away would come back with the next start.
        for old in (*folder.glob("tokens-*.csv"), audit_policy(folder)):
            if old not in named:
                old.unlink(missing_ok=True)
        for path, content in named.items():
            write_private(path, content)
    return write_kubeconfig(folder / "kubeconfig", spec.name, state.server, pki)


def _unready(there: t.Iterable[nodes.Node]) -> str:
    """Which nodes are not ready, in words; empty if all are."""
    names = nodes.unready(there)
    return f"nodes were not ready: {', '.join(names[:5])}{' ...' if len(names) > 5 else ''}" if names else ""
