# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""An earlier content comes back: planned, shown, applied under the same brakes, recorded as upstream records it."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.going_on.ways_on import WaysOn
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history.going_back import ways_after
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history.kept import snapshot_rows
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history.roll_back import RollBack
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from ansible_collections.gitops.fleet.plugins.module_utils._report.snapshots_text import snapshots_text
from small_fleet import Document, Fleet, changes

API = "placement.kubernetes-fleet.io/v1beta1"
WORD = "bm9ib2R5LWtub3dz"
OTHER = "c29tZWJvZHk="


def secret(fleet: Fleet, value: str) -> Document:
    metadata = {"name": "login", "namespace": fleet.namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"word": value}}


def two_versions(fleet: Fleet) -> None:
    """Blue, and then red with one more object."""
    fleet.join("m1", "m2")
    fleet.place()
    assert not fleet.apply().problems
    fleet.resources(fleet.configmap(color="red"), fleet.configmap("extra"))
    assert not fleet.apply().problems


def back(fleet: Fleet, to: int | None = None, write: bool = True, **more: t.Any) -> Report:
    checkouts = more.pop("checkouts", ())
    asked = {"names": (fleet.name,), "roll_back": RollBack(to=to, checkouts=checkouts), "resources": None}
    return fleet.run(write=write, **{**asked, **more})


def colors(fleet: Fleet) -> list[object]:
    return [fleet.servers[name].data(fleet.namespaced("configmaps", "settings")) for name in ("m1", "m2")]


def masters(fleet: Fleet) -> list[Document]:
    return sorted(
        (
            each
            for each in fleet.records.list("ClusterResourceSnapshot")
            if each["metadata"]["name"].startswith(fleet.name)
        ),
        key=lambda each: int(each["metadata"]["labels"]["kubernetes-fleet.io/resource-index"]),
    )


def findings(report: Report) -> set[str]:
    return {each.code for plan in report.plan.plans for each in plan.findings}


def refusal(fleet: Fleet, **asked: t.Any) -> str:
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        back(fleet, **asked)
    assert written == []
    return str(refused.value)


def test_the_content_before_the_latest_comes_back(fleet: Fleet) -> None:
    """D4-61: as upstream, a new index with the hash of the old one, which is the latest."""
    two_versions(fleet)
    with fleet.writing() as written:
        foretold = back(fleet, write=False)
    assert written == [] and foretold.changed and "rolls-back" in findings(foretold)
    (plan,) = foretold.plan.plans
    assert [str(each) for row in plan.clusters for each in row.prune] == [f"ConfigMap {fleet.namespace}/extra"] * 2
    assert any(one.path == ".data.color" for each in plan.changes for row in each.objects for one in row.fields)
    done = back(fleet, approved=foretold.plan.digest)
    assert not done.problems and changes(done, fleet.name) == {"m1": "kept", "m2": "kept"}
    assert colors(fleet) == [{"color": "blue"}] * 2
    assert not fleet.is_ours("m1", fleet.namespaced("configmaps", "extra"))
    found = masters(fleet)
    marks = [each["metadata"]["labels"]["kubernetes-fleet.io/is-latest-snapshot"] for each in found]
    hashes = [each["metadata"]["annotations"]["kubernetes-fleet.io/resource-hash"] for each in found]
    assert marks == ["false", "false", "true"] and hashes[2] == hashes[0] != hashes[1]
    bindings = [each for each in fleet.records.list("ClusterResourceBinding") if fleet.name in each["metadata"]["name"]]
    assert {each["spec"]["resourceSnapshotName"] for each in bindings} == {f"{fleet.name}-2-snapshot"}


def test_asked_twice_it_changes_nothing_and_an_apply_from_files_rolls_forward_again(fleet: Fleet) -> None:
    two_versions(fleet)
    back(fleet)
    fleet.later = timedelta(minutes=1)
    with fleet.writing() as written:
        assert not back(fleet).changed
        forward = fleet.look()
    assert written == []
    assert "rolls-forward" in findings(forward) and forward.changed
    assert not fleet.apply().problems and colors(fleet) == [{"color": "red"}] * 2
    assert "rolls-forward" not in findings(fleet.look())


def test_any_snapshot_that_is_kept_can_be_named_and_no_other(file_fleet: Fleet) -> None:
    two_versions(file_fleet)
    file_fleet.resources(file_fleet.configmap(color="green"), file_fleet.configmap("extra"))
    file_fleet.apply()
    assert "snapshot 7 is not kept; there are 0, 1, 2 [no-such-snapshot]" in refusal(file_fleet, to=7)
    back(file_fleet, to=0)
    assert colors(file_fleet) == [{"color": "blue"}] * 2
    back(file_fleet, to=2)
    assert colors(file_fleet) == [{"color": "green"}] * 2
    rows = snapshot_rows(file_fleet.session(), [file_fleet.name])
    told = [(each.as_dict()["index"], each.as_dict()["rolledBackTo"], each.as_dict()["latest"]) for each in rows]
    assert told == [(0, None, False), (1, None, False), (2, None, False), (3, 0, False), (4, 2, True)]
    extra = f"ConfigMap {file_fleet.namespace}/extra"
    settings = f"ConfigMap {file_fleet.namespace}/settings"
    assert [(each.as_dict()["added"], each.as_dict()["removed"], each.as_dict()["changed"]) for each in rows] == [
        ([], [], []),
        ([extra], [], [settings]),
        ([], [], [settings]),
        ([], [extra], [settings]),
        ([extra], [], [settings]),
    ]
    assert rows[-1].clusters == ("m1", "m2") and rows[-1].age is not None
    text = "\n".join(snapshots_text(rows))
    assert "4 (latest)" in text and "rolled back to 2" in " ".join(text.split())


def test_the_first_content_has_none_before_it_and_nobody_rolls_back_what_is_not_there(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    file_fleet.place()
    assert "there is no placement" in refusal(file_fleet)
    file_fleet.apply()
    assert "no snapshot before the latest" in refusal(file_fleet)


def test_the_brakes_hold_for_a_roll_back(file_fleet: Fleet) -> None:
    """F4: a roll back deletes no more at once than an apply."""
    file_fleet.join("m1")
    file_fleet.place()
    file_fleet.apply()
    file_fleet.resources(*(file_fleet.configmap(name) for name in ("settings", "a", "b", "c")))
    file_fleet.apply()
    assert "[brake-max-object-removals]" in refusal(file_fleet)
    assert not back(file_fleet, limits=BrakeLimits(max_object_removals="100%")).problems
    assert not file_fleet.is_ours("m1", file_fleet.namespaced("configmaps", "a"))


def test_killed_in_between_it_goes_on_and_does_not_turn_round(fleet: Fleet) -> None:
    """F5: after the new snapshot is recorded the one before the latest is the one that is left."""
    for point in ("intent", "object", "members"):
        fleet.resources(fleet.configmap(color="blue"))
        if not fleet.record():
            two_versions(fleet)
        else:
            fleet.apply()
            fleet.resources(fleet.configmap(color="red"), fleet.configmap("extra"))
            fleet.apply()
        fleet.killed(point, roll_back=fleet.name)
        assert not back(fleet).problems
        assert colors(fleet) == [{"color": "blue"}] * 2
        assert not fleet.is_ours("m2", fleet.namespaced("configmaps", "extra"))


def test_a_snapshot_that_was_altered_or_rebuilt_without_its_content_is_refused(file_fleet: Fleet) -> None:
    two_versions(file_fleet)
    first = masters(file_fleet)[0]
    first["spec"]["selectedResources"] = [
        {key: each[key] for key in ("apiVersion", "kind", "metadata")} for each in first["spec"]["selectedResources"]
    ]
    file_fleet.records.replace(first)
    assert "rebuilt from members, or altered [snapshot-not-whole]" in refusal(file_fleet)
    assert snapshot_rows(file_fleet.session(), [file_fleet.name])[0].as_dict()["whole"] is False


class Checkout:
    """The fleet's files in Git."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(self.fleet.folder), *identity, *arguments]
        environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout.strip()

    def commit(self, text: str) -> str:
        self.git("add", "placements", "resources")
        self.git("commit", "-q", "-m", text)
        return self.git("rev-parse", "HEAD")

    @property
    def resources(self) -> tuple[str, ...]:
        return (str(self.fleet.folder / "resources"),)


def with_secrets(fleet: Fleet) -> Checkout:
    """Two revisions of a Secret, both applied; the checkout is at the second."""
    checkout = Checkout(fleet)
    fleet.join("m1", "m2")
    fleet.place()
    for number, value in enumerate((WORD, OTHER)):
        fleet.resources(fleet.configmap(color=str(number)), secret(fleet, value))
        checkout.commit(str(number))
        assert not fleet.apply().problems
    return checkout


def word(fleet: Fleet) -> object:
    return fleet.servers["m1"].data(fleet.namespaced("secrets", "login"))


def test_secrets_are_read_again_from_the_revision_that_they_came_from(fleet: Fleet) -> None:
    checkout = with_secrets(fleet)
    first = checkout.git("rev-parse", "HEAD~1")
    assert word(fleet) == {"word": OTHER}
    foretold = back(fleet, write=False, checkouts=checkout.resources)
    assert WORD not in repr(foretold) and WORD not in str(foretold.plan.as_dict())
    done = back(fleet, checkouts=checkout.resources, approved=foretold.plan.digest)
    assert not done.problems and word(fleet) == {"word": WORD}
    assert checkout.git("status", "--porcelain", "placements", "resources") == ""
    row = snapshot_rows(fleet.session(), [fleet.name])[-1].as_dict()
    assert (row["revision"], row["rolledBackTo"]) == (first, 0)
    assert WORD not in str(masters(fleet))
    # The roll back of the roll back needs the same.
    assert not back(fleet, to=1, checkouts=checkout.resources).problems and word(fleet) == {"word": OTHER}
    # A revision that is older than the newest applied one is refused as before.
    checkout.git("checkout", "-q", first)
    with pytest.raises(FleetError, match="older"):
        fleet.apply()


def test_what_cannot_be_read_again_is_refused_with_the_way_out(file_fleet: Fleet) -> None:
    """F23: no Secret is applied of which nobody can tell that it is the one that was there."""
    checkout = with_secrets(file_fleet)
    login = f"Secret {file_fleet.namespace}/login"
    told = refusal(file_fleet)
    assert login in told and "[no-checkout]" in told and "option resources" in told
    elsewhere = (str(file_fleet.folder.parent),)
    assert "[revision-gone]" in refusal(file_fleet, checkouts=elsewhere)
    without = (str(file_fleet.folder / "placements"),)
    assert "does not hold it [secret-gone]" in refusal(file_fleet, checkouts=without)
    # History is written anew, and what it was collected.
    checkout.git("checkout", "-q", "--orphan", "new")
    checkout.commit("new")
    checkout.git("branch", "-q", "-D", "main")
    checkout.git("reflog", "expire", "--expire=now", "--all")
    checkout.git("gc", "-q", "--prune=now")
    told = refusal(file_fleet, checkouts=checkout.resources)
    assert "[revision-gone]" in told and " fetch origin " in told


def test_a_secret_applied_from_a_checkout_that_was_not_clean_is_not_that_of_its_revision(file_fleet: Fleet) -> None:
    checkout = Checkout(file_fleet)
    file_fleet.join("m1")
    file_fleet.place()
    file_fleet.resources(secret(file_fleet, OTHER))
    checkout.commit("committed")
    file_fleet.resources(secret(file_fleet, WORD))
    file_fleet.apply()
    file_fleet.resources(secret(file_fleet, OTHER))
    file_fleet.apply()
    told = refusal(file_fleet, checkouts=checkout.resources)
    assert "holds another content of it" in told and WORD not in told and OTHER not in told


def test_a_secret_that_came_from_no_git_is_refused(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    file_fleet.place()
    for value in (WORD, OTHER):
        file_fleet.resources(secret(file_fleet, value))
        file_fleet.apply()
    assert "does not keep what it was [secret-gone]" in refusal(file_fleet)


def test_a_secret_in_an_envelope_is_read_again_too(file_fleet: Fleet) -> None:
    checkout = Checkout(file_fleet)
    file_fleet.join("m1")
    file_fleet.place()
    for value in (WORD, OTHER):
        metadata = {"name": "box", "namespace": file_fleet.namespace}
        box = {"apiVersion": API, "kind": "ResourceEnvelope", "metadata": metadata}
        file_fleet.resources({**box, "data": {"login": secret(file_fleet, value)}})
        checkout.commit(value)
        assert not file_fleet.apply().problems and word(file_fleet) == {"word": value}
    assert not back(file_fleet, checkouts=checkout.resources).problems and word(file_fleet) == {"word": WORD}


def test_overrides_are_those_of_today_and_are_not_lost_for_want_of_their_files(file_fleet: Fleet) -> None:
    """F21: what an override does on a cluster is not undone by a roll back that does not know of it."""
    file_fleet.join("m1")
    file_fleet.place()
    patch = {"op": "add", "path": "/data/by", "value": "override"}
    rules = [{"clusterSelector": {"clusterSelectorTerms": []}, "jsonPatchOverrides": [patch]}]
    selectors = [{"group": "", "version": "v1", "kind": "ConfigMap", "name": "settings"}]
    spec = {"resourceSelectors": selectors, "policy": {"overrideRules": rules}}
    metadata = {"name": "by", "namespace": file_fleet.namespace}
    override = {"apiVersion": API, "kind": "ResourceOverride", "metadata": metadata, "spec": spec}
    (file_fleet.folder / "placements" / "override.yml").write_text(json.dumps(override), encoding="utf-8")
    for color in ("blue", "red"):
        file_fleet.resources(file_fleet.configmap(color=color))
        assert not file_fleet.apply().problems
    refused = refusal(file_fleet)
    assert "[overrides-missing]" in refused and "which is placements in the playbook" in refused
    assert not back(file_fleet, src=(str(file_fleet.folder / "placements"),)).problems
    assert colors(file_fleet)[:1] == [{"color": "blue", "by": "override"}]
    record = file_fleet.record()
    assert record and record["metadata"]["annotations"]["gitops.fleet/source"].startswith("files:")


def test_a_roll_back_of_an_external_placement_waits_for_a_staged_run(file_fleet: Fleet) -> None:
    file_fleet.join("m1", "m2")
    document = file_fleet.placement(None)
    document["spec"]["strategy"] = {"type": "External"}
    (file_fleet.folder / "placements" / f"{file_fleet.name}.yml").write_text(json.dumps(document), encoding="utf-8")
    for color in ("blue", "red"):
        file_fleet.resources(file_fleet.configmap(color=color))
        assert not file_fleet.apply().problems
    report = back(file_fleet)
    assert not report.problems and ways_after(report, file_fleet.records) == WaysOn(staged=True)
