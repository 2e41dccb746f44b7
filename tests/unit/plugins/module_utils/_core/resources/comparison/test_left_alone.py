# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What ``gitops.fleet/ignore`` leaves alone. The trees are of the shapes that kube-apiserver 1.36 writes."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.compare import (
    added_by_others,
    differences,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.given_up import given_up
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.left_alone import (
    as_compared,
    as_live,
    ignored_paths,
    without_left_alone,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.ownership import drift

OURS = "gitops-fleet"
WEB = {'k:{"name":"web"}': {".": {}, "f:image": {}, "f:name": {}}}
TEMPLATE = {"f:spec": {"f:containers": WEB}}
Document = dict[str, t.Any]


def wanted(ignore: t.Any = ".spec.replicas", **spec: t.Any) -> Document:
    containers = {"template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}}
    metadata = {"name": "web", "annotations": {"gitops.fleet/ignore": ignore}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {**containers, **spec}}


def live(ours: Document, theirs: Document, **spec: t.Any) -> Document:
    document = wanted(**{"replicas": 7, **spec})
    rows = [
        {"manager": OURS, "operation": "Apply", "fieldsV1": {"f:spec": ours}},
        {"manager": "hpa", "operation": "Update", "subresource": "scale", "fieldsV1": {"f:spec": theirs}},
    ]
    return {**document, "metadata": {**document["metadata"], "managedFields": rows}}


@pytest.mark.parametrize(
    ("kind", "text", "paths"),
    [
        ("ConfigMap", ".data.tls.crt", [("data", "tls.crt")]),
        ("Secret", '.data["tls.crt"], .data', [("data", "tls.crt"), ("data",)]),
        ("Secret", ".stringData.password", [("data", "password")]),
        ("ConfigMap", '.metadata.labels["a.b"]', [("metadata", "labels", "a.b")]),
        ("Other", ".data.tls.crt", [("data", "tls", "crt")]),
    ],
)
def test_entries_of_config_maps_and_secrets_are_meant_however_they_are_written(
    kind: str, text: str, paths: list[t.Any]
) -> None:
    """A password that is changed on the member stays, whether the manifest calls it data or stringData."""
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": {"annotations": {"gitops.fleet/ignore": text}}}
    assert list(ignored_paths(manifest)) == paths


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (".spec.replicas", [("spec", "replicas")]),
        ("spec.replicas", [("spec", "replicas")]),
        (".spec.a, .spec.b\nspec.c", [("spec", "a"), ("spec", "b"), ("spec", "c")]),
        ('.metadata.labels["example.com/team"]', [("metadata", "labels", "example.com/team")]),
        (
            '.spec.ports[port=80,protocol="TCP"].nodePort',
            [("spec", "ports", (("port", 80), ("protocol", "TCP")), "nodePort")],
        ),
        (".spec.containers[name=web].image", [("spec", "containers", (("name", "web"),), "image")]),
        (' "*" '.replace('"', ""), [()]),
    ],
)
def test_paths_are_read_as_drift_shows_them(text: str, paths: list[t.Any]) -> None:
    assert list(ignored_paths(wanted(text))) == paths
    assert ignored_paths({"metadata": {}}) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " , ",
        "\x0b",
        7,
        "/spec/replicas",
        ".spec.containers[0].image",
        ".spec.x[",
        ".spec.x[a=" + "a=" * 500,
        ".status.x",
        ".metadata.name",
        ".metadata.labels",
        '.metadata.labels["applyset.kubernetes.io/part-of"]',
        "* .spec.replicas",
    ],
)
def test_anything_else_is_refused(text: t.Any) -> None:
    with pytest.raises(ValueError):
        ignored_paths(wanted(text))


def test_many_paths_cost_what_they_are_long() -> None:
    assert len(ignored_paths(wanted(", ".join(["spec.replicas"] * 50_000)))) == 50_000


def test_a_new_object_gets_all_of_its_manifest() -> None:
    assert without_left_alone(wanted(replicas=3), None, OURS) == wanted(replicas=3)


def test_what_others_own_is_left_out() -> None:
    there = live({"f:template": TEMPLATE}, {"f:replicas": {}})
    sent = without_left_alone(wanted(replicas=3), there, OURS)
    assert "replicas" not in sent["spec"] and sent["spec"]["template"] == wanted()["spec"]["template"]
    assert [each.path for each in drift(wanted(replicas=3), there, OURS)][0] == ".spec.replicas"
    assert ".spec.replicas" not in [each.path for each in drift(sent, there, OURS)]


def test_what_nobody_else_owns_yet_is_applied_as_it_is_found_since_a_server_would_remove_it() -> None:
    there = live({"f:replicas": {}, "f:template": TEMPLATE}, {})
    for desired in (wanted(replicas=3), wanted()):
        sent = without_left_alone(desired, there, OURS)
        assert sent["spec"]["replicas"] == 7 and given_up(sent, there, OURS) == ()
    assert [each.path for each in given_up(wanted(), there, OURS)] == [".spec.replicas"]


def test_an_item_of_a_list_is_found_by_its_keys() -> None:
    theirs = {"f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}}}}}}
    ours = {"f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}, "f:name": {}}}}}}
    path = '.spec.template.spec.containers[name="web"].image'
    there = live(ours, theirs)
    assert without_left_alone(wanted(path), there, OURS)["spec"]["template"]["spec"]["containers"] == [{"name": "web"}]
    new = wanted(path, template={"spec": {"containers": [{"name": "other", "image": "a"}]}})
    assert without_left_alone(new, there, OURS) == new


def test_below_what_is_only_replaced_as_a_whole_the_live_value_stays() -> None:
    desired = wanted(".spec.selector.tier", selector={"app": "web", "tier": "a"})
    for ours, theirs in (({"f:selector": {}}, {}), ({}, {"f:selector": {}})):
        there = live(ours, theirs, selector={"app": "web", "tier": "b"})
        assert without_left_alone(desired, there, OURS)["spec"]["selector"] == {"app": "web", "tier": "b"}


def test_of_a_map_only_what_is_ours_is_applied_again() -> None:
    there = live({"f:data": {"f:a": {}}}, {"f:data": {"f:b": {}}}, data={"a": "1", "b": "2"})
    assert without_left_alone(wanted(".spec.data", data={"a": "0", "b": "0"}), there, OURS)["spec"]["data"] == {
        "a": "1"
    }


def test_a_whole_object_is_applied_as_we_hold_it() -> None:
    """So that our label can be put back without anything else being given up or taken."""
    there = live({"f:template": TEMPLATE}, {"f:replicas": {}})
    sent = without_left_alone(wanted("*", replicas=3), there, OURS)
    assert sent["spec"] == {"template": wanted()["spec"]["template"]}
    assert given_up(sent, there, OURS) == () and sent["metadata"] == {"name": "web"}


def test_no_difference_is_left_where_something_is_ignored() -> None:
    there = live({}, {})
    for ignore in (".spec.replicas", "*"):
        desired = wanted(ignore, replicas=3)
        found = differences(as_live(desired, there, ignored_paths(desired)), there, full=True)
        assert ".spec.replicas" not in [each.path for each in found]


CONTAINERS = ".spec.template.spec.containers"
APP = {"name": "web", "image": "web:1"}
SIDECAR = {"name": "side", "image": "side:9"}


def pods(*containers: Document) -> Document:
    return {"template": {"spec": {"containers": list(containers)}}}


def owned(*names: str) -> Document:
    items = {f'k:{{"name":"{name}"}}': {".": {}, "f:image": {}, "f:name": {}} for name in names}
    return {"f:template": {"f:spec": {"f:containers": items}}}


def paths_of(found: t.Iterable[t.Any]) -> list[str]:
    return [each.path for each in found]


@pytest.mark.parametrize("trees", [({}, {}), (owned("web"), owned("side")), ({"f:template": {}}, {})])
@pytest.mark.parametrize("first", [True, False])
def test_an_item_that_only_one_has_is_no_difference(trees: tuple[Document, Document], first: bool) -> None:
    both = pods(SIDECAR, APP) if first else pods(APP, SIDECAR)
    path = f'{CONTAINERS}[name="side"], .spec.replicas'
    here, there = wanted(path, **pods(APP)), live(*trees, **both)
    assert differences(as_compared(here, there), there, full=True) == ()
    assert added_by_others(as_live(here, there, ignored_paths(here)), there, OURS) == ()
    here, there = wanted(path, **both), live(*trees, **pods(APP))
    assert differences(as_compared(here, there), there, full=True) == ()


def test_an_item_is_a_difference_for_all_but_the_field_that_is_ignored() -> None:
    path = f'{CONTAINERS}[name="side"].image, .spec.replicas'
    here, there = wanted(path, **pods(APP, SIDECAR)), live({}, {}, **pods(APP))
    (found,) = differences(as_compared(here, there), there, full=True)
    assert (found.path, found.desired) == (f'{CONTAINERS}[name="side"]', {"name": "side"})


@pytest.mark.parametrize(
    "desired, there, found",
    [
        ({"strategy": {"type": "a"}}, {}, []),
        ({"strategy": {"type": "a"}}, {"strategy": None}, []),
        ({}, {"strategy": {"type": "b"}}, []),
        ({"strategy": None}, {"strategy": {"type": "b"}}, []),
        ({"strategy": {"type": "a", "more": 1}}, {}, [{"more": 1}]),
        ({}, {"strategy": {"type": "b", "more": 1}}, [None]),
        ({"strategy": {}}, {}, [{}]),
    ],
)
def test_a_field_is_no_difference_where_one_lacks_all_around_it(
    desired: Document, there: Document, found: list[t.Any]
) -> None:
    here = wanted(".spec.strategy.type, .spec.replicas", **desired)
    standing = live({}, {}, **there)
    assert [each.desired for each in differences(as_compared(here, standing), standing, full=True)] == found


def test_what_is_taken_away_with_all_around_it_is_no_drift_and_is_not_made_again() -> None:
    ignore = f'.spec.strategy.type, {CONTAINERS}[name="side"]'
    here, there = wanted(ignore, strategy={"type": "a"}, **pods(APP, SIDECAR)), live(owned("web"), {})
    sent = without_left_alone(here, there, OURS)
    assert "strategy" not in sent["spec"] and sent["spec"]["template"] == pods(APP)["template"]
    assert not [each for each in paths_of(drift(sent, there, OURS)) if each.startswith(".spec")]


def test_what_is_made_again_is_made_as_a_whole() -> None:
    """A server takes no container without its image."""
    ignore = f'.spec.strategy.type, {CONTAINERS}[name="side"].image'
    here = wanted(ignore, strategy={"type": "a", "more": 1}, **pods(APP, SIDECAR))
    assert without_left_alone(here, live(owned("web"), {}), OURS) == here


def test_an_item_that_is_ours_alone_stays_when_the_manifest_does_not_name_it_any_more() -> None:
    here = wanted(f'{CONTAINERS}[name="side"]', **pods(APP))
    both = pods(APP, SIDECAR)
    there = live(owned("web", "side"), {}, **both)
    assert without_left_alone(here, there, OURS)["spec"] == both
    assert CONTAINERS not in "".join(paths_of(given_up(without_left_alone(here, there, OURS), there, OURS)))
    assert without_left_alone(here, live(owned("web"), owned("side"), **both), OURS)["spec"] == pods(APP)
    assert without_left_alone(here, live({"f:template": {}}, {}, **both), OURS)["spec"] == both


def test_the_last_item_leaves_no_empty_list_behind() -> None:
    here = wanted(f'{CONTAINERS}[name="side"]', **pods(SIDECAR))
    for there in (live(owned("x"), owned("web")), live(owned("x"), owned("side"), **pods(SIDECAR))):
        assert without_left_alone(here, there, OURS)["spec"]["template"] == {"spec": {}}
    assert without_left_alone(here, live({"f:template": {}}, {}), OURS)["spec"] == pods()


def test_the_only_field_of_a_map_stays_with_others_run_after_run() -> None:
    """Without it an empty map is applied, and the server calls it ours. That does not make its keys ours."""
    here = wanted(".spec.limits.cpu", limits={"cpu": "1"})
    theirs = {"f:limits": {"f:cpu": {}}}
    first = without_left_alone(here, live({"f:template": TEMPLATE}, theirs, limits={"cpu": "2"}), OURS)
    again = live({"f:template": TEMPLATE, "f:limits": {}}, theirs, limits={"cpu": "2"})
    assert first["spec"]["limits"] == without_left_alone(here, again, OURS)["spec"]["limits"] == {}
    assert ".spec.limits.cpu" not in paths_of(drift(without_left_alone(here, again, OURS), again, OURS))


def test_what_was_applied_empty_and_others_have_filled_stays_theirs() -> None:
    here = wanted(".spec.ports, .spec.limits", ports=[], limits={})
    theirs = {"f:ports": {'k:{"port":80}': {".": {}, "f:port": {}}}, "f:limits": {"f:cpu": {}}}
    there = live(
        {"f:template": TEMPLATE, "f:ports": {}, "f:limits": {}}, theirs, ports=[{"port": 80}], limits={"cpu": 1}
    )
    sent = without_left_alone(here, there, OURS)
    assert (sent["spec"]["ports"], sent["spec"]["limits"]) == ([], {})
    assert not [path for path in paths_of(drift(sent, there, OURS)) if "ports" in path or "limits" in path]


def test_an_item_leaves_out_a_key_that_servers_fill_in() -> None:
    key = 'k:{"port":80,"protocol":"TCP"}'
    here = wanted('.spec.ports[port=80,protocol="TCP"].nodePort', ports=[{"port": 80, "nodePort": 1}])
    there = live({"f:ports": {key: {".": {}, "f:port": {}}}}, {"f:ports": {key: {"f:nodePort": {}}}},
                 ports=[{"port": 80, "protocol": "TCP", "nodePort": 2}])  # fmt: skip
    assert without_left_alone(here, there, OURS)["spec"]["ports"] == [{"port": 80}]
    assert as_compared(here, there)["spec"]["ports"] == [{"port": 80, "nodePort": 2}]
