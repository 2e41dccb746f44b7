# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The driver ``local``: members that are local clusters of the same name get newer binaries on the same data."""

from __future__ import annotations

import os
import sys
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..._core.errors import FleetError
from ..._kube.access import version
from ..._local import state as states
from ..._local import upgrades
from ..._local.binaries import find
from ..._local.cluster import TIMEOUT
from ..._local.spec import refuse_bad_step
from ..members.members import Clients
from . import detached
from .contract import Observation, OperationProgress, Work
from .environment import allowed

_PLUGINS = Path(__file__).absolute().parents[3]
# Binaries may have to be built.
_GO = ("GO*", "CGO_*")


@dataclass(frozen=True, kw_only=True)
class LocalDriver:
    """``root`` holds the clusters, ``operations`` a folder per operation. ``timeout`` is seconds to be ready again."""

    clients: Clients
    root: Path
    operations: Path
    environ: t.Mapping[str, str] = field(repr=False)
    binaries_dir: Path | None = None
    timeout: float = TIMEOUT

    def observe(self, member: str) -> Observation:
        """The member's own ``/version``. If an upgrade was cut off while it was down, the version it comes from, and
        its pools as they were read last: nodes cannot be asked before it is finished."""
        try:
            return Observation(version=version(self.clients.get(member)))
        except FleetError:
            cut_off = upgrades.pending(states.cluster_dir(self.root, member))
            if cut_off is None:
                raise
            known = self.clients.members.get(member)
            return Observation(version=cut_off.before, pools=known.status.node_pools if known else ())

    def begin(self, work: Work) -> str:
        """FleetError ``no-such-cluster``, ``unknown-version``, ``missing-binary``, ``downgrade-refused``,
        ``minor-skipped``, and those of ``detached.start``."""
        state = states.load(states.cluster_dir(self.root, work.member))
        if state is None:
            hint = f"looked in {self.root}; a member of driver local has the name of its cluster"
            raise FleetError("no-such-cluster", "there is no such local cluster", work.member, hint)
        newer = find(("kube-apiserver",), work.target, self.binaries_dir, build=False)["kube-apiserver"].version
        if state.version:
            refuse_bad_step(work.member, state.version, newer)
        return detached.start(self._folder(work), self._request(work))

    def poll(self, work: Work) -> OperationProgress:
        """How the process of ``begin`` stands; as ``detached.look``."""
        return detached.look(self._folder(work), work.reference)

    def _folder(self, work: Work) -> Path:
        return detached.folder_of(self.operations, work.operation)

    def _request(self, work: Work) -> detached.Request:
        options = {
            "root": str(self.root),
            "member": work.member,
            "target": work.target,
            "operation": work.operation,
            "binaries-dir": str(self.binaries_dir or ""),
            "timeout": str(self.timeout),
        }
        # Found by its place in the collection, whatever the collection is called and by whomever it was loaded.
        module = "module_utils._fleet.drivers.upgrade_local"
        environ = allowed(self.environ, _GO)
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_PLUGINS), environ.get("PYTHONPATH", ""))))
        return detached.Request(
            member=work.member,
            argv=(sys.executable, "-P", "-m", module, *(f"--{name}={value}" for name, value in options.items())),
            environ=environ,
            cwd=Path("/"),
            files={},
        )
