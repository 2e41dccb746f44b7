# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Auto-upgrade channels and profiles; D3-83...D3-104, D3-113, scenario 25."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.auto_upgrade_profile import (
    AutoUpgradeProfile,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.channel_table import CHANNELS, Channel
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.profiles.auto_upgrade import (
    Evaluation,
    Reason,
    evaluate,
    run_for_review,
    status_after,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.profiles.channels import goal
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.profiles.levelling import levelling
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.node_images import Cluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.releases import Releases
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import target_of, upgrade_work
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberBlocker, RunState
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.strategy import Candidate, resolve
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import profile as written
from ansible_collections.gitops.fleet.tests.data.manifest_parts import named
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    UID,
    Play,
    changed,
    played,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.offered import (
    NOW,
    cluster,
    deprecated,
    ga,
    known,
    offering,
    place,
    pool,
    preview,
)

RELEASED = known(place("*", [*ga("1.29.9", "1.30.5"), *preview("1.31.0")]))
LATER = known(place("*", [*ga("1.29.9", "1.30.5", "1.31.1"), *preview("1.32.0")]))
M = cluster("1.29.3", name="m")


def profile(channel: str = "Stable", name: str = "stable", **spec: t.Any) -> AutoUpgradeProfile:
    found = read(named(written(channel, **spec), name=name)).object
    assert isinstance(found, AutoUpgradeProfile)
    return found


def version(channel: str, given: Releases, *members: Cluster, **spec: t.Any) -> str:
    return goal(profile(channel, **spec).spec, members or (M,), given, NOW).version


def laid_out(run: UpdateRun, *members: str) -> UpdateRun:
    """As it is recorded once it was created."""
    rows = resolve(None, [Candidate(name=each) for each in members], UID).stages
    state = RunState(name=run.name, uid=UID, stages=rows)
    status = replace(run.status, target_version=run.spec.managed_cluster_update.upgrade.kubernetes_version)
    return replace(run, status=status_of(state, derive(state), status))


def ended(run: UpdateRun, play: Play) -> UpdateRun:
    return replace(run, status=status_of(play.run, play.status, run.status))


# Channels


def test_25_d3_98_d3_101_stable_and_rapid() -> None:
    assert version("Stable", RELEASED) == "1.29.9"
    assert version("Rapid", RELEASED) == "1.30.5"
    assert version("Stable", LATER) == "1.30.5"
    assert version("Rapid", LATER) == "1.31.1"


def test_d3_93_a_preview_changes_nothing() -> None:
    without = offering("1.29.9", "1.30.5")
    assert [version(channel, without) for channel in ("Stable", "Rapid")] == ["1.29.9", "1.30.5"]


@pytest.mark.parametrize(
    ("channel", "published", "target"),
    [("Stable", "1.29.10", "1.29.10"), ("Rapid", "1.30.6", "1.30.6"), ("Stable", "1.30.6", "1.29.9")],
)
def test_d3_99_d3_102_each_new_patch_is_a_target(channel: str, published: str, target: str) -> None:
    assert version(channel, offering("1.29.9", "1.30.5", published)) == target


def test_d3_100_d3_103_a_new_minor_moves_both() -> None:
    found = offering("1.29.9", "1.30.5", "1.31.0")
    assert (version("Rapid", found), version("Stable", found)) == ("1.31.0", "1.30.5")


def test_deprecated_patches_are_not_chosen() -> None:
    found = known(place("*", [*ga("1.29.9", "1.30.5"), *deprecated("1.30.6", "1.29.10")]))
    assert (version("Rapid", found), version("Stable", found)) == ("1.30.5", "1.29.9")


def test_a_pinned_minor_is_kept_to() -> None:
    found = offering("1.29.9", "1.30.5", "1.31.0")
    assert version("TargetKubernetesVersion", found, targetKubernetesVersion="1.30") == "1.30.5"
    with pytest.raises(FleetError) as refused:
        version("TargetKubernetesVersion", found, targetKubernetesVersion="1.32")
    assert refused.value.code == "no-such-release"
    assert "no patch of 1.32 is generally available; the newest version is v1.31.0" in refused.value.message


def test_a_channel_of_which_there_is_no_release() -> None:
    with pytest.raises(FleetError, match="no patch of 1.30"):
        version("Stable", offering("1.29.9", "1.31.0"))
    with pytest.raises(FleetError, match="no version is generally available"):
        version("Stable", Releases())


def test_members_whose_platform_no_catalogue_describes_are_told_so() -> None:
    with pytest.raises(FleetError, match="there is no ReleaseCatalog for members without a provider, provider gcp"):
        version("Stable", Releases(), M, cluster("1.29.3", name="n", provider="gcp"))


def test_members_of_whose_images_no_catalogue_tells_are_not_just_up_to_date() -> None:
    found = made(profile("NodeImage"), members=[cluster("1.29.9", pool("1.29.9", "5"))])
    assert [(each.code, each.member) for each in found.reasons] == [("ImageMissingForPool", "m"), ("UpToDate", "")]
    assert "no image of U" in found.reasons[0].message


@pytest.mark.parametrize("channel", ["Stable", "NodeImage"])
def test_a_profile_that_takes_no_member_wants_no_release(channel: str) -> None:
    found = made(profile(channel), RELEASED, members=[])
    assert [(each.code, each.message) for each in found.reasons] == [("UpToDate", "it takes no member of the fleet")]
    assert status_after(profile(channel), found, NOW).last_trigger_status == ""


def test_d3_86_channels_are_data() -> None:
    older = replace(profile("Rapid").spec, channel="Older")
    table = {**CHANNELS, "Older": Channel("Older", minors_back=2)}
    found = offering("1.29.9", "1.30.5", "1.31.0")
    assert goal(older, [M], found, NOW, table).version == "1.29.9"
    with pytest.raises(FleetError) as refused:
        goal(older, [M], found, NOW)
    assert refused.value.code == "unknown-channel"
    assert "Stable, Rapid, NodeImage" in refused.value.hint


def test_d3_90_d3_91_types_of_runs() -> None:
    images = known(place("*", ga("1.29.9", "1.30.5"), U=["7"]))
    member = cluster("1.29.3", pool("1.29.3", "5"))
    full = goal(profile("Stable").spec, [member], images, NOW)
    assert (full.type, full.version, full.selection) == ("Full", "1.29.9", "Latest")
    only = goal(profile("NodeImage").spec, [member], images, NOW)
    assert (only.type, only.version, only.selection) == ("NodeImageOnly", "", "Consistent")


def test_security_patches_are_for_linux_alone() -> None:
    fixes = [{"version": "7.1", "security": True}, "8.0"]
    families = [
        {"family": "U", "versions": [each if isinstance(each, dict) else {"version": each} for each in fixes]},
        {"family": "W", "os": "Windows", "versions": [{"version": "7.2", "security": True}]},
    ]
    found = known({"name": "*", "images": families})
    member = cluster("1.29.3", pool("1.29.3", "7.0"), pool("1.29.3", "7.0", "win", "W"))
    made = evaluate(profile("SecurityPatch", "patches"), found, [member], [], NOW)
    assert made.run
    update = made.run.spec.managed_cluster_update
    assert update.upgrade.type == "NodeImageOnly"
    selection = update.node_image_selection
    assert selection and [each.version for each in selection.custom_node_image_versions] == ["U-7.1"]
    assert [step.pool for step in upgrade_work(member, target_of(made.run), found, NOW).steps] == ["p"]


def test_several_platforms_get_a_version_that_each_has() -> None:
    members = (replace(M, provider="a"), replace(M, provider="b"), replace(M, provider="unknown"))
    one, other = (
        known(place("*", ga("1.29.9", "1.30.5", "1.30.6")), provider="a"),
        known(place("*", ga("1.29.9", "1.30.5")), provider="b"),
    )
    both = Releases({**one.places, **other.places})
    assert version("Rapid", both, *members) == "1.30.5"


def test_builds_of_vendors_are_the_version_that_they_are_of() -> None:
    """The target of a run is x.y.z, which no two vendors build alike; each platform has its own build of it."""
    own, other = (
        known(place("*", ga(*versions)), provider=provider)
        for provider, versions in (
            ("a", ("1.33.9-gke.1", "1.34.1-gke.1000", "1.34.1-gke.2000")),
            ("b", ("1.34.0+k3s1", "1.34.1+k3s1", "1.33.9+k3s1", "1.33.9")),
        )
    )
    members = (replace(M, provider="a", version="v1.33.9-gke.1"), replace(M, provider="b", version="v1.33.8+k3s1"))
    both = Releases({**own.places, **other.places})
    assert version("Rapid", both, *members) == "1.34.1"
    assert version("Stable", both, *members) == "1.33.9"
    assert version("TargetKubernetesVersion", own, members[0], targetKubernetesVersion="1.34") == "1.34.1"
    found = made(profile("Rapid"), both, members=members)
    assert found.run and read(encode(found.run), strict=True).object == found.run
    work_of = [upgrade_work(each, target_of(found.run), both, NOW) for each in members]
    assert [(each.skip, each.fail, each.obstacles) for each in work_of] == [(None, None, ())] * 2
    current = [
        replace(each, version=f"v1.34.1{suffix}") for each, suffix in zip(members, ("-gke.1000", "+k3s1"), strict=True)
    ]
    assert made(profile("Rapid"), both, members=current).run is None
    proposed = levelling([replace(members[0], version="v1.32.1-gke.7")], "1.34.1", own, NOW)
    assert [each.version for each in proposed] == ["1.33.9"]


# Runs that profiles make


def made(given: AutoUpgradeProfile, found: Releases = RELEASED, *runs: UpdateRun, members: t.Any = (M,)) -> Evaluation:
    return evaluate(given, found, members, runs, NOW)


def test_25_one_run_each_created_and_started_named_by_the_target() -> None:  # D3-83
    stable, rapid = (
        made(profile(each, each.lower()), LATER, members=[cluster("1.30.1")]) for each in ("Stable", "Rapid")
    )
    assert stable.run and rapid.run and stable.start and rapid.start
    assert stable.run.name.startswith("stable-1-30-5-")
    assert rapid.run.name.startswith("rapid-1-31-1-")
    assert stable.run.spec.managed_cluster_update.upgrade.kubernetes_version == "1.30.5"
    assert stable.run.spec.auto_upgrade_profile_id == "stable"


def test_generated_runs_are_good_manifests() -> None:
    images = known(place("*", ga("1.29.9", "1.30.5"), U=["7"]))
    for channel in CHANNELS:
        spec = {"targetKubernetesVersion": "1.29"} if channel == "TargetKubernetesVersion" else {}
        found = evaluate(profile(channel, **spec), images, [cluster("1.29.3", pool("1.29.3", "5"))], [], NOW).run
        if found:
            assert read(encode(found), strict=True).object == found


def test_a_version_with_consistent_images_is_a_goal_for_members_with_node_pools() -> None:
    """Its images are those that the run would fix now. A newer one alone makes no other run, and a member without one
    is named."""
    stable, m = (
        profile(nodeImageSelection={"type": "Consistent"}),
        cluster("1.29.3", pool("1.29.3", image="1"), name="m"),
    )
    given, newer = (known(place("*", ga("1.29.9", "1.30.5"), U=images)) for images in (["1", "2"], ["2", "3"]))
    found, later = (evaluate(stable, each, [m], [], NOW) for each in (given, newer))
    assert found.behind == ("m",) and found.run and later.run and found.run.name == later.run.name
    other = cluster("1.29.3", pool("1.29.3", image="1", family="W"), name="n")
    found = evaluate(stable, given, [m, other], [], NOW)
    assert found.behind == ("m",) and [(each.code, each.member) for each in found.reasons] == [
        ("ImageMissingForPool", "n")
    ]


def test_d3_87_d3_88_strategy_and_selection_go_into_the_run() -> None:
    found = made(profile(updateStrategyId="rings", nodeImageSelection={"type": "Consistent"})).run
    assert found and found.spec.update_strategy_id == "rings" and found.spec.image_selection == "Consistent"
    plain = made(profile()).run
    assert plain and plain.spec.update_strategy_id == "" and plain.spec.strategy is None
    rows = laid_out(plain, "m", "n").status.stages
    assert [len(each.groups[0].members) for each in rows] == [2], "one group, one after another"
    assert rows[0].groups[0].max_concurrency == 1


def test_25_generate_twice_gives_the_same_run() -> None:
    first = run_for_review(profile(), RELEASED, [M], [], NOW)
    assert first.run and not first.start
    kept = laid_out(first.run, "m")
    assert kept.status.status.state == states.NOT_STARTED
    again = run_for_review(profile(), RELEASED, [M], [kept], NOW)
    assert again.run is None and again.existing == first.run.name
    # Evaluation leaves it to those who review it.
    found = made(profile(), RELEASED, kept)
    assert found.run is None and found.existing == first.run.name


def test_25_d3_97_a_disabled_profile_makes_no_run_and_catches_up_once() -> None:
    assert [each.code for each in made(profile(disabled=True)).reasons] == ["Disabled"]
    found = made(profile())
    assert found.run and found.start, "no new release was needed"
    going = ended(laid_out(found.run, "m"), played("s{g:m}").start())
    again = made(profile(), RELEASED, going)
    assert again.run is None and [each.code for each in again.reasons] == ["RunExists"]


def test_a_run_whose_maker_did_not_live_to_start_it_is_started() -> None:
    """Nothing else carries a run on that is NotStarted: its profile would make no other one for good."""
    first = made(profile()).run
    assert first
    for left in (first, laid_out(first, "m")):
        again = made(profile(), RELEASED, left)
        assert again.run == first and again.start and again.behind == ("m",)
        assert run_for_review(profile(), RELEASED, [M], [left], NOW).run is None
        assert made(profile(disabled=True), RELEASED, left).run is None


def test_a_member_that_is_current_needs_no_run() -> None:
    assert made(profile(), members=[cluster("1.29.9")]).run is None
    assert [each.code for each in made(profile(), members=[cluster("1.29.9")]).reasons] == ["UpToDate"]


def test_25_d3_113_a_member_that_is_too_far_is_not_moved() -> None:
    far, near = cluster("1.28.9", name="far"), cluster("1.29.9", name="near")
    found = made(profile("Rapid"), RELEASED, members=[far, near])
    assert found.run and found.behind == ("near",)
    assert [(each.code, each.member) for each in found.reasons] == [(states.MINOR_GAP, "far")]
    # In the run it is skipped when its turn comes.
    goal_of_run = target_of(laid_out(found.run, "far", "near"))
    play = played("s{g:far,near}").sees("far", skip=upgrade_work(far, goal_of_run, RELEASED, NOW).skip).start()
    assert play.tree == "R[s R{g R:farK nearR}]"
    assert play.member("far").reason == states.MINOR_GAP
    alone = made(profile("Rapid"), RELEASED, members=[far])
    assert alone.run is None and [each.code for each in alone.reasons] == [states.MINOR_GAP, "UpToDate"]


def test_25_a_member_on_1_28_under_1_31_1() -> None:
    found = made(profile("Rapid"), LATER, members=[cluster("1.28.9")])
    assert found.run is None and found.reasons[0].code == states.OUT_OF_SUPPORT


def test_a_member_of_unknown_version_is_told() -> None:
    found = made(profile(), members=[cluster(""), M])
    assert found.run and [each.code for each in found.reasons] == ["VersionUnknown"]


def test_d3_97_a_member_that_joined_later_gets_a_run_of_its_own() -> None:
    first = made(profile()).run
    assert first
    play = played("s{g:m}").start().ends("m")
    done = ended(laid_out(first, "m"), play)
    late = cluster("1.29.1", name="late")
    found = made(profile(), RELEASED, done, members=[cluster("1.29.9", name="m"), late])
    assert found.run and found.run.name == f"{first.name}-2"
    assert found.run.spec.members == ("late",)
    third = made(profile(), RELEASED, done, ended(found.run, played("s{g:late}").start().ends("late")), members=[late])
    assert third.run is None, "it had its run"


def test_a_member_that_was_left_out_for_a_gap_is_taken_up_once_it_is_level() -> None:
    first = made(profile("Rapid"), members=[cluster("1.29.9", name="a")]).run
    assert first
    far = cluster("1.28.9", name="b")
    play = played("s{g:a,b}").sees(
        "b", skip=upgrade_work(far, goal(profile("Rapid").spec, [far], RELEASED, NOW), RELEASED, NOW).skip
    )
    done = ended(laid_out(first, "a", "b"), play.start().ends("a"))
    assert made(profile("Rapid"), RELEASED, done, members=[far]).run is None
    found = made(profile("Rapid"), RELEASED, done, members=[replace(far, version="1.29.9")])
    assert found.run and found.run.spec.members == ("b",)


def test_a_member_that_failed_is_for_people() -> None:
    first = made(profile()).run
    assert first
    play = played("s{g:m}")
    play.run = changed(play.run, "s", max_allowed_failures=1)
    play.run = changed(play.run, "g", max_allowed_failures=1)
    done = ended(laid_out(first, "m"), play.start().fails("m"))
    assert done.status.status.state == states.COMPLETED
    found = made(profile(), RELEASED, done)
    assert found.run is None and "try those again that failed" in found.reasons[-1].message
    failed = ended(laid_out(first, "m"), played("s{g:m}").start().fails("m"))
    assert made(profile(), RELEASED, failed).reasons[-1].message == f"run {first.name} is Failed"


HOUR = timedelta(hours=1)
DONE = played("s{g:m}").start().ends("m")
UNREACHABLE = played("s{g:m}").sees("m", skip=MemberBlocker(reason=states.UNREACHABLE, message="no answer")).start()


IMAGELESS = played("s{g:m}").sees("m", skip=MemberBlocker(reason=states.IMAGE_MISSING_FOR_POOL, message="none")).start()


@pytest.mark.parametrize("play", [DONE, UNREACHABLE, IMAGELESS], ids=["completed", "unreachable", "without image"])
@pytest.mark.parametrize(("read", "again"), [(None, False), (-HOUR, False), (HOUR, True)])
def test_a_member_that_is_behind_again_is_taken_up_once_it_was_read_after_its_run(
    play: Play, read: timedelta | None, again: bool
) -> None:
    """It was rebuilt at the old version, or answers again. What was read before tells nothing of that."""
    first = made(profile()).run
    assert first
    done = ended(laid_out(first, "m"), play)
    ended_at = done.status.members[0].status.completed_time
    assert ended_at and done.status.status.state in (states.COMPLETED, states.SKIPPED)
    found = made(profile(), RELEASED, done, members=[replace(M, read=ended_at + read if read else None)])
    assert (found.run.name if found.run else "") == (f"{first.name}-2" if again else "")
    assert again or "read the members again" in found.reasons[-1].message, "nothing failed that could be tried again"


def test_a_member_of_which_facts_and_runs_tell_different_versions_is_judged_anew_once() -> None:
    """Every tick reads it again, and would upgrade it again without end."""
    runs: list[UpdateRun] = []
    for number in ("", "-2"):
        found = made(profile(), RELEASED, *runs, members=[read_after(runs)]).run
        assert found and found.name.endswith(number)
        runs.append(ended(laid_out(found, "m"), DONE))
    settled = made(profile(), RELEASED, *runs, members=[read_after(runs)])
    assert (settled.run, settled.existing) == (None, runs[-1].name)


@pytest.mark.parametrize("play", [UNREACHABLE, IMAGELESS], ids=["unreachable", "without image"])
def test_a_member_that_answers_facts_and_no_run_has_three(play: Play) -> None:
    """Its driver asks another server than we do, or sees other pools. Each tick would make one more without end."""
    runs: list[UpdateRun] = []
    for number in ("", "-2", "-3"):
        found = made(profile(), RELEASED, *runs, members=[read_after(runs)]).run
        assert found and found.name.endswith(number)
        runs.append(ended(laid_out(found, "m"), play))
    settled = made(profile(), RELEASED, *runs, members=[read_after(runs)])
    assert (settled.run, settled.existing) == (None, runs[-1].name)
    assert "no run reached m in 3 tries" in settled.reasons[-1].message


@pytest.mark.parametrize("ends", ["skipped", "done"])
def test_what_is_to_be_done_is_said_by_the_last_run_of_a_member(ends: str) -> None:
    """Whatever an earlier one came to: it was out of reach, or too far behind, then."""
    far = MemberBlocker(reason=states.MINOR_GAP, message="too far")
    before = UNREACHABLE if ends == "skipped" else played("s{g:m}").sees("m", skip=far).start()
    last = played("s{g:m}").skip("Member:m").start() if ends == "skipped" else DONE
    runs: list[UpdateRun] = []
    for play in (before, last):
        found = made(profile(), RELEASED, *runs, members=[read_after(runs)]).run
        assert found
        runs.append(ended(laid_out(found, "m"), play))
    member = replace(M, read=None)
    told = made(profile(), RELEASED, *runs, members=[member]).reasons[-1].message
    assert ("see why m was skipped" in told) is (ends == "skipped")


def read_after(runs: list[UpdateRun]) -> Cluster:
    """The member, read an hour after the last of its runs, and behind all the same."""
    ends = [row.status.completed_time for each in runs for row in each.status.members if row.status.completed_time]
    return replace(M, read=max(ends) + HOUR if ends else None)


def test_a_run_that_was_deleted_makes_room_for_no_other_beside_the_one_under_way() -> None:
    first, late = made(profile()).run, cluster("1.29.1", name="late")
    assert first
    members = [cluster("1.29.9", name="m"), late]
    second = made(profile(), RELEASED, ended(laid_out(first, "m"), DONE), members=members).run
    assert second and second.name == f"{first.name}-2"
    going = ended(second, played("s{g:late}").start())
    found = made(profile(), RELEASED, going, members=members)
    assert (found.run, found.existing) == (None, second.name)
    done = ended(second, played("s{g:late}").start().ends("late"))
    third = made(profile(), RELEASED, done, members=[*members, M]).run
    assert third and third.name == f"{first.name}-3"


@pytest.mark.parametrize("people", [True, False], ids=["by people", "its platform never has the version"])
def test_a_member_that_its_run_has_skipped_is_told_as_such(people: bool) -> None:
    """To read it again would bring nothing."""
    first = made(profile()).run
    assert first
    never = MemberBlocker(reason=states.VERSION_NOT_AVAILABLE, message="never has it")
    play = played("s{g:m}").skip("Member:m") if people else played("s{g:m}").sees("m", skip=never)
    found = made(profile(), RELEASED, ended(laid_out(first, "m"), play.start()))
    assert found.run is None and "see why m was skipped" in found.reasons[-1].message


@pytest.mark.parametrize(
    ("at", "alone"), [("1.29.9", True), ("1.29.3", False), ("", False)], ids=["images alone", "a pool, too", "unknown"]
)
def test_images_alone_that_came_after_the_run_of_a_version_are_told_as_such(at: str, alone: bool) -> None:
    """To read the members again would bring nothing."""
    given, newer = (known(place("*", ga("1.29.9", "1.30.5"), U=images)) for images in (["1"], ["1", "2"]))
    first = made(profile(), given, members=[cluster("1.29.3", pool("1.29.3", "1"))]).run
    assert first
    there = cluster("1.29.9", pool(at, "1"))
    found = made(profile(), newer, ended(laid_out(first, "m"), DONE), members=[there])
    assert (found.run, found.existing) == (None, first.name)
    assert ("only their images are behind" in found.reasons[-1].message) is alone


LTS = {"channel": "TargetKubernetesVersion", "targetKubernetesVersion": "1.28", "longTermSupport": True}


@pytest.mark.parametrize("at", ["1.28.1", "1.29.9"], ids=["out of support", "in support"])
def test_a_member_without_long_term_support_fails_the_run_and_no_other_is_made(at: str) -> None:
    """The run judges as the evaluation did."""
    given = known(place("*", ga("1.28.9", "1.29.10", "1.30.5", "1.31.1")))
    asked = profile(**{**LTS, "targetKubernetesVersion": at.rpartition(".")[0]})
    without, having = cluster(at, name="m"), replace(cluster(at, name="n"), long_term_support=True)
    found = evaluate(asked, given, [without, having], [], NOW)
    assert found.run and found.run.spec.long_term_support and read(encode(found.run), strict=True).object == found.run
    goal_of_run = target_of(laid_out(found.run, "m", "n"))
    assert goal_of_run == found.target
    assert upgrade_work(having, goal_of_run, given, NOW).steps
    verdict = upgrade_work(without, goal_of_run, given, NOW)
    assert verdict.fail and "long-term support" in verdict.fail.message and verdict.skip is None
    play = played("s{g:m}")
    play.run = changed(changed(play.run, "s", max_allowed_failures=1), "g", max_allowed_failures=1)
    play.sees("m", fail=verdict.fail).start()
    done = ended(laid_out(found.run, "m"), play)
    assert done.status.status.state == states.COMPLETED
    again = evaluate(asked, given, [without], [done], NOW)
    assert again.run is None and again.reasons[-1].code == "RunExists"
    other = evaluate(profile(**{**LTS, "longTermSupport": False}), given, [having], [], NOW)
    assert other.run is None or other.run.name != found.run.name, "it does something else"


def test_names_of_long_profiles_fit() -> None:
    found = made(profile(name="p" * 50)).run
    assert found and len(found.name) == 50
    late = [cluster("1.29.1", name="late")]
    again = made(profile(name="p" * 50), RELEASED, ended(found, played("s{g:m}").start().ends("m")), members=late).run
    assert again and len(again.name) <= 50 and again.name.endswith("-2")


def test_d3_104_an_image_published_on_any_day_makes_a_run() -> None:
    member = cluster("1.29.3", pool("1.29.3", "5"))
    before, after = (known(place("*", ga("1.29.9"), U=list(each))) for each in (["5"], ["5", "6"]))
    images = profile("NodeImage", "images")
    assert made(images, before, members=[member]).run is None
    found = made(images, after, members=[member])
    assert found.run and found.run.name.startswith("images-images-")
    newer = made(images, known(place("*", ga("1.29.9"), U=["5", "7"])), members=[member])
    assert newer.run and newer.run.name != found.run.name


def test_latest_images_of_a_profile() -> None:
    """A release in one region alone makes a run; so does the same release when it reaches the next region."""
    a, b = (cluster("1.29.3", pool("1.29.3", "5"), name=each, location=each) for each in "ab")
    images = profile("NodeImage", nodeImageSelection={"type": "Latest"})
    first = made(images, known(place("a", U=["6"]), place("b", U=["5"])), members=[a, b])
    second = made(images, known(place("a", U=["6"]), place("b", U=["6"])), members=[a, b])
    assert first.run and second.run and first.behind == ("a",) and first.run.name != second.run.name
    assert first.run.spec.image_selection == "Latest"


def test_d3_92_two_runs_never_work_on_one_member() -> None:
    """The later waits; the lease that tells it so is not part of a decision."""
    one, other = played("s{g:m}").start(), played("s{g:m}").blocked("m", states.OPERATION_IN_PROGRESS).start()
    assert (one.tree, other.tree) == ("R[s R{g R:mR}]", "P[s P{g P:mP}]")
    other.sees("m", obstacles=())
    assert other.tree == "R[s R{g R:mR}]"


def test_d3_05_generated_runs_obey_windows_like_any_other() -> None:
    found = made(profile()).run
    assert found
    rows = resolve(None, [Candidate(name="m")], UID).stages
    run = Play(RunState(name=found.name, uid=UID, stages=rows))
    run.sees("m", windows=())
    assert run.start().tree == "P[default P{default P:mP}]"


def test_what_is_recorded_of_an_evaluation() -> None:
    given = profile()
    found = made(given)
    status = status_after(given, found, NOW)
    assert found.run
    assert (status.last_triggered_at, status.last_trigger_status) == (NOW, "Succeeded")
    assert status.last_trigger_upgrade_versions == ("1.29.9",)
    assert status.last_trigger_message == f"run {found.run.name}"
    quiet = status_after(replace(given, status=status), made(given, members=[cluster("1.29.9")]), NOW)
    assert quiet.last_triggered_at == NOW and "behind" in quiet.last_trigger_message
    many = replace(made(given, members=[cluster("1.29.9")]), reasons=(Reason("UpToDate", "x" * 5000, "m"),) * 3000)
    assert len(status_after(given, many, NOW).last_trigger_message) < 5000
    assert status_after(given, many, NOW).last_trigger_message.endswith("and 2990 more")
    refused = status_after(given, replace(found, reasons=(Reason("member-busy", "r-0.m.1 is in flight"),)), NOW)
    assert refused.last_trigger_status == "Failed"
    assert refused.last_trigger_error and refused.last_trigger_error.code == "member-busy"
    failed = status_after(given, made(given, Releases()), NOW)
    assert failed.last_trigger_status == "Failed"
    assert failed.last_trigger_error and failed.last_trigger_error.code == "NoSuchRelease"


# A fleet of several minors


def test_d3_114_runs_that_bring_a_fleet_level() -> None:
    given = offering("1.27.9", "1.28.9", "1.29.9", "1.30.5")
    fleet = [cluster(each, name=name) for name, each in (("a", "1.26.1"), ("b", "1.28.1"), ("c", "1.29.1"))]
    proposed = levelling(fleet, "1.30.5", given, NOW)
    assert [(each.version, each.members) for each in proposed] == [
        ("1.27.9", ("a",)),
        ("1.28.9", ("a",)),
        ("1.29.9", ("a", "b")),
    ]
    for each in proposed:
        fleet = [replace(one, version=each.version) if one.name in each.members else one for one in fleet]
    automatic = goal(profile("Rapid").spec, fleet, given, NOW)
    assert [upgrade_work(one, automatic, given, NOW).skip for one in fleet] == [None, None, None]
    assert levelling(fleet, "1.30.5", given, NOW) == ()
    with pytest.raises(FleetError, match="no patch of 1.27"):
        levelling([cluster("1.26.1")], "1.29.9", offering("1.28.9", "1.29.9"), NOW)
