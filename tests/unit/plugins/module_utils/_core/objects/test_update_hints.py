# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What people are told about update strategies and runs besides that something is wrong."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.translations import english
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import STATES
from ansible_collections.gitops.fleet.tests.data.manifest_parts import member
from ansible_collections.gitops.fleet.tests.data.update_parts import (
    FULL,
    group,
    stage,
    update_run,
    update_strategy,
    with_status,
)


def problem(manifest):
    with pytest.raises(FleetError) as refused:
        read(manifest)
    return refused.value.problems[0]


def run_in(state):
    return with_status(update_run(), status={"state": state})


@pytest.mark.parametrize("field", ["kubernetesVersion", "nodeImageSelection", "upgrade"])
def test_d2_06_d3_20_versions_are_sent_to_the_run(field):
    for manifest in (
        update_strategy(stage(), **{field: "1.34"}),
        update_strategy(stage(**{field: "1.34"})),
        update_strategy(stage("one", group("a", **{field: "1.34"}))),
    ):
        assert "a strategy holds no versions" in problem(manifest).hint


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("Non d\u00e9marr\u00e9", "NotStarted"),
        ("En cours d\u2019ex\u00e9cution", "Running"),
        ("En attente", "Pending"),
        ("Ignor\u00e9", "Skipped"),
        ("Arr\u00eat\u00e9", "Stopped"),
        ("\u00c9chec", "Failed"),
        ("Pendiente", "Pending"),
        ("Omitido", "Skipped"),
        ("Detenido", "Stopped"),
        ("Error", "Failed"),
        ("completado", "Completed"),
        ("pending", "Pending"),
    ],
)
def test_d3_45_translated_states_are_refused_with_the_english_one(word, state):
    found = problem(run_in(word))
    assert found.code == "not-one-of"
    assert state in found.hint


def test_d3_44_eight_states():
    assert len(STATES) == 8
    for state in STATES:
        assert read(run_in(state)).object.status.status.state == state
    assert english("Completado", STATES) and not english("Completado", ("Skipped",))


def test_d3_45_translated_fields_are_refused_with_the_english_one():
    assert "write groups" in problem(update_strategy(stage(grupos=[]))).hint


def test_d3_28_an_image_version_is_sent_to_custom():
    assert "only for Custom" in problem(update_run(images={"type": "Latest", "version": "202309.26.0"})).hint


def test_numbers_in_messages():
    assert "not 51" in problem(update_strategy(stage("one", *(group(f"g{at}") for at in range(51))))).message  # D3-21
    assert "at most 50" in problem(update_strategy(stage(maxConcurrency="51"))).message
    assert "51 characters, 50 are allowed" in problem({**update_run(), "metadata": {"name": "r" * 51}}).message


def test_a_version_that_yaml_has_shortened_is_not_guessed():
    found = problem(update_run({**FULL, "kubernetesVersion": 1.3}))
    assert (found.code, found.hint) == ("wrong-type", "write it in quotes")


def test_d3_45_records_are_read_whatever_they_say():
    """A newer version may know more states; what is read back is not judged."""
    assert decode(UpdateRun, run_in("Paused")).status.status.state == "Paused"


def test_names_of_strategies_and_members():
    assert read(update_run(updateStrategyId="/fleets/f/updateStrategies/rings")).object.spec.strategy_name == "rings"
    assert read(update_run(updateStrategyId="rings")).object.spec.strategy_name == "rings"
    assert read(update_run()).object.spec.strategy_name == ""
    assert read(update_run()).object.spec.image_selection == "Latest"  # D3-30
    assert read(member({"inCluster": True}, group="eu-1")).object.spec.group == "eu-1"
