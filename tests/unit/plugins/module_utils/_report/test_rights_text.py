# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._report.rights_text import written_lines

ROLES = [{"kind": "ClusterRole"}, {"kind": "ClusterRole"}, {"kind": "ClusterRoleBinding"}]


def test_rights_in_a_file_say_what_they_are_and_how_they_are_granted() -> None:
    assert written_lines(ROLES, "rights.yml", check=False) == [
        "written to rights.yml: 2 ClusterRoles, 1 ClusterRoleBinding",
        "to grant them, as an owner of the cluster: kubectl apply -f rights.yml",
    ]
    assert written_lines(ROLES, "my rights.yml", check=True) == [
        "would be written to my rights.yml: 2 ClusterRoles, 1 ClusterRoleBinding",
        "to grant them, as an owner of the cluster: kubectl apply -f 'my rights.yml'",
    ]
