# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members in the order of a strategy, from manifests and from plain rows."""

from __future__ import annotations

import pytest
from ansible.utils.display import Display
from ansible_collections.gitops.fleet.plugins.filter.update_stages import FilterModule
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.templates.stages import (
    candidates_given,
    update_stages,
)

STAGES = [
    {"name": "canary", "groups": [{"name": "c"}], "afterStageWaitInSeconds": 600},
    {"name": "rest", "groups": [{"name": "gold", "memberSelector": {"byLabel": "tier=gold"}, "maxConcurrency": "50%"}]},
]

FILTERS = FilterModule().filters()


def objects(name, group="", **labels):
    return [
        {"kind": "FleetMember", "metadata": {"name": name}, "spec": {"group": group}},
        {"kind": "MemberCluster", "metadata": {"name": name, "labels": labels}, "spec": {}},
    ]


MEMBERS = [*objects("one", "c"), *objects("two", tier="gold"), *objects("three", tier="gold"), *objects("four")]
ROWS = [
    {"name": "one", "group": "c"},
    {"name": "two", "labels": {"tier": "gold"}},
    {"name": "three", "labels": {"tier": "gold"}},
    {"name": "four"},
]


@pytest.mark.parametrize("members", [MEMBERS, {"resources": MEMBERS}, ROWS], ids=["manifests", "k8s_info", "rows"])
@pytest.mark.parametrize(
    "strategy",
    [
        {"stages": STAGES},
        {"properties": {"strategy": {"stages": STAGES}}},
        {
            "apiVersion": "gitops.fleet/v1alpha1",
            "kind": "UpdateStrategy",
            "metadata": {"name": "waves"},
            "spec": {"strategy": {"stages": STAGES}},
        },
    ],
    ids=["json", "resource", "object"],
)
def test_stages_in_order_with_their_clusters(strategy, members):
    rows, warnings = update_stages(strategy, members)
    assert [(row["stage"], row["clusters"], row["wait_seconds"]) for row in rows] == [
        ("canary", ["one"], 600),
        ("rest", ["two", "three"], 0),
    ]
    assert rows[1]["serial"] == [1, 1]
    assert [each.message for each in warnings] == ["in no group, not updated: four"]


def test_without_a_strategy_all_go_one_by_one():
    rows, _warnings = update_stages(None, ROWS)
    assert [row["batches"] for row in rows] == [[["one"], ["two"], ["three"], ["four"]]]


@pytest.mark.parametrize(
    ("strategy", "members", "words"),
    [
        ({"stages": []}, ROWS, ["stages"]),
        ({"stages": [{"name": "a", "groups": [{"nom": "x"}]}]}, ROWS, ["groups[0].nom"]),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, ROWS, ["ConfigMap"]),
        ({"stages": STAGES}, [{"kind": "Node"}], ["members[0]", "'Node'"]),
        ({"stages": STAGES}, [{"group": "c"}, {"name": "x", "labels": []}], ["members[0].name", "members[1].labels"]),
        ({"stages": STAGES}, "one", ["members", "'one'"]),
        ({"stages": [*STAGES, {"name": "x", "groups": [{"name": "y", "memberSelector": {"byLabel": "tier"}}]}]}, ROWS,
         ["member two is in group gold of stage rest and in group y of stage x"]),
        ("waves", ROWS, ["waves"]),
    ],
)  # fmt: skip
def test_bad_input_is_named(strategy, members, words):
    with pytest.raises(FleetError) as caught:
        update_stages(strategy, members)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_a_warning_shows_no_characters_that_steer_a_terminal(monkeypatch: pytest.MonkeyPatch):
    heard: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda _self, text: heard.append(text))
    strategy = {"stages": [{"name": "a", "groups": [{"name": "b"}]}]}
    FILTERS["update_stages"](strategy, [{"name": "x\x1b[2J\n::error::x", "group": "q"}])
    assert heard and not any("\x1b" in each or "\n::" in each for each in heard)


def test_a_label_that_is_no_text_is_what_a_run_takes_it_for() -> None:
    """``canary: true`` of YAML is the label ``true``, and none at all where nothing stands behind it."""
    (found,) = candidates_given([{"name": "a", "labels": {"canary": True, "none": None, "tier": 1}}])
    assert found.labels == {"canary": "true", "tier": "1"}
