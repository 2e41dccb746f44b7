# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Users of the hub with client certificates, and no more rights than a test gives them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.rights import rights
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from further_user import client_kubeconfig
from update_fleet import API, MERGE, Document, UpdateFleet

Rules = tuple[Document, ...]
RBAC = "rbac.authorization.k8s.io"
OURS = "gitops.fleet"


def rule(verbs: str, *resources: str, group: str = OURS) -> Document:
    return {"apiGroups": [group], "resources": list(resources), "verbs": verbs.split()}


# As fleet_rbac_info prints them; whoever approves may also patch, as kubectl does.
APPROVER: Rules = ({"purpose": "hub_approver"}, rule("patch", "gates/status"))
CONDUCTOR: Rules = ({"purpose": "hub_conductor"},)
SCHEDULER: Rules = ({"purpose": "hub_scheduler"},)
READER: Rules = ({"purpose": "hub_reader"},)
# Whoever may do nothing but write what is recorded of runs.
STATUS_WRITER: Rules = (rule("get list", "updateruns"), rule("update patch", "updateruns/status"))


class User:
    """One who logs in with a certificate of that name."""

    def __init__(self, fleet: UpdateFleet, name: str, rules: Rules) -> None:
        self.name = name
        metadata = {"name": f"tests-{name}"}
        subject = {"kind": "User", "name": name, "apiGroup": RBAC}
        reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": metadata["name"]}
        own = [each for each in rules if "purpose" not in each]
        printed = [one for each in rules if "purpose" in each for one in rights(each["purpose"], subject, [])]
        role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": own}
        bound = {"kind": "ClusterRoleBinding", "metadata": metadata, "roleRef": reference, "subjects": [subject]}
        for each in (*printed, role, {"apiVersion": f"{RBAC}/v1", **bound}):
            apply_object(fleet.client, each, "administrator", force=True)
        self.kubeconfig = client_kubeconfig(Path(fleet.hub.after.folder), name)
        self.client = KubeClient(connection_from_kubeconfig(self.kubeconfig))

    @property
    def options(self) -> Document:
        return {"type": "hub", "kubeconfig": str(self.kubeconfig)}

    def records(self) -> Records:
        return open_records(self.options, {}, lambda: datetime.now(UTC))

    def writes(self, kind: str, name: str, body: Document, subresource: str = "/status") -> Document:
        """A merge patch, as kubectl sends it."""
        path = f"/apis/{API}/{kind}/{name}{subresource}"
        return self.client.request("PATCH", path, body, {"fieldManager": "kubectl-patch"}, MERGE)
