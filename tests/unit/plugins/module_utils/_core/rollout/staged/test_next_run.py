# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which staged run gives what an apply has recorded, by files and records."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.key import PlacementKey
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import (
    ClusterStagedUpdateRun,
    StagedUpdateRun,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.next_run import (
    KnownRuns,
    NextRun,
    next_run,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

WEB = PlacementKey("", "web")
AT = "2026-08-01T10:00:00Z"
BEGUN = {"type": "Initialized", "status": "True", "reason": "r", "message": "", "lastTransitionTime": AT}
ENDED = {"type": "Succeeded", "status": "True", "reason": "r", "message": "", "lastTransitionTime": AT}
RINGS = ("waves",)


def runs(*made: ClusterStagedUpdateRun) -> dict[str, ClusterStagedUpdateRun]:
    return {str(each.key): each for each in made}


def run(name: str, *conditions: dict[str, t.Any], used: str = "", namespace: str = "", **spec: t.Any) -> t.Any:
    wanted = {"placementName": "web", "stagedRolloutStrategyName": "waves", **spec}
    cls = StagedUpdateRun if namespace else ClusterStagedUpdateRun
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    status = {"resourceSnapshotIndexUsed": used, "conditions": list(conditions)}
    return decode(cls, {"kind": cls.__name__, "metadata": metadata, "spec": wanted, "status": status})


@pytest.mark.parametrize(
    "known",
    [
        KnownRuns(written=runs(run("one"))),
        KnownRuns(written=runs(run("one"), run("other", placementName="till"), run("back", resourceSnapshotIndex="0"))),
        KnownRuns(written=runs(run("one"), run("old")), recorded=runs(run("old", BEGUN, ENDED, used="1"))),
        KnownRuns(written=runs(run("one"), run("old")), recorded=runs(run("old", BEGUN, used="1"))),
        KnownRuns(recorded=runs(run("one", BEGUN, used="2"), run("old", BEGUN, ENDED, used="1"))),
        KnownRuns(written=runs(run("one")), recorded=runs(run("idle"))),
    ],
    ids=["in a file", "of others, and back", "one that has ended", "one with an older content", "recorded", "both"],
)
def test_the_one_that_gives_it_is_named(known: KnownRuns) -> None:
    assert next_run(WEB, 2, known) == NextRun(placement="web", run="one")


@pytest.mark.parametrize("namespace", ["", "shop"])
def test_without_any_a_new_one_goes_by_the_strategy_of_the_last(namespace: str) -> None:
    old = run("web-1", BEGUN, ENDED, used="1", namespace=namespace)
    made = next_run(PlacementKey(namespace, "web"), 2, KnownRuns(recorded=runs(old)))
    assert made is not None and made.definition is not None
    found = read(made.definition).object
    assert isinstance(found, ClusterStagedUpdateRun)
    assert made.run == str(found.key) == str(old.key).replace("web-1", "web-2")
    assert (found.placement_key, found.strategy_record_name) == (old.placement_key, old.strategy_record_name)


def test_the_only_strategy_in_the_files_is_taken_where_nothing_has_run() -> None:
    made = next_run(WEB, 0, KnownRuns(strategies=RINGS))
    assert made is not None and made.definition is not None and made.run == "web-1"
    assert made.definition["spec"] == {"placementName": "web", "stagedRolloutStrategyName": "waves"}


@pytest.mark.parametrize(
    "known",
    [
        KnownRuns(),
        KnownRuns(written=runs(run("one"), run("two")), strategies=RINGS),
        KnownRuns(strategies=("shop/waves",)),
        KnownRuns(strategies=("waves", "rings")),
    ],
    ids=["nothing", "two runs", "in a namespace", "two strategies"],
)
def test_nothing_is_guessed(known: KnownRuns) -> None:
    assert next_run(WEB, 0, known) is None
