# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.node import (
    POOL_LABELS,
    node_facts,
    simulated_age,
)

CREATED = datetime(2026, 1, 15, 12, tzinfo=UTC)


def test_what_a_node_says_of_itself() -> None:
    found = node_facts(
        {
            "metadata": {"name": "n1", "labels": {"gitops.fleet/pool": "p", "node.kubernetes.io/instance-type": "big"}},
            "spec": {"unschedulable": True},
            "status": {
                "nodeInfo": {"kubeletVersion": "v1.34.2", "osImage": "Linux 1"},
                "conditions": [{"type": "Ready", "status": "True"}],
                "capacity": {"cpu": 4, "memory": "8Gi"},
                "allocatable": {"cpu": "3900m"},
            },
        },
        CREATED,
    )
    assert (found.name, found.pool, found.instance_type, found.created_at) == ("n1", "p", "big", CREATED)
    assert (found.version, found.image, found.ready, found.unschedulable) == ("v1.34.2", "Linux 1", True, True)
    assert (found.capacity, found.allocatable) == ({"cpu": "4", "memory": "8Gi"}, {"cpu": "3900m"})


def test_a_node_that_has_said_nothing_yet() -> None:
    found = node_facts({"metadata": {"name": "n1"}}, None)
    assert (found.pool, found.version, found.ready, found.capacity, found.created_at) == ("", "", False, {}, None)
    sick = {"metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    assert not node_facts(sick, None).ready


@pytest.mark.parametrize("label", POOL_LABELS)
def test_the_first_well_known_label_names_the_pool(label: str) -> None:
    assert node_facts({"metadata": {"name": "n", "labels": {label: "p"}}}, None).pool == "p"
    both = {label: "p", POOL_LABELS[0]: "first"}
    assert node_facts({"metadata": {"name": "n", "labels": both}}, None).pool == "first"


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("30d", timedelta(days=30)),
        ("12h30m", timedelta(hours=12, minutes=30)),
        ("1d2h3m4s", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("", timedelta()),
        ("soon", timedelta()),
        ("30", timedelta()),
        ("-1d", timedelta()),
        ("9999999d", timedelta()),
    ],
)
def test_a_simulated_node_is_older_than_its_object(text: str, age: timedelta) -> None:
    annotations = {"gitops.fleet/simulated-age": text}
    assert simulated_age(annotations) == age
    assert node_facts({"metadata": {"name": "n", "annotations": annotations}}, CREATED).created_at == CREATED - age


def test_without_the_annotation_or_a_creation_nothing_is_subtracted() -> None:
    assert node_facts({"metadata": {"name": "n", "annotations": None}}, CREATED).created_at == CREATED
    aged = {"metadata": {"name": "n", "annotations": {"gitops.fleet/simulated-age": "30d"}}}
    assert node_facts(aged, None).created_at is None


@pytest.mark.parametrize(
    "node",
    [
        {"metadata": {}},
        {"metadata": {"name": 7}},
        {"metadata": {"name": "n", "labels": ["a"]}},
        {"metadata": {"name": "n", "labels": {"gitops.fleet/pool": 7}}},
        {"metadata": {"name": "n"}, "status": []},
        {"metadata": {"name": "n"}, "status": {"nodeInfo": "x"}},
        {"metadata": {"name": "n"}, "status": {"nodeInfo": {"kubeletVersion": {}}}},
        {"metadata": {"name": "n"}, "status": {"conditions": {"Ready": "True"}}},
        {"metadata": {"name": "n"}, "status": {"capacity": ["cpu"]}},
        {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "canary"}}},
        {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "1" * 10_000}}},
        {"metadata": {"name": "n"}, "status": {"allocatable": {str(number): "1" for number in range(100)}}},
        {"metadata": {"name": "n" * 10_000}},
        {"metadata": {"name": "n", "annotations": {"gitops.fleet/simulated-age": "999999d" * 10_000}}},
        {"metadata": {"name": "n"}, "spec": "x"},
    ],
)
def test_what_is_no_node_is_refused(node: dict) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        node_facts(node, CREATED)
    assert len(str(caught.value)) < 200


def test_what_a_node_tells_is_fit_to_be_recorded() -> None:
    evil = "n\x1b[2J\n::error::x"
    node = {"metadata": {"name": evil, "labels": {"gitops.fleet/pool": evil}}, "status": {"capacity": {evil: "1"}}}
    found = node_facts(node, None)
    assert found.name == found.pool == next(iter(found.capacity)) == "n\\x1b[2J : :error::x"
