# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The driver ``role``: a child ``ansible-playbook`` for each member runs a role of the user (executor ``process``); its
play, inventory, variables and environment.

The role runs once per attempt on the host ``<member>``, with connection local and without facts. It is told
``cluster_upgrade_member``, ``_target``, ``_operation``, ``_attempt``, ``_run``, ``_type``, and how the member is
reached, by reference: ``_kubeconfig`` and ``_context``, or ``_secret`` (name, namespace and key of a Secret on the
hub). When it ends well the member shall be at the target, or get there within the time to settle.

Nothing that is handed over is a template there: objects of the fleet are written by many, and what users give has been
templated once.
"""

from __future__ import annotations

import os
import sys
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.schema.codec import encode
from ..._kube.access import version
from ..._kube.login.kubeconfig import local_path
from ..members.members import Clients
from . import detached
from .contract import Observation, OperationProgress, Work
from .environment import environment_passed_on
from .unsafe import unsafe

GROUP = "cluster_upgrade_target"
_PLAYBOOK, _INVENTORY, _VARS, _EXTRA = "playbook.yml", "inventory.yml", "vars.yml", "extra_vars.yml"


@dataclass(frozen=True, kw_only=True)
class RoleDriver:
    """``role`` is a name, or the path of a folder. ``operations`` has a folder for each operation; ``environment``
    names variables of ``environ``, that of the task, that are passed on besides those of ``environment.KEPT``.
    ``inventories`` and the user's own ``extra_vars`` (which cannot change ours, and are taken off the disk when the
    role has ended) are passed on. ``cwd`` is where an ``ansible.cfg`` is looked for; ``roles_path`` and
    ``collections_path`` go before what the environment says."""

    clients: Clients
    operations: Path
    environ: t.Mapping[str, str] = field(repr=False)
    cwd: Path
    role: str
    inventories: tuple[str, ...] = ()
    extra_vars: t.Mapping[str, t.Any] = field(default_factory=dict, repr=False)
    environment: tuple[str, ...] = ()
    roles_path: tuple[str, ...] = ()
    collections_path: tuple[str, ...] = ()

    def observe(self, member: str) -> Observation:
        """The member's own ``/version``. FleetError of reaching it."""
        return Observation(version=version(self.clients.get(member)))

    def begin(self, work: Work) -> str:
        """Runs the play detached, with its files in the folder of the operation; its reference. A pool step is not told
        apart. FleetError as of ``detached.start``."""
        folder = detached.folder_of(self.operations, work.operation).absolute()
        environ = self._environ(folder)
        documents = {
            _PLAYBOOK: playbook(work, self.role),
            # Modules run with our own Python, as on localhost.
            _INVENTORY: inventory(work.member, {"ansible_python_interpreter": sys.executable}),
            _VARS: variables(work, self.clients.members.get(work.member), environ),
            _EXTRA: dict(self.extra_vars),
        }
        return detached.start(
            folder,
            detached.Request(
                member=work.member,
                argv=self._argv(folder),
                environ=environ,
                cwd=self.cwd,
                files={name: unsafe(document) for name, document in documents.items()},
                private=(_EXTRA,),
            ),
        )

    def poll(self, work: Work) -> OperationProgress:
        """How the play stands; as ``detached.look``."""
        return detached.look(detached.folder_of(self.operations, work.operation), work.reference)

    def _argv(self, folder: Path) -> tuple[str, ...]:
        """The command of the play. Of two inventories the later one wins, so ours is first: it only makes sure that the
        member is there."""
        inventories = [str(folder / _INVENTORY), *self.inventories]
        options = [argument for each in inventories for argument in ("-i", each)]
        options += ["-e", f"@{folder / _EXTRA}", "-e", f"@{folder / _VARS}", str(folder / _PLAYBOOK)]
        return (sys.executable, "-m", "ansible", "playbook", *options)

    def _environ(self, folder: Path) -> dict[str, str]:
        """What of our environment is passed on, with paths of roles and collections, and a folder for Ansible's own
        files."""
        environ = environment_passed_on(self.environ, self.environment)
        environ["ANSIBLE_LOCAL_TEMP"] = str(folder / "tmp")
        for name, paths in (
            ("ANSIBLE_ROLES_PATH", self.roles_path),
            ("ANSIBLE_COLLECTIONS_PATH", self.collections_path),
        ):
            if paths:
                environ[name] = os.pathsep.join([*paths, *filter(None, [environ.get(name, "")])])
        return environ


def variables(work: Work, member: FleetMember | None, environ: t.Mapping[str, str]) -> dict[str, t.Any]:
    """What the role is told, by name (``cluster_upgrade_member`` and so on). Paths of kubeconfigs are expanded by
    ``environ``, which is what the role has. What does not apply is empty."""
    told = {
        "member": work.member,
        "target": work.target,
        "operation": work.operation,
        "attempt": work.attempt,
        "run": work.run,
        "type": work.upgrade_type,
        "kubeconfig": "",
        "context": "",
        "secret": {},
    }
    if member is not None:
        connection = member.spec.connection
        path = local_path(connection.kubeconfig, environ)
        told["kubeconfig"] = os.path.abspath(path) if path else ""
        told["context"] = connection.context
        told["secret"] = encode(connection.secret_ref) if connection.secret_ref else {}
    return {f"cluster_upgrade_{name}": value for name, value in told.items()}


def inventory(member: str, shared: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The member as the one host; the variables ``shared`` are at the weakest place."""
    return {"all": {"vars": dict(shared), "children": {GROUP: {"hosts": {member: {}}}}}}


def playbook(work: Work, role: str) -> list[dict[str, t.Any]]:
    """The playbook as Ansible reads it: its one play runs the role on GROUP, of which the member is the host."""
    play = {
        "name": f"Upgrade {work.member} to {work.target}",
        # Not the member's name: that could also be the name of a group in the user's inventory.
        "hosts": GROUP,
        "connection": "local",
        "gather_facts": False,
        "roles": [{"role": role}],
    }
    return [play]
