# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of the pods of a workload, whatever the member writes into them."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.availability import NOT_YET
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.diagnosis import diagnosed
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import SHOWN
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import Answering

WEB = ObjectId("apps", "v1", "Deployment", "shop", "web")


def told(name: str, reason: str) -> str:
    pod = {
        "metadata": {"name": name},
        "status": {"containerStatuses": [{"state": {"waiting": {"reason": reason}}}]},
    }
    pods = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod]}
    member = Answering({"/api/v1/namespaces/shop/pods": pods})
    step = MemberStep(id=WEB, action="update", manifest={"spec": {"selector": {"matchLabels": {"app": "web"}}}})
    found = diagnosed(member, MemberOutcome(cluster="m1", done=True, steps=(step,), availability={WEB: NOT_YET}))
    return found.lacks[WEB]


def test_the_trouble_of_a_pod_is_told() -> None:
    assert told("web-1", "ImagePullBackOff") == "is not available yet (pod web-1: ImagePullBackOff)"


def test_neither_the_beginning_of_our_token_nor_an_endless_name_is_told() -> None:
    token = "long-" * 40
    SHOWN.add(token)
    assert told("web-1", token) == "is not available yet (pod web-1: (hidden))"
    assert len(told("web-" * 100_000, "ImagePullBackOff")) < 600
