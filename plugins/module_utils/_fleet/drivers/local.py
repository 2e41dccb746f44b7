# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The driver ``local``: members that are local clusters, whatever their names, get newer binaries on the same data;
which local cluster a member is, and which members are none (``no-such-cluster``)."""

from __future__ import annotations

import os
import sys
import typing as t
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from ..._core.errors import FleetError, Problem
from ..._core.values.listed import listed
from ..._kube.access import version
from ..._kube.login.connection import is_loopback
from ..._local import state as states
from ..._local import upgrades
from ..._local.binaries import get_binaries
from ..._local.spec import TIMEOUT, refuse_bad_step
from ..members.members import Clients
from . import detached
from .contract import Driver, Observation, OperationProgress, Work
from .environment import environment_passed_on

_PLUGINS = Path(__file__).absolute().parents[3]
# Binaries may have to be built.
_GO = ("GO*", "CGO_*")
_NAMED = 10


@dataclass(frozen=True, kw_only=True)
class LocalDriver:
    """``root`` holds the local clusters, ``operations`` a folder per operation. ``binaries_dir`` is where newer
    binaries are taken from, None to have them downloaded or built; ``timeout`` is seconds to be ready again."""

    clients: Clients
    root: Path
    operations: Path
    environ: t.Mapping[str, str] = field(repr=False)
    binaries_dir: Path | None = None
    timeout: float = TIMEOUT

    def observe(self, member: str) -> Observation:
        """The member's own ``/version``; while an upgrade to that is not finished, the version it comes from, for not
        all of the control plane may run. If it does not answer during an upgrade, that version with its pools as they
        were read last. Else FleetError as of asking it, and of ``state.load``."""
        name = self._cluster(member)
        cut_off = upgrades.pending(self.root / name) if name else None
        try:
            found = version(self.clients.get(member))
        except FleetError:
            if cut_off is None:
                raise
            known = self.clients.members.get(member)
            return Observation(version=cut_off.before, pools=known.status.node_pools if known else ())
        return Observation(version=cut_off.before if cut_off and cut_off.after == found else found)

    def begin(self, work: Work) -> str:
        """Upgrades the member's local cluster in a detached process; its reference. FleetError as of ``cluster_of``,
        ``version_for``, ``refuse_bad_step`` and ``detached.start``; ValueError as of the two in the middle."""
        name = self.cluster_of(work.member)
        state = states.load(self.root / name)
        newer = self.version_for(work.target)
        if state and state.version:
            refuse_bad_step(work.member, state.version, newer)
        return detached.start(self._folder(work), self._request(work, name))

    def poll(self, work: Work) -> OperationProgress:
        """How the process of ``begin`` stands; as ``detached.look``."""
        return detached.look(self._folder(work), work.reference)

    def cluster_of(self, member: str) -> str:
        """The local cluster that the member is: the one whose API server its connection leads to. Where it leads
        elsewhere, as through a proxy, or cannot be read, the one of the member's own name, unless the server is checked
        by another CA than that one has. FleetError ``no-such-cluster`` with those that there are, or as of
        ``state.load``."""
        found = self._cluster(member)
        if found:
            return found
        there = listed(states.cluster_names(self.root), _NAMED) or "none"
        words = "its connection leads to none of the local clusters, and none has its name and its CA"
        option = '-e \'{"drivers": {"local": {"root": "/folder"}}}\''
        hint = f"in {self.root} there are: {there}; to look in another folder: {option}"
        raise FleetError("no-such-cluster", words, member, hint)

    def version_for(self, target: str) -> str:
        """The version, with its patch level, of the API server that there is, or can be got, for ``target``. FleetError
        and ValueError as of ``get_binaries``."""
        return get_binaries(("kube-apiserver",), target, self.binaries_dir, build=False)["kube-apiserver"].version

    def _cluster(self, member: str) -> str:
        """As ``cluster_of``, but empty if there is none. FleetError as of ``state.load``."""
        try:
            connection = self.clients.connection(member)
        except FleetError:
            connection = None  # whoever asks the member is told
        if connection and not connection.proxy and is_loopback(connection.server):
            url = urlsplit(connection.server)
            found = states.cluster_behind(self.root, url.port or 443, connection.ca, member)
            if found:
                return found
        if states.name_problem(member) or states.load(states.cluster_dir(self.root, member)) is None:
            return ""
        authority = connection.ca if connection else None
        return member if authority is None or states.has_authority(self.root, member, authority) else ""

    def _folder(self, work: Work) -> Path:
        return detached.folder_of(self.operations, work.operation)

    def _request(self, work: Work, name: str) -> detached.Request:
        """The command that upgrades the local cluster of that name, with our environment as far as it is passed on."""
        options = {
            "root": str(self.root),
            "member": name,
            "target": work.target,
            "operation": work.operation,
            "binaries-dir": str(self.binaries_dir or ""),
            "timeout": str(self.timeout),
        }
        # Found by its place in the collection, whatever the collection is called and by whomever it was loaded.
        module = "module_utils._fleet.drivers.upgrade_local"
        environ = environment_passed_on(self.environ, _GO)
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_PLUGINS), environ.get("PYTHONPATH", ""))))
        return detached.Request(
            member=work.member,
            argv=(sys.executable, "-P", "-m", module, *(f"--{name}={value}" for name, value in options.items())),
            environ=environ,
            cwd=Path("/"),
            files={},
        )


def local_driver_problems(drivers: t.Mapping[str, Driver], target: str) -> tuple[Problem, ...]:
    """The problems of members of driver ``local``, in the order of ``drivers`` (by member), given and not raised: as of
    ``cluster_of`` of those that are no local cluster, and as of ``version_for`` of those for which no API server of
    ``target`` (empty: it stays) can be had. ValueError for a ``target`` that is no version. No member is asked."""
    found: list[Problem] = []
    for name, driver in drivers.items():
        if not isinstance(driver, LocalDriver):
            continue
        try:
            driver.cluster_of(name)
            if target:
                driver.version_for(target)
        except FleetError as error:
            found += (each if each.where else replace(each, where=name) for each in error.problems)
    return tuple(found)
