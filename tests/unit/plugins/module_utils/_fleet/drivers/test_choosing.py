# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Names that an API server would refuse are told before anything is begun."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.choosing import unfit_name_problems

LONG = "a" * 64


@pytest.mark.parametrize(
    ("member", "options", "unfit"),
    [
        ("east", {}, []),
        ("east", {"namespace": "team-{member}", "name": "{member}.prod"}, []),
        ("prod.eu1", {"name": "{member}"}, []),
        ("prod.eu1", {"namespace": "{member}"}, ["namespace"]),
        (LONG, {"namespace": "{member}", "name": "{member}"}, ["namespace"]),
        ("east", {"namespace": "team-{group}", "name": "{location}."}, ["namespace", "name"]),
    ],
)
def test_a_namespace_is_a_dns_label_and_a_name_a_subdomain(
    member: str, options: dict[str, str], unfit: list[str]
) -> None:
    one = decode(FleetMember, {"metadata": {"name": member}, "spec": {"connection": {"kubeconfig": "/none"}}})
    found = list(unfit_name_problems(options, [one], "drivers.cluster_api"))
    assert [each.where for each in found] == [f"drivers.cluster_api.{name}" for name in unfit]
    assert all(each.code == "bad-option" and member in each.hint for each in found)
