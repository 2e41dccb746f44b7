# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Everything that speaks against a member's upgrade, at once, and what of it blocks."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import NodePoolStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.preflight import (
    MemberLook,
    ProtectedNode,
    apis_to_be_removed,
    preflight_findings,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberBlocker, MemberView
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import T0

TARGET = "1.36.3"
METRICS = """# HELP apiserver_requested_deprecated_apis Gauge of deprecated APIs that have been requested
# TYPE apiserver_requested_deprecated_apis gauge
API{group="flow",removed_release="1.36",resource="schemas",subresource="",version="v1b"} 1
API{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 1
API{group="later",removed_release="1.40",resource="things",subresource="",version="v1"} 1
API{group="idle",removed_release="1.36",resource="things",subresource="",version="v1"} 0
""".replace("API{", "apiserver_requested_deprecated_apis{")


def codes(look: MemberLook, **view: object) -> list[tuple[str, bool]]:
    found = preflight_findings(look, MemberView(name=look.name, **view), TARGET, T0)  # type: ignore[arg-type]
    assert all(each.member == look.name and each.message for each in found)
    return [(each.code, each.blocks) for each in found]


def test_all_at_once() -> None:
    look = MemberLook(
        name="m",
        version="v1.34.1",
        busy="an upgrade",
        pools=(NodePoolStatus(name="np", count=1, version="v1.32.0"),),
        not_ready=("n-1",),
        blocking=("shop/web",),
        protected=(ProtectedNode(node="n-1", pool="batch"),),
        removed=(("schemas of flow/v1b", "1.36"), ("things of later/v1", "1.40")),
        driver=(("no-such-cluster", "it is none", True),),
        unread={"metrics": "forbidden"},
    )
    obstacle = MemberBlocker(reason="VersionNotAvailable", message="not in west")
    later = MemberBlocker(reason="WindowClosed", message="a freeze", until=T0 + timedelta(days=1))
    assert codes(look, obstacles=(obstacle, later), windows=()) == [
        ("minor-skipped", True),
        ("kubelet-skew", True),
        ("no-such-cluster", True),
        ("VersionNotAvailable", True),
        ("WindowClosed", False),
        ("never-opens", True),
        ("busy", False),
        ("removed-api-used", True),
        ("nodes-not-ready", False),
        ("budget-allows-none", False),
        ("do-not-disrupt", False),
        ("not-looked-at", False),
    ]


def test_nothing_speaks_against_it() -> None:
    fine = MemberLook(
        name="m",
        version="v1.35.4",
        pools=(NodePoolStatus(name="np", count=1, version="v1.33.0"),),
        removed=(("x of y/v1", "1.37"),),
    )
    night = (T0 + timedelta(days=3), T0 + timedelta(days=3, hours=4))
    assert codes(fine) == [] and codes(fine, windows=(night,)) == []
    assert codes(fine, windows=((T0 - timedelta(days=2), T0 - timedelta(days=1)),)) == [("never-opens", True)]


def test_windows_that_are_not_known_are_told_once() -> None:
    unknown = MemberBlocker(reason="WindowClosed", message="there is no FleetMaintenance nights")
    look = MemberLook(name="m", version="v1.35.4")
    assert codes(look, windows=(), obstacles=(unknown,)) == [("WindowClosed", True)]


def test_who_is_there_already_or_does_not_answer() -> None:
    assert codes(MemberLook(name="m", version="v1.36.3", not_ready=("n",))) == []
    assert codes(MemberLook(name="m", unreachable="connection refused")) == [("unreachable", True)]


def test_only_apis_that_were_used_and_go() -> None:
    assert apis_to_be_removed(METRICS) == (("schemas of flow/v1b", "1.36"), ("things of later/v1", "1.40"))
    assert apis_to_be_removed("") == ()


@pytest.mark.parametrize(("minor", "blocks"), [("1.36", True), ("1.35", True), ("1.37", False), ("soon", True)])
def test_a_minor_that_nobody_knows_counts(minor: str, blocks: bool) -> None:
    look = MemberLook(name="m", version="v1.35.4", removed=(("x of y/v1", minor),))
    assert codes(look) == ([("removed-api-used", True)] if blocks else [])


def test_u20_a_chained_member_that_fails_on_the_way_is_not_called_too_far() -> None:
    look = MemberLook(name="m", version="v1.33.1", pools=(NodePoolStatus(name="np", count=1, version="v1.31.0"),))
    why = MemberBlocker(reason="PreconditionFailed", message="pool np has kubelets that are too old")
    judged = lambda view, *_more: replace(view, fail=why)  # noqa: E731
    found = [
        preflight_findings(look, MemberView(name="m"), TARGET, T0, judged, chain)[0].code for chain in (False, True)
    ]
    assert found == ["minor-skipped", "kubelet-skew"]


@pytest.mark.parametrize(
    ("version", "kubelet", "words", "code"),
    [
        ("v1.35.4", "n/a", "'n/a' is not a Kubernetes version", "version-unreadable"),
        ("v1.35.4", "v1.31.0", "pool np has kubelets of v1.31.0", "kubelet-skew"),
        ("v1.34.4", "v1.34.4", "two minors", "minor-skipped"),
        ("v1.35.4", "v1.35.4", "the profile asks for long-term support", "precondition-failed"),
    ],
)
def test_each_refusal_has_its_code(version: str, kubelet: str, words: str, code: str) -> None:
    look = MemberLook(name="m", version=version, pools=(NodePoolStatus(name="np", count=1, version=kubelet),))
    why = MemberBlocker(reason="PreconditionFailed", message=words)
    for target in (TARGET, "") if code == "version-unreadable" else (TARGET,):
        found = preflight_findings(look, MemberView(name="m"), target, T0, lambda view, *_more: replace(view, fail=why))
        assert [(each.code, each.message, each.blocks) for each in found] == [(code, words, True)]


def test_who_holds_a_node_pool_is_named_with_what_lets_it_go() -> None:
    """A pod, by the annotation on it, till its end or for ever; or the node itself."""
    pod = ProtectedNode(node="n-1", pool="batch", pod="night/batch-0", until=T0)
    look = MemberLook(name="m", version="v1.35.4", protected=(pod, ProtectedNode(node="n-2", pool="work")))
    (found,) = preflight_findings(look, MemberView(name="m"), TARGET, T0)
    when = T0.isoformat().replace("+00:00", "Z")
    assert found.message == (
        f"karpenter.sh/do-not-disrupt holds nodes: pod night/batch-0 in pool batch until {when}, "
        "node n-2 in pool work; let go by the end of the pod, "
        "`kubectl annotate pod -n night batch-0 karpenter.sh/do-not-disrupt-`, "
        "or nodePools.pace.terminationGracePeriodSeconds"
    )
    (found,) = preflight_findings(replace(look, protected=look.protected[1:]), MemberView(name="m"), TARGET, T0)
    assert "let go by `kubectl annotate node n-2 karpenter.sh/do-not-disrupt-`, or" in found.message
    reached = replace(look.protected[1], reached_by=("--kubeconfig", "/fleet/a b.conf", "--context", "prod"))
    (found,) = preflight_findings(replace(look, protected=(reached,)), MemberView(name="m"), TARGET, T0)
    assert "`kubectl --kubeconfig '/fleet/a b.conf' --context prod annotate node n-2 karpenter.sh/" in found.message


@pytest.mark.parametrize("name", ["$(touch x)", "x;id #", "`id`", "x\ny"])
def test_a_command_to_type_runs_nothing_that_a_member_has_named(name: str) -> None:
    for node in (ProtectedNode(node=name), ProtectedNode(node="n", pod=f"{name}/{name}")):
        kubectl, annotate, *_what, last = shlex.split(node.freed_by)
        assert (kubectl, annotate, last) == ("kubectl", "annotate", "karpenter.sh/do-not-disrupt-")
        assert name in shlex.split(node.freed_by) and shlex.quote(name) in node.freed_by


def test_a_name_that_a_member_has_made_up_is_no_option_of_the_command() -> None:
    """kubectl takes words that begin with a dash for options until ``--``, wherever they stand."""
    for node in (ProtectedNode(node="--all"), ProtectedNode(node="n", pod="ns/--all")):
        words = shlex.split(node.freed_by)
        assert words[words.index("--") :] == ["--", "--all", "karpenter.sh/do-not-disrupt-"]
    assert "--" not in shlex.split(ProtectedNode(node="n", pod="ns/p").freed_by)
