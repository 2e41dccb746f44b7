# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is true of a local cluster (state ``absent``, ``incomplete``, ``stopped``, ``running`` or ``degraded``; version,
nodes, ports, processes, paths), and what was done to it, for results and differences of modules."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from .._core.errors import FleetError
from .components import PROFILES, audit_log
from .state import State


@dataclass(frozen=True)
class ClusterStatus:
    """``state``: absent, incomplete (making it was cut off, or its state cannot be read), stopped (as asked, and no
    process is left), running, degraded (a process of its profile is missing).

    ``version`` is that of the API server, without ``v``, empty if none was ever started. ``nodes`` counts simulated
    nodes by pool, None if they could not be read, as where no API server runs. ``processes`` maps each component to its
    ``pid``, ``version`` and whether it is ``running``. ``audit_log`` is empty where there is none. Of a cluster that is
    absent, or whose state cannot be read, there are name and state alone.
    """

    name: str
    state: str
    version: str = ""
    profile: str = ""
    server: str = ""
    folder: str = ""
    kubeconfig: str = ""
    audit_log: str = ""
    nodes: t.Mapping[str, int] | None = None
    ports: t.Mapping[str, int] = field(default_factory=dict)
    processes: t.Mapping[str, t.Mapping[str, t.Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, folder: Path, state: State, running: t.Collection[str], nodes: t.Mapping[str, int] | None
    ) -> ClusterStatus:
        """From what is recorded, the names of the components that run, and whether there is an audit log; ``nodes`` as
        in the class."""
        audit = audit_log(folder)
        return cls(
            name=state.name,
            state=_word(state, running),
            version=state.version,
            profile=state.profile,
            server=state.server,
            folder=str(folder),
            kubeconfig=str(folder / "kubeconfig"),
            audit_log=str(audit) if audit.exists() else "",
            nodes=nodes,
            ports=dict(state.ports),
            processes={
                name: {"pid": one.id.pid, "version": one.version, "running": name in running}
                for name, one in state.processes.items()
            },
        )

    def as_dict(self) -> dict[str, t.Any]:
        """For results: every field, by name; maps are copies."""
        return {
            **vars(self),
            "nodes": None if self.nodes is None else dict(self.nodes),
            "ports": dict(self.ports),
            "processes": {name: dict(row) for name, row in self.processes.items()},
        }

    def as_diff(self) -> dict[str, t.Any]:
        """For a difference that people read: name, state, version, profile, the names of components that run, and
        nodes; no ports, ids and paths."""
        alive = sorted(name for name, row in self.processes.items() if row["running"])
        nodes = None if self.nodes is None else dict(self.nodes)
        return {
            "name": self.name,
            "state": self.state,
            "version": self.version,
            "profile": self.profile,
            "components": alive,
            "nodes": nodes,
        }


@dataclass(frozen=True)
class LocalOutcome:
    """``changes`` are the steps done (or, in check mode, to be done) in words; ``changed`` whether there are any. In
    check mode ``after`` is ``before`` with the state that would be and, where the cluster is to be present, the
    version, profile and nodes; all else in it is that of now, unless the cluster is to be absent."""

    changed: bool
    changes: tuple[str, ...]
    before: ClusterStatus
    after: ClusterStatus

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self.after.name

    @property
    def kubeconfig(self) -> str:
        """Path of its administrator's kubeconfig; empty where ``after`` has none, as in check mode for a cluster that
        is yet to be made."""
        return self.after.kubeconfig

    @property
    def server(self) -> str:
        """URL of its API server; empty where ``after`` has none, as in check mode for a cluster that is yet to be
        made."""
        return self.after.server

    @property
    def version(self) -> str:
        """Version of its API server afterwards, without ``v``; empty where ``after`` has none."""
        return self.after.version

    @property
    def processes(self) -> t.Mapping[str, t.Mapping[str, t.Any]]:
        """Its processes as in ``after``, see ``ClusterStatus``."""
        return self.after.processes

    @property
    def ports(self) -> t.Mapping[str, int]:
        """Its ports as in ``after``, by who has them, see ``State``."""
        return self.after.ports


@dataclass(frozen=True)
class Outcomes:
    """Of several clusters, by name; each is in one of the two."""

    outcomes: t.Mapping[str, LocalOutcome]
    errors: t.Mapping[str, FleetError]

    @property
    def changed(self) -> bool:
        """Whether any cluster was changed, or would be; what was done to those with an error before does not count."""
        return any(one.changed for one in self.outcomes.values())


def _word(state: State, running: t.Collection[str]) -> str:
    """The state of ``ClusterStatus``, but for ``absent``; ``running`` are the names of the components that run."""
    if not state.ready:
        return "incomplete"
    if state.wanted == "stopped" and not running:
        return "stopped"
    return "running" if set(PROFILES[state.profile]) <= set(running) else "degraded"
