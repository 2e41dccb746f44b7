# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users get wrong, and what they are told: one row per input, all run as tasks of one play.

Texts in options may name places in braces: ``{folder}`` (files of ``FILES``, and the records), ``{kubeconfig}`` (of the
two members, for who may only read), ``{admin}`` (for who may everything), ``{clusters}`` (their root), ``{manifests}``.
``words`` must all be in the message.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

Options = dict[str, t.Any]

CRP: Options = {
    "apiVersion": "placement.kubernetes-fleet.io/v1",
    "kind": "ClusterResourcePlacement",
    "metadata": {"name": "shop"},
    "spec": {
        "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}],
        "policy": {"placementType": "PickAll"},
    },
}


def crp(policy: Options | None = None, **spec: t.Any) -> Options:
    return {**CRP, "spec": {**CRP["spec"], **({"policy": policy} if policy else {}), **spec}}


def text(name: str = "shop", rest: str = "") -> str:
    return (
        "apiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterResourcePlacement\n"
        f"metadata: {{name: {name}}}\nspec:\n  resourceSelectors:\n"
        f'    - {{group: "", version: v1, kind: Namespace, name: shop}}\n{rest}'
    )


_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)

FILES: dict[str, bytes] = {
    "twice.yml": text(rest="spec: {}\n").encode(),
    "tabs.yml": b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: tabs\n",
    "bomb.yml": _BOMB.encode(),
    "latin1.yml": text("caf\xe9").encode("latin-1"),
    "list.yml": b"- one\n- two\n",
    "deep.yml": b"a: " + b"[" * 500 + b"]" * 500,
    "tagged.yml": b"a: !!python/object/apply:os.system [id]\n",
    "two/one.yml": text().encode(),
    "two/other.yml": text().encode(),
    "several.yml": text(rest="  policy: {placementType: PickN}\n  strategi: {}\n").encode(),
    "no-facts.json": b"{}",
    "broken.json": b'{"schema": 1,',
    "facts-new.json": b'{"schema": 99, "capturedAt": "2026-11-02T08:00:00Z", "members": []}',
    "facts-wrong.json": b'{"schema": 1, "capturedAt": "2026-11-02T08:00:00Z", "members": [7]}',
    "facts-noon.json": b'{"schema": 1, "capturedAt": "noon", "members": []}',
    "facts-list.json": b'{"schema": 1, "capturedAt": "2026-11-02T08:00:00Z", "members": [], "nodes": [1]}',
    "facts-later.json": b'{"schema": 1, "capturedAt": "2999-11-02T08:00:00Z", "members": []}',
    "facts-named.json": (
        b'{"schema": 1, "capturedAt": "2026-11-02T08:00:00Z",'
        b' "members": [{"metadata": {"name": "../east"}}, {"metadata": {"name": "EAST"}}]}'
    ),
    "facts-twice.json": b'{"schema": 1, "capturedAt": "2026-11-02T08:00:00Z", "members": [], "members": []}',
    "plan-list.json": b"[]",
    "plan-old.json": b'{"digest": "0123456789abcdef", "facts": "", "placements": []}',
    "plan-doctored.json": b'{"schema": 2, "digest": "0123456789abcdef", "placements": []}',
    "plan-types.json": b'{"schema": 2, "digest": 7, "placements": {"a": []}}',
    "not-yaml": b"clusters: [\n",
    "kubeconfig-text": b"just words",
    "kubeconfig-half": b"contexts: [{name: a, context: {cluster: nowhere}}]\n",
    "notes.txt": b"my notes, no database\n" * 100,
}


@dataclass(frozen=True)
class Bad:
    name: str
    verb: str
    options: Options
    code: str
    words: tuple[str, ...]
    environ: dict[str, str] = field(default_factory=dict)


def placed(name: str, code: str, *words: str, **options: t.Any) -> Bad:
    given = {"resources": ["{manifests}/resources"], **options}
    if not given.keys() & {"src", "definition"} and given.get("state") != "absent":
        given["src"] = ["{manifests}/placements"]
    return Bad(name, "placement", given, code, words)


def planned(name: str, code: str, *words: str, definition: Options) -> Bad:
    return placed(name, code, *words, definition=definition, state="planned")


def joined(name: str, code: str, *words: str, **member: t.Any) -> Bad:
    return Bad(name, "member_cluster", {"members": [{"name": "third", **member}]}, code, words)


def local(name: str, code: str, *words: str, options: Options | None = None, **cluster: t.Any) -> Bad:
    given = {"root": "{folder}/clusters", "clusters": [{"name": "third", **cluster}], **(options or {})}
    return Bad(name, "local_cluster", given, code, words)


MANIFESTS = (
    planned("unknown field", "unknown-field", "strategi", "spec", "strategy", definition=crp(strategi={})),
    planned(
        "placeholder",
        "placeholder",
        "...",
        "numberOfClusters",
        definition=crp({"placementType": "PickN", "numberOfClusters": "..."}),
    ),
    planned(
        "PickN without a number",
        "number-of-clusters-missing",
        "PickN",
        "numberOfClusters",
        definition=crp({"placementType": "PickN"}),
    ),
    planned(
        "PickFixed without names",
        "cluster-names-missing",
        "clusterNames",
        definition=crp({"placementType": "PickFixed"}),
    ),
    planned(
        "a slip in a choice", "not-one-of", "PickAll", "placementType", definition=crp({"placementType": "PickEvery"})
    ),
    planned(
        "a negative number",
        "out-of-range",
        "numberOfClusters",
        definition=crp({"placementType": "PickN", "numberOfClusters": -1}),
    ),
    planned(
        "no resources selected",
        "missing-field",
        "resourceSelectors",
        definition={**CRP, "spec": {"policy": {"placementType": "PickAll"}}},
    ),
    planned(
        "the newer upstream group",
        "unsupported-group",
        "kubefleet.dev",
        "placement.kubernetes-fleet.io/v1",
        definition={**CRP, "apiVersion": "placement.kubefleet.dev/v1alpha1"},
    ),
    planned(
        "a slip in the kind",
        "unknown-kind",
        "ClusterResourcePlacment",
        "ClusterResourcePlacement",
        definition={**CRP, "kind": "ClusterResourcePlacment"},
    ),
    planned(
        "no such version",
        "unsupported-version",
        "v7",
        "v1beta1",
        definition={**CRP, "apiVersion": "placement.kubernetes-fleet.io/v7"},
    ),
    planned("no kind at all", "missing-field", "kind is required", definition={"metadata": {"name": "x"}}),
    planned(
        "another kind",
        "not-a-placement",
        "MemberCluster",
        definition={
            "apiVersion": "cluster.kubernetes-fleet.io/v1",
            "kind": "MemberCluster",
            "metadata": {"name": "x"},
            "spec": {"identity": {"kind": "User", "name": "a", "apiGroup": "rbac.authorization.k8s.io"}},
        },
    ),
    planned("a bad name", "invalid-name", "Shop_1", definition={**CRP, "metadata": {"name": "Shop_1"}}),
    placed(
        "everything wrong at once",
        "unknown-field",
        "2 problems",
        "several.yml:1",
        "strategi",
        "numberOfClusters",
        src=["{folder}/several.yml"],
    ),
    placed("the same key twice", "duplicate-key", "twice.yml:7", "'spec'", "keep one", src=["{folder}/twice.yml"]),
    placed("tabs", "bad-yaml", "tabs.yml:4", src=["{folder}/tabs.yml"]),
    placed("an alias bomb", "too-big", "bomb.yml", "alias", src=["{folder}/bomb.yml"]),
    placed("not UTF-8", "not-utf-8", "latin1.yml:3", "UTF-8", src=["{folder}/latin1.yml"]),
    placed("a list", "not-a-mapping", "list.yml:1", "apiVersion", src=["{folder}/list.yml"]),
    placed("nested too deep", "too-deep", "deep.yml:1", "200", src=["{folder}/deep.yml"]),
    placed("a tag that would run code", "unknown-tag", "tagged.yml:1", src=["{folder}/tagged.yml"]),
    placed("a file that is not there", "no-such-file", "{folder}/nowhere.yml", src=["{folder}/nowhere.yml"]),
    placed("two files with one placement", "duplicate-placement", "other.yml:1", "one.yml:1", src=["{folder}/two"]),
    placed("no resources there", "no-such-file", "{folder}/nowhere", resources=["{folder}/nowhere"]),
)

OPTIONS = (
    placed("an unknown option", "bad-option", "resource_files", "Supported parameters", resource_files=["x"]),
    placed("a wrong type", "bad-option", "threads", "int", threads="many"),
    placed("a wrong choice", "bad-option", "state", "planned", state="gone"),
    placed("src and definition", "bad-option", "mutually exclusive", "src", src=["x"], definition=CRP),
    placed("max_removals in words", "bad-option", "max_removals", "half", "0% to 100%", max_removals="half"),
    placed("max_removals above 100%", "bad-option", "max_removals", "130%", max_removals="130%"),
    placed("absent without names", "nothing-asked", "names", state="absent"),
    placed("names that are nowhere", "no-such-placement", "shopp", names=["shopp"]),
    placed("no threads", "bad-option", "threads", threads=0),
    placed("no time", "bad-option", "timeout", timeout=0),
    placed(
        "no facts",
        "facts-missing",
        "{folder}/nowhere.json",
        "gitops.fleet.facts -e dest=",
        facts="{folder}/nowhere.json",
    ),
    placed("facts that are no JSON", "facts-invalid", "broken.json", facts="{folder}/broken.json"),
    placed(
        "facts that are something else", "facts-invalid", "no-facts.json", "fleet_facts", facts="{folder}/no-facts.json"
    ),
    placed(
        "facts of a newer version", "facts-too-new", "99", "capture the facts again", facts="{folder}/facts-new.json"
    ),
    placed("facts with a wrong member", "facts-invalid", "facts-wrong.json", facts="{folder}/facts-wrong.json"),
    placed("facts with a wrong instant", "facts-invalid", "facts-noon.json", "noon", facts="{folder}/facts-noon.json"),
    Bad(
        "facts with wrong nodes",
        "fleet_report",
        {"facts": "{folder}/facts-list.json", "dest": "{folder}/report"},
        "facts-invalid",
        ("facts-list.json",),
    ),
    placed(
        "facts that are too old", "brake-max-facts-age", "captured", "max_facts_age", facts="{folder}/facts-old.json"
    ),
    placed("another digest", "digest-mismatch", "0123456789abcdef", "plan again", digest="0123456789abcdef"),
    placed("no approved plan", "plan-missing", "{folder}/nowhere.json", approved_plan="{folder}/nowhere.json"),
    placed("an approved plan that is none", "plan-invalid", "plan-list.json", approved_plan="{folder}/plan-list.json"),
    placed(
        "facts from the future", "facts-invalid", "ahead of this machine's clock", facts="{folder}/facts-later.json"
    ),
    placed("facts with odd names", "facts-invalid", "'../east'", "'EAST'", facts="{folder}/facts-named.json"),
    placed("facts with a key twice", "facts-invalid", "'members' stands twice", facts="{folder}/facts-twice.json"),
    placed("a plan of an older release", "plan-too-old", "schema 1", approved_plan="{folder}/plan-old.json"),
    placed("a plan that was changed", "plan-doctored", "plan again", approved_plan="{folder}/plan-doctored.json"),
    placed(
        "a plan of wrong types",
        "plan-invalid",
        "digest: a text is wanted",
        "placements: a list is wanted",
        approved_plan="{folder}/plan-types.json",
    ),
    placed("max_object_removals in words", "bad-option", "max_object_removals", "many", max_object_removals="many"),
    placed(
        "a limit of nodes without their file", "bad-option", "nodes_file", "max_replaced_nodes", max_replaced_nodes="3"
    ),
    placed("a list without a path", "bad-option", "resources is empty", resources=[]),
    placed("names that nothing is left of", "bad-option", "names is empty", names=[]),
    placed("the brake on removals", "brake-max-removals", "2 of 2", "max_removals: 2", state="absent", names=["shop"]),
    placed(
        "the brake on emptiness",
        "brake-allow-empty",
        "no cluster is picked",
        "allow_empty: true",
        definition=crp(
            {
                "placementType": "PickAll",
                "affinity": {
                    "clusterAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"env": "none"}}}]
                        }
                    }
                },
            }
        ),
        max_removals="100%",
    ),
    placed(
        "a plan file that cannot be written",
        "unwritable-file",
        "{folder}/notes.txt/plan.json",
        write_plan="{folder}/notes.txt/plan.json",
    ),
    Bad("an unknown placement", "placement_info", {"name": "nothing"}, "no-such-placement", ("nothing", "records.db")),
    Bad("a placement misspelt", "placement_info", {"name": "shp"}, "no-such-placement", ("shp", "did you mean shop?")),
    Bad(
        "an unknown cluster",
        "placement_info",
        {"name": "shop", "explain": ["eest"]},
        "unknown-cluster",
        ("eest", "east"),
    ),
    Bad("prices that are none", "fleet_facts", {"prices": "{folder}/broken.json"}, "prices-invalid", ("broken.json",)),
    Bad(
        "prices of a wrong form",
        "fleet_facts",
        {"prices": "{folder}/plan-list.json"},
        "prices-invalid",
        ("plan-list.json",),
    ),
    Bad(
        "rights for a kind that nobody knows",
        "fleet_rbac_info",
        {"subject": {"name": "a"}, "kinds": [{"api_version": "a.b/v1", "kind": "C"}]},
        "unknown-kind",
        ("a.b/v1", "plural"),
    ),
    Bad("rights without a subject", "fleet_rbac_info", {}, "bad-option", ("subject",)),
    Bad("profiles of no name", "auto_upgrade_profile", {"state": "evaluated", "names": []}, "bad-option", ("names",)),
    Bad("a lint of nothing", "lint", {}, "bad-option", ("src",)),
    Bad(
        "a lint from an instant that is none",
        "lint",
        {"src": ["{manifests}"], "now": "noon"},
        "invalid-time",
        ("noon", "2026-05-01T12:00:00Z"),
    ),
    Bad(
        "findings that cannot be written",
        "lint",
        {"src": ["{manifests}"], "write_sarif": "{folder}/notes.txt/findings.sarif"},
        "unwritable-file",
        ("{folder}/notes.txt/findings.sarif",),
    ),
)

RECORDS = (
    Bad(
        "records that are something else",
        "fleet_info",
        {"records": {"path": "{folder}/notes.txt"}},
        "records-not-ours",
        ("notes.txt", "left as it is"),
    ),
    Bad(
        "records that are a folder", "fleet_info", {"records": {"path": "{folder}"}}, "records-unreadable", ("folder",)
    ),
    Bad(
        "records where nothing can be",
        "member_cluster",
        {
            "records": {"path": "/proc/fleet/records.db"},
            "members": [{"name": "east", "kubeconfig": "{kubeconfig}", "context": "east"}],
        },
        "records-unreadable",
        ("/proc/fleet",),
    ),
    Bad(
        "records of a newer version",
        "fleet_info",
        {"records": {"path": "{folder}/newer.db"}},
        "records-too-new",
        ("newer.db", "schema 99"),
    ),
    Bad(
        "records in CI that would be lost",
        "member_cluster",
        {"members": [{"name": "east", "labels": {"a": "b"}}]},
        "no-durable-records",
        ("CI", "durable: true", "type: hub"),
        {"CI": "true"},
    ),
    Bad("records of another kind", "fleet_info", {"records": {"type": "etcd"}}, "bad-option", ("etcd", "sqlite")),
    Bad(
        "a hub without our definitions",
        "fleet_info",
        {"records": {"type": "hub", "kubeconfig": "{admin}", "context": "west"}},
        "crds-missing",
        ("gitops.fleet.hub",),
    ),
    Bad(
        "no fleet yet",
        "fleet_facts",
        {"records": {"path": "{folder}/none.db"}},
        "no-members",
        ("none.db", "gitops.fleet.join"),
    ),
)

CONNECTIONS = (
    joined("no kubeconfig there", "kubeconfig-missing", "{folder}/nowhere", kubeconfig="{folder}/nowhere"),
    joined("a kubeconfig that is no YAML", "kubeconfig-invalid", "not-yaml:2", kubeconfig="{folder}/not-yaml"),
    joined(
        "a kubeconfig that is a text", "kubeconfig-invalid", "kubeconfig-text", kubeconfig="{folder}/kubeconfig-text"
    ),
    joined(
        "a context without its cluster",
        "kubeconfig-invalid",
        "nowhere",
        kubeconfig="{folder}/kubeconfig-half",
        context="a",
    ),
    joined("no such context", "context-missing", "nord", "east, west", kubeconfig="{kubeconfig}", context="nord"),
    joined("no connection at all", "no-connection", "third", "kubeconfig", "misspelt"),
    joined("another authority", "certificate", "third", kubeconfig="{folder}/wrong-ca"),
    joined("an expired certificate", "credentials-expired", "third", "renew", kubeconfig="{folder}/expired"),
    joined("a dead port", "unreachable", "third", "refused", kubeconfig="{folder}/dead"),
    joined("an unknown token", "unauthorized", "third", kubeconfig="{folder}/wrong-token"),
    joined(
        "a Secret and no hub",
        "secret-without-hub",
        "keys/third",
        "type hub",
        secret_ref={"name": "third", "namespace": "keys"},
    ),
    joined("in a cluster, outside of one", "kubeconfig-missing", "does not run in a cluster", in_cluster=True),
    joined(
        "two connections",
        "connection-source",
        "third",
        kubeconfig="{kubeconfig}",
        context="east",
        in_cluster=True,
    ),
    joined(
        "a bad label",
        "invalid-label",
        "third",
        "labels",
        kubeconfig="{kubeconfig}",
        context="east",
        labels={"env": "a b"},
    ),
    joined(
        "a bad taint",
        "not-one-of",
        "third",
        "taints",
        "NoSchedule",
        kubeconfig="{kubeconfig}",
        context="east",
        taints=[{"key": "a", "effect": "Never"}],
    ),
    joined(
        "an unknown word in a taint",
        "unknown-field",
        "third",
        "taints",
        kubeconfig="{kubeconfig}",
        context="east",
        taints=[{"key": "a", "efect": "NoSchedule"}],
    ),
    joined("a bad driver", "bad-option", "driver", "command", driver="hand"),
    Bad(
        "a bad member name",
        "member_cluster",
        {"members": [{"name": "East_1", "kubeconfig": "{kubeconfig}", "context": "east"}]},
        "invalid-name",
        ("East_1",),
    ),
    Bad(
        "a member twice",
        "member_cluster",
        {
            "members": [
                {"name": "a", "kubeconfig": "{kubeconfig}", "context": "east"},
                {"name": "a", "kubeconfig": "{kubeconfig}", "context": "west"},
            ]
        },
        "duplicate-member",
        ("a", "members"),
    ),
    Bad(
        "two members of one cluster",
        "member_cluster",
        {"members": [{"name": each, "kubeconfig": "{kubeconfig}", "context": "east"} for each in ("a", "b")]},
        "double-member",
        ("a, b", "one and the same connection"),
    ),
    Bad(
        "no context matches",
        "member_cluster",
        {"kubeconfig": "{kubeconfig}", "context_pattern": "prod-*"},
        "no-context-matches",
        ("prod-*", "east, west"),
    ),
    Bad(
        "a pattern and no kubeconfig",
        "member_cluster",
        {"context_pattern": "*"},
        "bad-option",
        ("kubeconfig", "context_pattern"),
    ),
    Bad("neither members nor a pattern", "member_cluster", {}, "bad-option", ("members", "context_pattern")),
    Bad(
        "to leave without a name",
        "member_cluster",
        {"state": "absent", "context_pattern": "*", "kubeconfig": "{kubeconfig}"},
        "no-members",
        ("names", "members"),
    ),
    Bad(
        "to leave what never joined",
        "member_cluster",
        {"state": "absent", "members": [{"name": "weest"}], "max_removals": "few"},
        "bad-option",
        ("max_removals", "few"),
    ),
    Bad("a hub that is not there", "hub", {"kubeconfig": "{folder}/dead"}, "unreachable", ("refused",)),
    Bad(
        "a hub by nobody's context",
        "hub",
        {"kubeconfig": "{kubeconfig}", "context": "nord"},
        "context-missing",
        ("nord", "east"),
    ),
    Bad(
        "a hub that one may only read",
        "hub",
        {"kubeconfig": "{kubeconfig}", "context": "west"},
        "forbidden",
        ("customresourcedefinitions",),
    ),
)

LOCAL = (
    local("no range of ports", "bad-port-range", "ports", "21000-21999", options={"ports": "all"}),
    local("a range of ports upside down", "bad-port-range", "3000-2000", options={"ports": "3000-2000"}),
    local(
        "a downgrade",
        "downgrade-refused",
        "east",
        "1.35",
        options={"root": "{clusters}", "clusters": [{"name": "east", "version": "1.35", "profile": "control"}]},
    ),
    local("a version without recipe", "unknown-version", "1.99", "1.36.3", version="1.99"),
    local("no version", "bad-version", "latest", "1.36", version="latest"),
    local("an unknown profile", "bad-option", "profile", "fleet", profile="large"),
    local("nodes without their profile", "bad-profile", "third", "profile fleet", nodes=[{"count": 2}]),
    local("a negative number of nodes", "bad-count", "third", "nodes[0].count", profile="fleet", nodes=[{"count": -2}]),
    local(
        "memory of no quantity",
        "bad-quantity",
        "third",
        "memory",
        profile="fleet",
        nodes=[{"count": 1, "memory": "much"}],
    ),
    local(
        "a cluster twice",
        "duplicate-cluster",
        "named more than once",
        "a",
        options={"clusters": [{"name": "a"}, {"name": "a"}]},
    ),
    local("a bad cluster name", "bad-name", "Third_1", options={"clusters": [{"name": "Third_1"}]}),
    local("a root that cannot be written", "unwritable-folder", "/proc/clusters", options={"root": "/proc/clusters"}),
    local("no binaries there", "missing-binary", "{folder}", options={"binaries_dir": "{folder}"}),
    local("no such cluster to stop", "no-such-cluster", "third", options={"state": "stopped"}),
)

ROWS = (*MANIFESTS, *OPTIONS, *RECORDS, *CONNECTIONS, *LOCAL)
