# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Every file that people give us, gone wrong: it is read, or refused in words; nothing else is ever raised.

``--hypothesis-profile long`` tries two thousand of each.
"""

from __future__ import annotations

import json
import tempfile
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.node import NodeFacts
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import read_prices
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import (
    FactsSnapshot,
    write_snapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import approved_plan, facts_file, prices_file
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.lint import lint
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import kubeconfig_document
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.explaining import Question, explanations
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import PlacementRequest, run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.sources import placements_in
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import (
    connection_from_document,
    connection_from_kubeconfig,
)
from ansible_collections.gitops.fleet.plugins.module_utils._report.lint.findings import findings_text
from ansible_collections.gitops.fleet.plugins.module_utils._report.lint.sarif import sarif
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import plans_markdown
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from ansible_collections.gitops.fleet.plugins.module_utils._store.manifests import read_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import (
    RANDOM,
    any_json,
    gone_wrong,
)
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[5]
NOW = datetime(2026, 1, 15, 13, tzinfo=UTC)
NAMES = ("a", "b", "c")
# Manifests of all kinds, good and faulty ones.
TEXTS = tuple(
    file.read_text(encoding="utf-8")
    for folder in ("examples", "tests/data/lint", "tests/integration/playbooks/manifests")
    for file in sorted((ROOT / folder).rglob("*.y*ml"))
)
BITS = (
    *("\n", "\t", "  ", "- ", ": ", "{", "}", "[", "]", "'", '"', "|\n", ">-\n"),
    *("&a ", "*a", "<<: *a", "!!x ", "? ", "#"),
    *("---\n", "...\n", "%YAML 9\n", "\ufeff", "\0", "\x85", "\ud800", "\U0010ffff"),
    *("null", "~", "yes", ".nan", "1e999"),
    *("9" * 400, "-0", "0x", "1_0", "2026-01-01", "A" * 5000, "${X}", "{{ x }}", "metadata:", "spec:", "kind: List\n"),
)


def mangled(rng: Random, text: str) -> bytes:
    """The text with something cut out, doubled, put in or exchanged in some places."""
    for _time in range(rng.randrange(1, 6)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 1, 5, 50)))
        other = rng.choice((rng.choice(BITS), text[start:end] * 2, "", rng.choice(TEXTS)[: rng.randrange(200)]))
        text = text[:start] + other + text[end:]
    content = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.1:
        place = rng.randrange(len(content) + 1)
        content = content[:place] + bytes([rng.randrange(256)]) + content[place:]
    return content


MANGLED = RANDOM.map(lambda rng: mangled(rng, rng.choice(TEXTS)))


def answer(function: t.Callable[..., t.Any], *arguments: t.Any) -> t.Any:
    """What it gives; None if it refuses, in words that say what and where."""
    try:
        return function(*arguments)
    except FleetError as error:
        assert all(problem.code and problem.message for problem in error.problems)
        assert "Traceback" not in str(error)
        return None


def in_file(function: t.Callable[[str], t.Any], content: bytes, name: str = "file.yaml") -> t.Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return answer(function, str(path))


@given(content=MANGLED)
def test_manifests(content: bytes) -> None:
    """F9, F10, F22"""
    in_file(lambda path: placements_in(read_manifests([path]), strict=False), content)
    in_file(lambda path: update_manifests([path], [], True), content)
    found = in_file(lambda path: lint([path], NOW, consent=True), content)
    findings_text(found.remarks, found.documents, found.checked)
    json.dumps([sarif(found.remarks), [each.as_dict() for each in found.mended]])


@given(content=MANGLED)
def test_the_parser_in_python(content: bytes) -> None:
    """It takes the place of the one in C where that was not built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(yaml, "CSafeLoader", raising=False)
        in_file(lambda path: read_manifests([path]), content)
        in_file(connection_from_kubeconfig, content)


def member(name: str) -> MemberCluster:
    conditions = [
        {"type": each, "status": "True", "reason": "x", "message": "x", "lastTransitionTime": "2026-01-15T12:29:00Z"}
        for each in ("Joined", "Healthy")
    ]
    agent = {"type": "MemberAgent", "conditions": conditions, "lastReceivedHeartbeat": "2026-01-15T12:29:00Z"}
    usage = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}, "available": {"cpu": "2", "memory": "5Gi"}}
    return decode(
        MemberCluster,
        {
            "metadata": {"name": name, "labels": {"region": name}},
            "spec": {"identity": {"kind": "User", "name": "agent"}, "taints": [{"key": "a", "effect": "NoSchedule"}]},
            "status": {
                "properties": {
                    "kubernetes-fleet.io/node-count": {"value": "1", "observationTime": "2026-01-15T12:29:00Z"},
                    "example.com/cost": {"value": "0.5", "observationTime": "2026-01-15T12:29:00Z"},
                },
                "resourceUsage": {**usage, "observationTime": "2026-01-15T12:29:00Z"},
                "agentStatus": [agent],
            },
        },
    )


NODE = NodeFacts(name="n", pool="p", created_at=NOW - timedelta(days=3), version="v1.36.0", capacity={"cpu": "4"})
FACTS = json.loads(
    json.dumps(
        write_snapshot(
            FactsSnapshot(
                captured_at=NOW - timedelta(minutes=30),
                members=tuple(map(member, NAMES)),
                nodes=dict.fromkeys(NAMES, (NODE,)),
                failed={"b": {"code": "timeout", "message": "no answer"}},
            )
        )
    )
)
# What the fleet of these facts holds, for plans without any records.
BOUND = {"state": "Bound", "policy": "web-0", "holds": "web-0-snapshot", "scores": [0, 3]}
HELD = {
    "web": {
        "metadata": {"name": "web", "uid": "u", "generation": 2, "annotations": {"gitops.fleet/source": "files:x"}},
        "spec": {
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}],
            "policy": {"placementType": "PickN", "numberOfClusters": 1},
        },
        "policy": {"name": "web-0", "hash": "abc"},
        "contents": [
            {
                "name": "web-0-snapshot",
                "index": 0,
                "hash": "abc",
                "objects": [["v1", "Namespace", "", "shop", "abc"], ["apps/v1", "Deployment", "shop", "web", ""]],
            }
        ],
        "bindings": [
            {"name": "web-a-1", "cluster": "a", **BOUND},
            {"name": "web-b-1", "cluster": "b", **BOUND, "state": "Unscheduled", "before": "Bound"},
            {"name": "web-c-1", "cluster": "c", **BOUND, "deleted": "2026-01-15T12:29:00Z"},
        ],
    }
}
CREDENTIALS = [{"namespace": "gitops-fleet", "name": "member-a"}]
HOLDING = {**FACTS, "schema": 2, "held": HELD, "credentials": CREDENTIALS}
SORTED = {"propertySorter": {"name": "example.com/cost", "sortOrder": "Ascending"}}
TERM = {"propertyName": "resources.kubernetes-fleet.io/available-cpu", "operator": "Gt", "values": ["100m"]}
PLACEMENT = {
    "apiVersion": "placement.kubernetes-fleet.io/v1",
    "kind": "ClusterResourcePlacement",
    "metadata": {"name": "web"},
    "spec": {
        "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}],
        "policy": {
            "placementType": "PickN",
            "numberOfClusters": 2,
            "affinity": {
                "clusterAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "clusterSelectorTerms": [
                            {"propertySelector": {"matchExpressions": [{**TERM, "name": TERM["propertyName"]}]}}
                        ]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 20, "preference": SORTED}],
                }
            },
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "region"}],
            "tolerations": [{"key": "a", "operator": "Exists"}],
        },
    },
}
del PLACEMENT["spec"]["policy"]["affinity"]["clusterAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][  # type: ignore[index]
    "clusterSelectorTerms"
][0]["propertySelector"]["matchExpressions"][0]["propertyName"]
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of three members, and a folder with what is to be placed."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "shop.json").write_text(json.dumps(SHOP))
    records = SqliteRecords(folder / "records.db", lambda: NOW)
    for name in NAMES:
        records.create({"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster", **joined(name)})
        spec = {"connection": {"kubeconfig": "/none"}}
        records.create({**joined(name, spec), "apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMember"})
    records.close()
    return folder


def joined(name: str, spec: t.Any = None) -> dict[str, t.Any]:
    return {"metadata": {"name": name}, "spec": spec or {"identity": {"kind": "User", "name": "agent"}}}


def planned(folder: Path, facts: str, placement: t.Any) -> t.Any:
    """A plan without any cluster, as it is shown and written, and why the clusters are in it or not."""
    records = SqliteRecords(folder / "records.db", lambda: NOW)
    session = Session(records=records, holder="me", clock=lambda: NOW)
    try:
        snapshot = facts_file(facts, NOW)
        asked = PlacementRequest(
            definition=placement, resources=(str(folder / "shop.json"),), facts=snapshot, look=False
        )
        report = run(session, asked)
        for plan in report.plan.plans:
            plan_text(plan, {})
        plans_markdown(report.plan.plans, report.plan.digest, report.plan.facts_digest)
        explanations(session, Question(name="web", definition=placement, clusters=NAMES, facts=snapshot))
        return report.plan.as_dict()
    finally:
        records.close()


def test_the_good_facts_make_a_good_plan(fleet: Path) -> None:
    plan = in_file(lambda path: planned(fleet, path, PLACEMENT), json.dumps(FACTS).encode())
    assert [each["cluster"] for each in plan["placements"][0]["clusters"]] == ["b", "c"]


@given(document=any_json() | gone_wrong(FACTS, 1) | gone_wrong(FACTS, 4))
def test_facts(fleet: Path, document: t.Any) -> None:
    """F25"""
    in_file(lambda path: planned(fleet, path, PLACEMENT), json.dumps(document).encode())


def test_facts_that_carry_what_is_held_make_a_plan_without_records(tmp_path: Path) -> None:
    (tmp_path / "shop.json").write_text(json.dumps(SHOP))
    plan = in_file(lambda path: planned(tmp_path, path, PLACEMENT), json.dumps(HOLDING).encode())
    (each,) = plan["placements"]
    assert {row["cluster"]: row["change"] for row in each["clusters"]} == {"a": "kept", "b": "lost", "c": "kept"}
    assert [row["object"] for row in each["clusters"][0]["prune"]] == ["Deployment shop/web"]
    assert [finding["code"] for finding in plan["findings"]] == ["placed-as-in-facts"]


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what is to be placed and no records."""
    folder = tmp_path_factory.mktemp("nowhere")
    (folder / "shop.json").write_text(json.dumps(SHOP))
    return folder


CARRIED = {"held": HELD, "credentials": CREDENTIALS}


@given(carried=st.fixed_dictionaries({"held": any_json()}) | gone_wrong(CARRIED, 1) | gone_wrong(CARRIED, 4))
def test_what_facts_carry_of_placements(nowhere: Path, carried: t.Any) -> None:
    """F25"""
    if isinstance(carried, dict):
        in_file(lambda path: planned(nowhere, path, PLACEMENT), json.dumps({**HOLDING, **carried}).encode())


@given(rng=RANDOM, places=st.integers(1, 5))
def test_facts_whose_text_was_changed(fleet: Path, rng: Random, places: int) -> None:
    text = json.dumps(FACTS)
    for _place in range(places):
        start = rng.randrange(len(text))
        text = text[:start] + rng.choice(BITS) + text[start + rng.randrange(30) :]
    in_file(lambda path: planned(fleet, path, PLACEMENT), text.encode("utf-8", "surrogatepass"))


@given(document=gone_wrong(PLACEMENT, 1) | gone_wrong(PLACEMENT, 3))
def test_placements(fleet: Path, document: t.Any) -> None:
    """F25: a property that no cluster has, that is no number, that all have alike."""
    if isinstance(document, dict):
        in_file(lambda path: planned(fleet, path, document), json.dumps(FACTS).encode())


@given(data=st.data())
def test_plans(fleet: Path, data: st.DataObject) -> None:
    plan = in_file(lambda path: planned(fleet, path, PLACEMENT), json.dumps(FACTS).encode())
    document = data.draw(any_json() | gone_wrong(plan, 1) | gone_wrong(plan, 3))
    in_file(approved_plan, json.dumps(document).encode())


PRICES = {"source": "list", "version": "7", "currency": "USD", "period": "hour", "prices": {"big": 0.5, "small": 1}}


@given(document=any_json() | gone_wrong(PRICES, 1) | gone_wrong(PRICES, 3))
def test_prices(document: t.Any) -> None:
    in_file(prices_file, json.dumps(document).encode())
    answer(read_prices, document)


KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "one",
    "clusters": [
        {
            "name": "c",
            "cluster": {
                "server": "https://127.0.0.1:1",
                "certificate-authority-data": "QQ==",
                "insecure-skip-tls-verify": True,
                "proxy-url": "http://127.0.0.1:1",
                "tls-server-name": "a",
                "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {}}],
            },
        }
    ],
    "users": [
        {"name": "u", "user": {"token": "canary", "as": "a", "as-groups": ["g"], "as-user-extra": {"k": ["v"]}}},
        {
            "name": "p",
            "user": {"exec": {"command": "none", "apiVersion": "client.authentication.k8s.io/v1", "env": []}},
        },
        {"name": "c", "user": {"client-certificate-data": "QQ==", "client-key": "/dev/zero", "tokenFile": "none"}},
        {"name": "o", "user": {"auth-provider": {"name": "oidc", "config": {"id-token": "canary"}}}},
    ],
    "contexts": [
        *({"name": name, "context": {"cluster": "c", "user": user}} for name, user in (("one", "u"), ("two", "p"))),
        *({"name": name, "context": {"cluster": "c", "user": user}} for name, user in (("three", "c"), ("four", "o"))),
    ],
}


@given(document=any_json() | gone_wrong(KUBECONFIG, 1) | gone_wrong(KUBECONFIG, 4))
def test_kubeconfigs(document: t.Any) -> None:
    """As a file and as a Secret on the hub has it. A connection that comes of it can be used, or fails in words."""
    content = yaml.safe_dump(document).encode()
    for context in ("", "one", "two", "three", "four"):
        made = in_file(lambda path, context=context: connection_from_kubeconfig(path, context), content)
        given_ = answer(lambda: kubeconfig_document(content, "Secret a/b"))
        foreign = answer(connection_from_document, given_, context, "Secret a/b")
        for connection in filter(None, (made, foreign)):
            assert "canary" not in repr(connection)
            with KubeClient(connection) as client:
                answer(client.get, "/version")


@given(content=MANGLED)
def test_kubeconfigs_whose_text_was_changed(content: bytes) -> None:
    in_file(connection_from_kubeconfig, content)
    answer(lambda: connection_from_document(kubeconfig_document(content, "Secret a/b"), "", "Secret a/b"))


@given(rng=RANDOM)
def test_the_text_of_a_kubeconfig(rng: Random) -> None:
    content = mangled(rng, yaml.safe_dump(KUBECONFIG))
    in_file(connection_from_kubeconfig, content)
    answer(lambda: connection_from_document(kubeconfig_document(content, "Secret a/b"), "", "Secret a/b"))
