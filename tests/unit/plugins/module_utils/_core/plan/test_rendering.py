# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What overrides make of a placement's objects on each cluster, and what a plan says of it."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.override import (
    ClusterResourceOverride,
    Override,
    ResourceOverride,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    BOUND,
    HELD_BEFORE,
    left_out_mark,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan import rendering
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.changes import (
    CHANGED,
    LEFT_OUT,
    UNKNOWN,
    Earlier,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState, WantedPlacement
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.digest import document_digest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan, Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.rendering import (
    ByCluster,
    Sealing,
    as_placed,
    by_cluster,
    renderings,
    shown_on,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.tests.data.rollout_parts import in_shop, override, resource_override
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    carried_out,
    changes,
    cluster,
    facts,
    placement,
    plan,
)

KEY = b"key"
SEALING = Sealing(key=KEY, source="files")
EVERYWHERE: dict[str, t.Any] = {"clusterSelectorTerms": []}
SETTINGS = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "settings"}
LOGIN = {**SETTINGS, "kind": "Secret", "name": "login"}


def manifest(kind: str = "ConfigMap", name: str = "settings", **fields: t.Any) -> dict[str, t.Any]:
    return in_shop({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields})


def objects(*manifests: dict[str, t.Any]) -> tuple[Rendered, ...]:
    usual = (manifest(data={"color": "blue"}), manifest(name="other"))
    return tuple(as_placed(each, SEALING) for each in manifests or usual)


def on(**labels: str) -> dict[str, t.Any]:
    return {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": labels}}]}


def rule(path: str = "", value: t.Any = "x", where: t.Any = None, op: str = "add") -> dict[str, t.Any]:
    """Without a path the object is left out."""
    what = {"jsonPatchOverrides": [{"op": op, "path": path, "value": value}]} if path else {"overrideType": "Delete"}
    return {"clusterSelector": EVERYWHERE if where is None else where, **what}


def of(*rules: t.Any, selectors: t.Any = (SETTINGS,)) -> Override:
    return decode(ResourceOverride, resource_override(*rules, selectors=selectors))


def made(overrides: t.Sequence[Override], *clusters: t.Any, things: tuple[Rendered, ...] | None = None) -> ByCluster:
    return by_cluster(objects() if things is None else things, overrides, clusters, SEALING)


def test_without_overrides_nothing_is_done_for_any_cluster() -> None:
    assert made((), cluster("a"), cluster("b")) == ByCluster()


def test_clusters_on_which_the_same_rules_act_are_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = rendering.overridden, []
    monkeypatch.setattr(rendering, "overridden", lambda *given: calls.append(given) or real(*given))
    many = [cluster(f"c{number:04}", labels={"env": "prod" if number % 2 else "dev"}) for number in range(1000)]
    found = made([of(rule("/data/a", "1", on(env="prod")), rule("/data/b", "2"))], *many)
    assert len(calls) == 2 and len(found.overrides) == 1000
    assert len({id(each) for each in found.rendered.values()}) == 2
    (prod, dev) = (found.rendered[name][0].manifest["data"] for name in ("c0001", "c0000"))
    assert (prod, dev) == ({"color": "blue", "a": "1", "b": "2"}, {"color": "blue", "b": "2"})


def test_variables_are_filled_in_for_each_cluster() -> None:
    found = made([of(rule("/data/on", "${MEMBER-CLUSTER-NAME}"))], cluster("a"), cluster("b"))
    assert [each[0].manifest["data"]["on"] for each in found.rendered.values()] == ["a", "b"]
    assert len({each.namespaced for each in found.overrides.values()}) == 2


def test_an_object_that_nothing_is_done_to_is_the_same_one() -> None:
    things = objects()
    found = made([of(rule("/data/on", "x"))], cluster("a"), things=things)
    assert found.rendered["a"][1] is things[1] and found.rendered["a"][0] is not things[0]
    same = made([of(rule("/data/color", "blue", op="replace"))], cluster("a"), things=things)
    assert same.rendered == {} and same.overrides["a"].namespaced


@pytest.mark.parametrize("before, after", [(0, False), (1, True), (1, 1.0), (False, 0)])
def test_values_that_are_equal_to_python_alone_are_others(before: t.Any, after: t.Any) -> None:
    things = objects(manifest("HelmRelease", spec={"debug": before}))
    release = {**SETTINGS, "kind": "HelmRelease"}
    patch = of(rule("/spec/debug", after, op="replace"), selectors=(release,))
    (found,) = made([patch], cluster("a"), things=things).rendered["a"]
    assert repr(found.manifest["spec"]) == repr({"debug": after}) and found.hash != things[0].hash


def test_what_fails_alike_on_many_clusters_is_tried_as_often_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = rendering.overridden, []
    monkeypatch.setattr(rendering, "overridden", lambda *given: calls.append(given) or real(*given))
    with pytest.raises(FleetError) as refused:
        made([of(rule("/data/none", op="remove"))], *(cluster(f"c{number:02}") for number in range(20)))
    assert len(calls) == rendering.TOLD == len(refused.value.problems) - 1
    assert "for 17 more clusters: c03, c04" in refused.value.problems[-1].message


def test_a_name_says_what_an_override_does_there_and_not_how_it_is_written() -> None:
    def name(*rules: t.Any) -> str:
        return made([of(*rules)], cluster("a", labels={"env": "dev"})).overrides["a"].namespaced[0].name

    plain = name(rule("/data/a", "1"))
    assert plain.startswith("web-") and plain == name(rule("/data/a", "1"), rule("/data/b", "2", on(env="prod")))
    assert plain == name(rule("/data/a", "1", on(env="dev")))
    assert len({plain, name(rule("/data/a", "2")), name(rule("/data/b", "1")), name(rule())}) == 4


def test_cluster_scoped_overrides_come_first_and_have_no_namespace() -> None:
    namespace = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
    wide = decode(ClusterResourceOverride, override(rule("/data/on", "wide"), selectors=(namespace,)))
    things = objects(manifest(data={"color": "blue"}))
    found = made([wide, of(rule("/data/on", "own"))], cluster("a"), things=things)
    (names,) = found.overrides.values()
    assert names.cluster[0].startswith("roles-") and names.namespaced[0].namespace == "shop"
    assert [each.manifest["data"]["on"] for each in found.rendered["a"] if each.id.name == "settings"] == ["own"]


def test_a_name_does_not_let_a_weak_value_of_a_secret_be_guessed() -> None:
    def name(value: str, key: bytes) -> str:
        things = (as_placed(manifest("Secret", "login", data={"word": "YQ=="}), Sealing(key=key)),)
        rules = of(rule("/data/word", value, op="replace"), selectors=(LOGIN,))
        found = by_cluster(things, [rules], [cluster("a")], Sealing(key=key))
        return found.overrides["a"].namespaced[0].name

    assert name("YQ==", b"") == name("Yg==", b"")
    assert name("YQ==", KEY) != name("Yg==", KEY) and name("YQ==", KEY) != name("YQ==", b"other")


def test_an_overridden_secret_is_sealed_and_its_values_are_not_told() -> None:
    things = (as_placed(manifest("Secret", "login", data={"word": "YQ=="}), SEALING),)
    found = by_cluster(
        things, [of(rule("/stringData", {"word": "sesame"}), selectors=(LOGIN,))], [cluster("a")], SEALING
    )
    (one,) = found.rendered["a"]
    assert one.manifest["data"] == {"word": "c2VzYW1l"} and one.sealed
    assert one.sealed["data"]["word"].startswith("hmac-sha256:")
    (told,) = renderings(things, found.rendered)
    assert "c2VzYW1l" not in str(told.as_dict()) and "sesame" not in str(told.as_dict())
    assert told.changes[0].action == CHANGED


REFUSED: dict[str, tuple[t.Any, str]] = {
    "a field that is not there": (rule("/data/none", op="replace"), "override-failed"),
    "a label that the cluster lacks": (rule("/data/on", "${MEMBER-CLUSTER-LABEL-KEY-city}"), "override-label-missing"),
    "labels that are no texts": (rule("/metadata/labels", {"a": 1}), "malformed-metadata"),
    "fields to ignore that are none": (
        rule("/metadata/annotations", {"gitops.fleet/ignore": "spec..replicas"}),
        "bad-ignore",
    ),
    "labels that are no map": (rule("/metadata/labels", "a"), "malformed-metadata"),
    "more than a server keeps": (rule("/data/on", "x" * 1_600_000), "object-too-large"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_placed_so_is_refused_with_cluster_and_object(case: str) -> None:
    wrong, code = REFUSED[case]
    with pytest.raises(FleetError) as refused:
        made([of(wrong)], cluster("a"), cluster("b"))
    problems = refused.value.problems
    assert [each.code for each in problems] == [code] * 2
    assert all("ConfigMap shop/settings" in each.message for each in problems)
    for name, each in zip("ab", problems, strict=True):
        assert f"cluster {name} " in each.message or f"for {name}" in each.message


def test_a_label_of_null_is_no_reason_to_refuse_what_an_override_acts_on() -> None:
    """As where objects are selected: no server keeps it."""
    made([of(rule("/metadata/labels", {"a": None}))], cluster("a"))


def test_a_secret_that_base64_alone_makes_too_large_is_told_with_the_other_problems() -> None:
    """1.2 MB of text are 1.6 MB of base64, as members get it; all problems are named at once."""
    things = objects(manifest(data={"color": "blue"}), manifest("Secret", "login"))
    large = of(rule("/stringData", {"word": "x" * 1_200_000}), selectors=(LOGIN,))
    with pytest.raises(FleetError) as refused:
        made([of(rule("/data/none", op="replace")), large], cluster("a"), cluster("b"), things=things)
    found = [(each.code, each.message.rpartition(" ")[2]) for each in refused.value.problems]
    assert sorted(found) == [(code, name) for code in ("object-too-large", "override-failed") for name in "ab"]


def test_an_override_does_not_bring_in_what_could_not_be_selected() -> None:
    """A webhook that is asked about everything and fails closed (F20), and a Secret that a server makes itself."""
    hook = {
        "name": "all.example.com",
        "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}],
        "failurePolicy": "Ignore",
        "clientConfig": {"url": "https://127.0.0.1/"},
    }
    api = "admissionregistration.k8s.io"
    kind = "ValidatingWebhookConfiguration"
    webhook = {"apiVersion": f"{api}/v1", "kind": kind, "metadata": {"name": "all"}, "webhooks": [hook]}
    names = {"group": api, "version": "v1", "kind": kind, "name": "all"}
    closed = decode(
        ClusterResourceOverride, override(rule("/webhooks/0/failurePolicy", "Fail", op="replace"), selectors=(names,))
    )
    token = of(rule("/type", "kubernetes.io/service-account-token"), selectors=(LOGIN,))
    for thing, one in ((webhook, closed), (manifest("Secret", "login"), token)):
        with pytest.raises(FleetError) as refused:
            made([one], cluster("a"), things=objects(thing))
        assert refused.value.code in ("stops-cluster", "never-placed") and "for a" in refused.value.message


def test_many_clusters_with_one_trouble_are_told_together() -> None:
    with pytest.raises(FleetError) as refused:
        made([of(rule("/data/none", op="replace"))], *(cluster(f"c{number:03}") for number in range(100)))
    *first, rest = refused.value.problems
    assert [each.message.rpartition(" ")[2] for each in first] == ["c000", "c001", "c002"]
    assert "the same in ConfigMap shop/settings for 97 more clusters: c003, " in rest.message
    assert {each.where for each in refused.value.problems} == {first[0].where}


def test_equal_differences_are_told_together() -> None:
    things = objects()
    clusters = [cluster(name, labels={"env": env}) for name, env in (("a", "dev"), ("b", "prod"), ("c", "dev"))]
    found = made(
        [of(rule("/data/color", "red", op="replace"), rule("", where=on(env="prod")))], *clusters, things=things
    )
    told = renderings(things, found.rendered)
    assert [(each.clusters, each.changes[0].action) for each in told] == [(("a", "c"), CHANGED), (("b",), LEFT_OUT)]
    (field,) = told[0].changes[0].fields
    assert (field.path, field.old, field.new) == (".data.color", "blue", "red")
    assert [str(each) for each in told[1].left_out] == ["ConfigMap shop/settings"] and told[1].objects == ()


def wish(*overrides: Override, things: tuple[Rendered, ...] | None = None) -> WantedPlacement:
    found = objects() if things is None else things
    return WantedPlacement(placement=placement(), objects=found, overrides=overrides, sealing=SEALING)


def after(made: PlacementPlan, known: RecordedState | None = None) -> RecordedState:
    """The records of the plan once it is carried out, names of overrides included."""
    state = carried_out(made, known)
    bindings = []
    for each in state.bindings:
        content = made.content.content_on(each.spec.target_cluster)
        spec = replace(
            each.spec,
            state=BOUND,
            cluster_resource_override_snapshots=content.overrides.cluster,
            resource_override_snapshots=content.overrides.namespaced,
        )
        marks = left_out_mark(made.left_out_on(each.spec.target_cluster))
        bindings.append(replace(each, spec=spec, metadata=replace(each.metadata, annotations=marks)))
    earlier = {made.resource_snapshot: Earlier(manifests=tuple(dict(each.sealed or {}) for each in made.objects))}
    return replace(state, bindings=tuple(bindings), earlier=earlier)


FLEET = facts(cluster("a", labels={"env": "dev"}), cluster("b", labels={"env": "prod"}))


def test_what_an_override_changes_is_content_and_nothing_else_is() -> None:
    first = plan(wish(), FLEET)
    known = after(first)
    second = plan(wish(of(rule("/data/color", "red", on(env="prod"), op="replace"))), FLEET, known)
    assert changes(second) == {"a": ("kept", "unchanged"), "b": ("kept", "content-changed")}
    assert not second.resource_snapshot_new and second.decides_change and second.digest != first.digest
    assert second.objects_on("a") == second.objects and second.objects_on("b") != second.objects
    assert plan(wish(), FLEET, known).digest != second.digest
    third = plan(wish(of(rule("/data/color", "red", on(env="prod"), op="replace"))), FLEET, after(second, known))
    assert not third.decides_change and third.digest == second.digest


def test_the_digest_can_be_found_again_from_the_file() -> None:
    made = plan(
        wish(of(rule("/data/color", "red", on(env="prod"), op="replace"), rule("", where=on(env="dev")))), FLEET
    )
    document = made.as_dict()
    assert document_digest(document) == made.digest
    for part in ("objects", "leftOut", "clusters"):
        doctored = [{**each, part: []} for each in document["renderings"]]
        assert document_digest({**document, "renderings": doctored}) != made.digest


def test_plans_without_overrides_have_the_digests_they_always_had() -> None:
    document = plan(wish(), FLEET).as_dict()
    assert document["renderings"] == []
    del document["renderings"]
    assert document_digest(document) == document["digest"]


def test_what_is_left_out_is_pruned_where_it_is_held_and_named_once() -> None:
    known = after(plan(wish(), FLEET))
    left_out = of(rule("", where=on(env="prod")))
    going = plan(wish(left_out), FLEET, known)
    rows = {each.cluster: [str(one) for one in each.prune] for each in going.clusters}
    assert rows == {"a": [], "b": ["ConfigMap shop/settings"]}
    known = after(going, known)
    assert plan(wish(left_out), FLEET, known).decides_change is False
    other = objects(manifest(data={"color": "red"}), manifest(name="other"))
    again = plan(wish(left_out, things=other), FLEET, known)
    assert [each.leaving for each in again.clusters] == [(), ()]
    back = plan(wish(), FLEET, known)
    assert changes(back)["b"] == ("kept", "content-changed") and all(not each.leaving for each in back.clusters)


def test_of_a_cluster_where_a_write_was_begun_nothing_is_taken_for_granted() -> None:
    left_out = of(rule("", where=on(env="prod")))
    known = after(plan(wish(left_out), FLEET))
    begun = tuple(
        replace(
            each,
            metadata=replace(each.metadata, annotations={**each.metadata.annotations, HELD_BEFORE: "web-0-snapshot"}),
        )
        for each in known.bindings
    )
    made = plan(wish(left_out), FLEET, replace(known, bindings=begun))
    assert {cause for _change, cause in changes(made).values()} == {"content-changed"}
    assert [len(each.leftover) for each in made.clusters] == [0, 1]


def test_changes_since_the_last_apply_are_told_from_what_was_applied() -> None:
    red = of(rule("/data/color", "red", op="replace"))
    first = plan(wish(), FLEET)
    (told,) = plan(wish(red), FLEET, after(first)).changes
    assert told.clusters == ("a", "b") and [each.action for each in told.objects] == [CHANGED]
    known = after(plan(wish(red), FLEET))
    other = objects(manifest(data={"color": "blue", "size": "1"}), manifest(name="other"))
    (told,) = plan(wish(red, things=other), FLEET, known).changes
    assert [one.path for each in told.objects for one in each.fields] == [".data.size"]
    (told,) = plan(wish(of(rule("/data/color", "green", op="replace"))), FLEET, known).changes
    assert [each.action for each in told.objects] == [UNKNOWN, UNKNOWN]


def test_what_one_cluster_gets_is_shown_without_what_secrets_hold() -> None:
    secret = manifest("Secret", "login", data={"word": "c2VzYW1l"}, metadata={"name": "login", "namespace": "shop"})
    things = objects(manifest(data={"color": "blue"}), secret, manifest(name="other"))
    none = {**SETTINGS, "name": "other"}
    gone = of(rule(), selectors=(none,))
    red = of(rule("/data/color", "${MEMBER-CLUSTER-NAME}", op="replace"))
    made = plan(wish(red, replace(gone, metadata=replace(gone.metadata, name="z")), things=things), FLEET)
    shown = shown_on(made, "a")
    assert "c2VzYW1l" not in str(shown) and "secret-source" not in str(shown)
    rows = {each["object"]: each for each in shown["objects"]}
    assert rows["ConfigMap shop/settings"]["manifest"]["data"] == {"color": "a"}
    assert [each["overridden"] for each in rows.values()] == [
        each["object"] == "ConfigMap shop/settings" for each in rows.values()
    ]
    assert shown["leftOut"] == [{"apiVersion": "v1", "object": "ConfigMap shop/other"}]
    assert [each.partition("-")[0] for each in shown["overrides"]] == ["shop/web", "shop/z"]


def test_an_object_that_no_server_keeps_is_refused_before_anything_is_done() -> None:
    large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "x" * 1_600_000}}
    with pytest.raises(FleetError) as refused:
        as_placed(large, Sealing())
    assert [(each.code, each.where) for each in refused.value.problems] == [("object-too-large", "ConfigMap a")]
