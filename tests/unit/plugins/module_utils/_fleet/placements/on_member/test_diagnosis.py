# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of the pods of a workload, whatever the member writes into them."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.availability import NOT_YET
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.diagnosis import diagnosed
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import SHOWN
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import Answering, listing

WEB = ObjectId("apps", "v1", "Deployment", "shop", "web")


class Pods(Answering):
    """Has one pod, and keeps which pods were asked for."""

    def __init__(self, name: str, reason: str) -> None:
        status = {"containerStatuses": [{"state": {"waiting": {"reason": reason}}}]}
        pods = listing("Pod", [{"metadata": {"name": name}, "status": status}])
        super().__init__({"/api/v1/namespaces/shop/pods": pods})
        self.asked: list[t.Any] = []

    def send(
        self, method: str, path: str, body: t.Any = None, query: t.Any = None, *more: t.Any, **named: t.Any
    ) -> t.Any:
        self.asked.append((query or {}).get("labelSelector"))
        return super().send(method, path, body, query, *more, **named)


def lacks(member: Pods, selector: t.Any) -> str:
    step = MemberStep(id=WEB, action="update", manifest={"spec": {"selector": selector}})
    found = diagnosed(member, MemberOutcome(cluster="m1", done=True, steps=(step,), availability={WEB: NOT_YET}))
    return (found.lacks or {}).get(WEB, "")


def told(name: str, reason: str) -> str:
    return lacks(Pods(name, reason), {"matchLabels": {"app": "web"}})


def test_the_trouble_of_a_pod_is_told() -> None:
    assert told("web-1", "ImagePullBackOff") == "is not available yet (pod web-1: ImagePullBackOff)"


def test_neither_the_beginning_of_our_token_nor_an_endless_name_is_told() -> None:
    token = "long-" * 40
    SHOWN.add(token)
    assert told("web-1", token) == "is not available yet (pod web-1: (hidden))"
    assert len(told("web-" * 100_000, "ImagePullBackOff")) < 600


BLUE = {"key": "track", "operator": "In", "values": ["blue"]}


@pytest.mark.parametrize(
    ("selector", "asked"),
    [
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [BLUE]}, "app=web,track in (blue)"),
        ({"matchExpressions": [BLUE]}, "track in (blue)"),
    ],
)
def test_pods_are_those_of_the_whole_selector(selector: t.Any, asked: str) -> None:
    """Labels alone may be those of another workload beside it, which has the same ones."""
    member = Pods("web-1", "ImagePullBackOff")
    assert "ImagePullBackOff" in lacks(member, selector) and member.asked == [asked]


@pytest.mark.parametrize(
    "selector",
    [
        None,
        {},
        "app=web",
        {"matchLabels": []},
        {"matchLabels": {"app": "web,x"}},
        {"matchExpressions": "a"},
        {"matchExpressions": [None]},
        {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "a", "operator": "Like"}]},
    ],
)
def test_where_the_selector_cannot_be_used_no_pods_are_asked_for(selector: t.Any) -> None:
    member = Pods("web-1", "ImagePullBackOff")
    assert lacks(member, selector) == "" and member.asked == []
