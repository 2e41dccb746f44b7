# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A finished run once more; D3-81."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import (
    NodeImageSelectionStatus,
    SelectedNodeImageVersion,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import (
    UpdateRunStrategy,
    UpdateStage,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.integrity import STRATEGY
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.digest import strategy_digest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.retry import (
    follow_up,
    made_good_by,
    retry_name,
    superseded_by,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.strategy import (
    Candidate,
    candidates_of_run,
    resolve,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import SELF_APPROVAL
from ansible_collections.gitops.fleet.tests.data.update_parts import group, stage, update_run
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    UID,
    Play,
    at,
    changed,
    played,
)

STAGES = {"stages": [stage("s", group("g", maxAllowedFailures="1"), maxAllowedFailures="1"), stage("t", group("h"))]}


def finished(**spec: t.Any) -> UpdateRun:
    """Of four members one failed, within the limit, and one was skipped."""
    play = played("s{g:a,b,c}, t{h:d}")
    for node in ("s", "g"):
        play.run = changed(play.run, node, max_allowed_failures=1)
    play.start().fails("a").skip("Member:c").ends("b").ends("d")
    return recorded(play, **spec)


def recorded(play: Play, **spec: t.Any) -> UpdateRun:
    run = read(update_run(**{"strategy": STAGES, **spec})).object
    assert isinstance(run, UpdateRun)
    frozen = replace(run.status, strategy=run.spec.strategy, target_version="1.34.2")
    return replace(run, status=status_of(play.run, play.status, frozen))


def test_d3_81_failed_and_skipped_members_with_a_reference() -> None:
    before = finished()
    run = follow_up(before, "again")
    assert (run.name, run.spec.retry_of, run.spec.members) == ("again", "release-7", ("a", "c"))
    assert run.status.status.state == "NotStarted"
    fleet = [Candidate(name=name, group=group) for name, group in (("a", "g"), ("b", "g"), ("c", "g"), ("d", "h"))]
    rows = resolve(run.spec.strategy, candidates_of_run(fleet, run.spec.members), UID).stages
    assert [[row.name for row in group.members] for stage in rows for group in stage.groups] == [["a", "c"], []]
    assert candidates_of_run(fleet, ()) == tuple(fleet)


def test_the_target_is_the_one_that_was_frozen() -> None:
    before = finished(upgrade={"type": "Full", "kubernetesVersion": "1.34"})
    assert follow_up(before, "again").spec.managed_cluster_update.upgrade.kubernetes_version == "1.34.2"


def test_the_sequence_is_the_copy_and_not_what_the_strategy_says_now() -> None:
    copied = finished().spec.strategy
    run = follow_up(named(copied), "again")
    assert run.spec.strategy == copied and run.spec.update_strategy_id == ""


def named(strategy: UpdateRunStrategy | None, **annotations: str) -> UpdateRun:
    """Of a run that names its strategy only the status tells what that was."""
    before = finished(strategy=None, updateStrategyId="rings")
    held = annotations or {STRATEGY: strategy_digest(finished().spec.strategy)}
    metadata = replace(before.metadata, annotations=held)
    return replace(before, metadata=metadata, status=replace(before.status, strategy=strategy))


def test_a_strategy_that_only_the_status_tells_is_not_believed() -> None:
    """Whoever may write it could take gates out of it and raise its limits."""
    without_limits = UpdateRunStrategy(stages=(UpdateStage(name="s", max_concurrency="50"),))
    copied = finished().spec.strategy
    for before in (named(without_limits), named(None), named(copied, other="x"), named(None, other="x")):
        with pytest.raises(FleetError) as refused:
            follow_up(before, "again")
        assert refused.value.code == "strategy-unproven" and "spec.retryOf" in refused.value.hint
    inline = finished()
    doctored = replace(inline, status=replace(inline.status, strategy=without_limits))
    assert follow_up(doctored, "again").spec.strategy == inline.spec.strategy


def test_images_of_custom_are_those_of_the_spec() -> None:
    """The digest covers none that the status tells."""
    custom = {"type": "Custom", "customNodeImageVersions": [{"version": "U-7"}]}
    before = finished(upgrade={"type": "NodeImageOnly"}, images=custom)
    written = NodeImageSelectionStatus(selected_node_image_versions=(SelectedNodeImageVersion(version="U-1"),))
    before = replace(before, status=replace(before.status, node_image_selection=written))
    again = follow_up(before, "again").spec.managed_cluster_update.node_image_selection
    assert again == before.spec.managed_cluster_update.node_image_selection


def test_images_that_were_fixed_are_named() -> None:
    fixed = NodeImageSelectionStatus(selected_node_image_versions=(SelectedNodeImageVersion(version="U-7"),))
    before = finished(upgrade={"type": "NodeImageOnly"}, images={"type": "Consistent"})
    before = replace(before, status=replace(before.status, node_image_selection=fixed, target_version=""))
    selection = follow_up(before, "again").spec.managed_cluster_update.node_image_selection
    assert selection and selection.type == "Custom"
    assert [each.version for each in selection.custom_node_image_versions] == ["U-7"]
    latest = follow_up(finished(images={"type": "Latest"}), "again").spec.image_selection
    assert latest == "Latest"


@pytest.mark.parametrize(
    "upgrade", [None, {"type": "NodeImageOnly"}, {"type": "ControlPlaneOnly", "kubernetesVersion": "1.34"}]
)
def test_it_is_a_good_manifest(upgrade: t.Any) -> None:
    run = follow_up(finished(upgrade=upgrade), "again")
    assert read(encode(run), strict=True).object == run


def test_d2_07_a_run_that_is_not_finished_is_started_again_instead() -> None:
    for play in (played("s{g:a,b}"), played("s{g:a,b}").start(), played("s{g:a,b}").start().fails("a")):
        with pytest.raises(FleetError) as refused:
            follow_up(recorded(play), "again")
        assert refused.value.code == "conflict-state"
        assert play.status.state in refused.value.message
        assert "start it again" in refused.value.hint
        assert f"gitops.fleet.update -e run={recorded(play).name} -e restart=true" in refused.value.hint


def test_what_the_status_says_of_the_whole_run_is_not_believed() -> None:
    going = recorded(played("s{g:a,b}").start().fails("a"))
    told = replace(going.status, status=replace(going.status.status, state="Completed"))
    with pytest.raises(FleetError) as refused:
        follow_up(replace(going, status=told), "again")
    assert refused.value.code == "conflict-state"


def test_it_keeps_the_terms_of_approvals() -> None:
    """F18."""
    before = finished()
    assert follow_up(before, "again").metadata.annotations == {}
    kept = {SELF_APPROVAL: "false", "other": "x"}
    before = replace(before, metadata=replace(before.metadata, annotations=kept))
    assert follow_up(before, "again").metadata.annotations == {SELF_APPROVAL: "false"}


def test_nothing_to_retry() -> None:
    with pytest.raises(FleetError) as refused:
        follow_up(recorded(played("s{g:a}").start().ends("a")), "again")
    assert refused.value.code == "nothing-to-retry"


@pytest.mark.parametrize(
    ("name", "again", "wanted"),
    [
        ("web", False, "web-retry"),
        ("web-retry", False, "web-retry-retry"),
        ("web-retry", True, "web-retry-2"),
        ("web-retry-9", True, "web-retry-10"),
        ("w" * 50, False, "w" * 44 + "-retry"),
        ("other", True, "other-retry"),
    ],
)
def test_the_name_counts_retries_of_retries(name: str, again: bool, wanted: str) -> None:
    before = finished(**({"retryOf": "web"} if again else {}))
    assert retry_name(replace(before, metadata=replace(before.metadata, name=name))) == wanted


def retry(of: str, name: str, *failed: str) -> UpdateRun:
    """The finished retry of that run, for a and c, of which some failed again."""
    play = played("s{g:a,c}")
    for node in ("s", "g"):
        play.run = changed(play.run, node, max_allowed_failures=2)
    play.start()
    for member in "ac":
        (play.fails if member in failed else play.ends)(member)
    run = recorded(play, retryOf=of, members=["a", "c"])
    return replace(run, metadata=replace(run.metadata, name=name))


def test_d3_81_a_run_is_made_good_by_the_retry_that_leaves_nobody_behind() -> None:
    before, again = finished(), retry("release-7", "release-7-retry", "a")
    last = retry(again.name, "release-7-retry-2")
    assert made_good_by(before, [before]) == made_good_by(before, [before, again]) == ""
    assert made_good_by(before, [before, again, last]) == made_good_by(again, [before, again, last]) == last.name
    assert made_good_by(last, [before, again, last]) == ""
    circle = [retry("x", "y", "a"), retry("y", "x", "a")]
    assert made_good_by(circle[0], circle) == ""


def test_of_two_retries_of_one_run_the_one_made_last_counts_whatever_they_are_called() -> None:
    before, older, newer = finished(), retry("release-7", "z-by-hand", "a"), retry("release-7", "a-by-hand")
    runs = [
        replace(each, metadata=replace(each.metadata, creation_timestamp=at(minute)))
        for minute, each in enumerate((before, older, newer))
    ]
    assert made_good_by(before, sorted(runs, key=lambda each: each.name)) == "a-by-hand"


def made(name: str, minute: int, play: Play, version: str = "1.34.2", kind: str = "Full") -> UpdateRun:
    run = recorded(play, managedClusterUpdate={"upgrade": {"type": kind, "kubernetesVersion": version}})
    return replace(run, metadata=replace(run.metadata, name=name, creation_timestamp=at(60 * minute)))


def test_a_failed_run_is_superseded_by_the_last_started_one_that_takes_whom_it_left_as_far() -> None:
    """Whom the failed run has brought there already does not count."""
    failed = made("old", 1, played("s{g:x,a,b}").start().ends("x").fails("a"))
    assert failed.status.status.state == "Failed"
    going = made("going", 2, played("s{g:a,b}").start(), "1.34.3")
    ended = made("ended", 3, played("s{g:b,a}").start().ends("b").ends("a"))
    assert superseded_by(failed, [failed, ended, going]) == ended and superseded_by(failed, [going, failed]) == going
    assert superseded_by(going, [failed, ended, going]) is None, "it has not failed"


@pytest.mark.parametrize(
    "other",
    [
        ("new", 0, played("s{g:a,b}").start()),
        ("new", 2, played("s{g:a,b}")),
        ("new", 2, played("s{g:a}").start()),
        ("new", 2, played("s{g:a,b}").start(), "1.34.1"),
        ("new", 2, played("s{g:a,b}").start(), "1.34.2", "ControlPlaneOnly"),
    ],
    ids=["made before", "not started", "of some alone", "to an older version", "less is upgraded"],
)
def test_no_other_run_stands_for_one_that_failed(other: t.Any) -> None:
    failed = made("old", 1, played("s{g:a,b}").start().fails("a"))
    assert superseded_by(failed, [failed, made(*other)]) is None
