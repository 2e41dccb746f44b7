# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The contract of records, held against every place they can be in."""

from __future__ import annotations

import subprocess
import sys
import threading
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._store.digest_key import digest_key, known_digest_key
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import (
    CopyOrigin,
    Record,
    Records,
    replace_unless_moved,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords, copy_of
from records_places import Place, member

WORKER = Path(__file__).with_name("worker.py")
STATUS = {"properties": {"cost": {"value": "3"}}}
MC = "MemberCluster"


def code_of(function: object, *arguments: object) -> str:
    with pytest.raises(FleetError) as caught:
        function(*arguments)  # type: ignore[operator]
    assert caught.value.message and "Traceback" not in str(caught.value)
    return caught.value.code


def worker(place: Place, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), place.json, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err, err
    return process.returncode, out.strip()


# Records


def test_nothing_is_an_answer(records: Records) -> None:
    assert records.get(MC, "one") is None
    assert records.list(MC) == ()
    assert records.leases() == ()
    records.delete(MC, "one")


def test_a_new_record_gets_its_identity_and_keeps_its_status(records: Records) -> None:
    made = records.create(member(status=STATUS))
    metadata = made["metadata"]
    assert metadata["generation"] == 1
    assert metadata["uid"] and metadata["resourceVersion"] and metadata["creationTimestamp"].endswith("Z")
    assert made["status"] == STATUS
    assert made == records.get(MC, "one")
    assert made["spec"] == member()["spec"]


def test_what_a_writer_says_of_identity_is_ignored(records: Records) -> None:
    first = records.create(member())
    copied = records.create(first | {"metadata": first["metadata"] | {"name": "two", "generation": 7}})
    assert copied["metadata"]["uid"] != first["metadata"]["uid"]
    assert copied["metadata"]["generation"] == 1


def test_a_name_is_taken_once(records: Records) -> None:
    records.create(member())
    assert code_of(records.create, member()) == "already-exists"


def test_a_record_written_as_v1_is_kept_as_the_stored_version(records: Records) -> None:
    made = records.create(member(apiVersion="cluster.kubernetes-fleet.io/v1"))
    assert made["apiVersion"] == "cluster.kubernetes-fleet.io/v1beta1"
    again = records.replace(made | {"apiVersion": "cluster.kubernetes-fleet.io/v1"})
    assert again == made


@pytest.mark.parametrize("name", ["", "Upper", "../etc", "a/b", "x" * 254])
def test_names_that_could_be_something_else_are_refused(records: Records, name: str) -> None:
    """F29"""
    assert code_of(records.create, member(name)) == "invalid"
    assert records.get(MC, name) is None
    records.delete(MC, name)


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", ""])
def test_only_our_kinds_are_records(records: Records, kind: str) -> None:
    assert code_of(records.create, member(kind=kind)) == "unknown-kind"
    assert code_of(records.get, kind, "one") == "unknown-kind"
    assert code_of(records.list, kind) == "unknown-kind"
    assert code_of(records.names, kind) == "unknown-kind"


def inside(namespace: str, name: str = "web", labels: t.Mapping[str, str] | None = None) -> Record:
    """A ResourceSnapshot, which lies in a namespace."""
    kind = KINDS["ResourceSnapshot"]
    metadata = {"name": name, "namespace": namespace, **({"labels": dict(labels)} if labels else {})}
    spec: Record = {"selectedResources": []}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}


def test_records_of_one_name_in_two_namespaces_are_two(place: Place, records: Records) -> None:
    """F6: read, changed, listed and deleted apart; so are their journals."""
    kind, ours, theirs = "ResourceSnapshot", "default/web", "kube-system/web"
    lease = records.acquire(f"placement/{ours}", "runner-a", 60)
    made = records.create(inside("default", labels={"r": "eu"}), lease)
    records.create(inside("kube-system", labels={"r": "eu"}))
    assert made["metadata"]["namespace"] == "default" and records.get(kind, ours) == made
    assert records.get(kind, "web") is None and records.get(kind, "elsewhere/web") is None
    assert code_of(records.create, inside("default")) == "already-exists"
    changed = records.replace({**made, "metadata": {**made["metadata"], "labels": {"r": "us"}}}, lease)
    assert records.names(kind) == {ours, theirs}
    assert [each["metadata"]["namespace"] for each in records.list(kind)] == ["default", "kube-system"]
    assert records.list(kind, {"r": "us"}) == records.list(kind, namespace="default") == (changed,)
    assert records.list(kind, {"r": "eu"}, "default") == () and len(records.list(kind, {"r": "eu"})) == 1
    records.event(kind, ours, "Normal", "Made", "here", place.watch())
    assert [each.name for each in records.events(kind, ours)] == [ours] and records.events(kind, theirs) == ()
    records.delete(kind, ours, lease=lease)
    assert records.names(kind) == {theirs}


@pytest.mark.parametrize("record", [inside(""), inside("no.label"), inside("a/b"), inside("default", "a/b")])
def test_a_record_lies_in_a_namespace_or_in_none_as_its_kind_has_it(records: Records, record: Record) -> None:
    """F29"""
    assert code_of(records.create, record) == "invalid"
    wide = member()
    assert code_of(records.create, {**wide, "metadata": {**wide["metadata"], "namespace": "default"}}) == "invalid"


def test_a_list_in_a_namespace_of_a_kind_that_has_none_is_refused_with_the_way_out(records: Records) -> None:
    """Else one place would give all, and another none."""
    records.create(member())
    with pytest.raises(FleetError) as refused:
        records.list(MC, namespace="default")
    assert (refused.value.code, refused.value.where) == ("invalid", MC)
    assert "'default'" in refused.value.message and "leave the namespace out" in refused.value.hint


def test_lists_are_in_the_order_of_names_and_choose_by_all_labels(records: Records) -> None:
    for name, labels in (("c", {"r": "eu", "t": "x"}), ("a", {"r": "eu"}), ("b-1", {"r": "us", "t": "x"}), ("b", {})):
        records.create(member(name, labels))

    def names(**labels: str) -> list[str]:
        return [each["metadata"]["name"] for each in records.list(MC, labels)]

    assert names() == ["a", "b", "b-1", "c"]
    assert names(r="eu") == ["a", "c"]
    assert names(r="eu", t="x") == ["c"]
    assert names(r="asia") == []
    assert records.list("FleetMember") == ()
    assert records.names(MC) == {"a", "b", "b-1", "c"}
    assert records.names("FleetMember") == frozenset()


def test_changed_labels_are_found_by_their_new_values(records: Records) -> None:
    made = records.create(member(labels={"r": "eu"}))
    made["metadata"]["labels"] = {"r": "us"}
    records.replace(made)
    assert records.list(MC, {"r": "eu"}) == ()
    assert len(records.list(MC, {"r": "us"})) == 1


def test_generation_counts_changes_of_the_spec_only(records: Records) -> None:
    first = records.create(member())
    labelled = records.replace(first | {"metadata": first["metadata"] | {"labels": {"a": "b"}}})
    told = records.replace(labelled | {"status": STATUS})
    changed = records.replace(told | {"spec": told["spec"] | {"heartbeatPeriodSeconds": 30}})
    assert [each["metadata"]["generation"] for each in (first, labelled, told, changed)] == [1, 1, 1, 2]
    assert len({each["metadata"]["resourceVersion"] for each in (first, labelled, told, changed)}) == 4
    assert changed["status"] == STATUS and changed == records.get(MC, "one")


def test_spec_and_status_change_in_one_call(records: Records) -> None:
    first = records.create(member())
    spec = first["spec"] | {"heartbeatPeriodSeconds": 30}
    both = records.replace(first | {"spec": spec, "status": STATUS})
    assert (both["spec"], both["status"]) == (spec, STATUS)


def test_a_replace_without_a_change_writes_nothing(records: Records) -> None:
    made = records.create(member(status=STATUS))
    assert records.replace(made) == made
    assert records.get(MC, "one") == made


def test_compare_and_swap(records: Records) -> None:
    first = records.create(member())
    records.replace(first | {"status": STATUS})
    assert code_of(records.replace, first | {"spec": first["spec"] | {"heartbeatPeriodSeconds": 9}}) == "conflict"
    assert code_of(records.replace, first) == "conflict"
    kept = records.get(MC, "one")
    assert kept and kept["spec"] == first["spec"] and kept["status"] == STATUS


def test_what_is_replaced_is_what_was_read_or_nothing(records: Records) -> None:
    read = records.create(member())
    theirs = replace_unless_moved(records, {**read, "status": STATUS})
    assert theirs is not None and theirs == records.get(MC, "one")
    assert replace_unless_moved(records, {**read, "status": {}}) is None
    assert records.get(MC, "one") == theirs
    lost = records.acquire("member/one", "somebody", 60)
    records.release(lost)
    assert code_of(replace_unless_moved, records, {**theirs, "status": {}}, lost) == "lease-lost"
    records.delete(MC, "one")
    assert replace_unless_moved(records, theirs) is None


def test_a_replace_needs_a_version_and_a_record_that_is_there(records: Records) -> None:
    first = records.create(member())
    assert code_of(records.replace, member()) == "invalid"
    records.delete(MC, "one")
    assert code_of(records.replace, first) == "conflict"
    second = records.create(member())
    assert code_of(records.replace, first) == "conflict"
    assert records.get(MC, "one") == second


def test_deletion_of_one_version(records: Records) -> None:
    first = records.create(member())
    records.replace(first | {"status": STATUS})
    assert code_of(records.delete, MC, "one", first["metadata"]["resourceVersion"]) == "conflict"
    records.delete(MC, "one")
    records.delete(MC, "one", first["metadata"]["resourceVersion"])
    assert records.get(MC, "one") is None


def test_finalizers_keep_a_deleted_record_until_the_last_is_gone(records: Records) -> None:
    made = member()
    made["metadata"]["finalizers"] = ["gitops.fleet/cleanup", "gitops.fleet/other"]
    first = records.create(made)
    records.delete(MC, "one")
    going = records.get(MC, "one")
    assert going and going["metadata"]["deletionTimestamp"]
    assert going["metadata"]["generation"] == first["metadata"]["generation"] + 1
    records.delete(MC, "one")
    assert records.get(MC, "one") == going

    more = going | {
        "metadata": going["metadata"] | {"finalizers": [*made["metadata"]["finalizers"], "gitops.fleet/new"]}
    }
    assert code_of(records.replace, more) == "invalid"
    going["metadata"]["finalizers"] = ["gitops.fleet/cleanup"]
    going = records.replace(going | {"status": STATUS})
    assert records.get(MC, "one") == going
    going["metadata"]["finalizers"] = []
    records.replace(going | {"status": {}})
    assert records.get(MC, "one") is None


def test_records_that_were_read_are_copies(records: Records) -> None:
    made = records.create(member())
    made["spec"]["heartbeatPeriodSeconds"] = 1
    read = records.get(MC, "one")
    assert read and read["spec"]["heartbeatPeriodSeconds"] == 60


def test_values_that_json_cannot_hold_are_refused(records: Records) -> None:
    assert code_of(records.create, member(spec={"heartbeatPeriodSeconds": float("nan")})) == "invalid"
    assert code_of(records.create, member(spec={"identity": {"kind": "\ud800"}})) == "invalid"


def test_threads_share_one_opening(records: Records) -> None:
    threads = [threading.Thread(target=records.create, args=(member(f"m{n}"),)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(records.list(MC)) == 20


def test_writers_in_two_processes_lose_nothing(place: Place, records: Records) -> None:
    """Each adds 25 to one number by compare-and-swap, reading again after a conflict."""
    made = member()
    made["metadata"]["annotations"] = {"count": "0"}
    records.create(made)
    both = [worker(place, "count", "25"), worker(place, "count", "25")]
    assert [finish(process) for process in both] == [(0, "done"), (0, "done")]
    counted = records.get(MC, "one")
    assert counted and counted["metadata"]["annotations"]["count"] == "50"


def test_two_processes_that_create_one_name(place: Place, records: Records) -> None:
    both = [worker(place, "create"), worker(place, "create")]
    assert sorted(finish(process) for process in both) == [(0, "already-exists"), (0, "done")]
    assert len(records.list(MC)) == 1


# Leases


def test_a_lease_has_one_holder_and_a_message_for_all_others(place: Place, records: Records) -> None:
    """F6"""
    lease = records.acquire("placement/web", "runner-a", 60)
    assert (lease.name, lease.holder, lease.epoch) == ("placement/web", "runner-a", 1)
    with pytest.raises(FleetError) as caught:
        place.open().acquire("placement/web", "runner-b", 60)
    assert caught.value.code == "lease-held"
    assert "runner-a" in caught.value.message and " ago" in caught.value.message
    assert place.open().acquire("placement/other", "runner-b", 60).epoch == 1
    assert [(held.name, held.holder) for held in records.leases()] == [
        ("placement/other", "runner-b"),
        ("placement/web", "runner-a"),
    ]


def test_a_released_lease_is_free_at_once_and_its_epoch_goes_on(place: Place, records: Records) -> None:
    records.release(records.acquire("placement/web", "runner-a", 60))
    assert records.leases() == ()
    assert place.open().acquire("placement/web", "runner-b", 60).epoch == 2


def test_a_holder_that_comes_back_gets_a_new_epoch(place: Place, records: Records) -> None:
    first = records.acquire("placement/web", "runner-a", 60)
    second = place.open().acquire("placement/web", "runner-a", 60)
    assert second.epoch == 2
    assert code_of(records.create, member(), first) == "lease-lost"
    assert code_of(records.renew, first) == "lease-lost"


def test_takeover_by_epoch_and_the_old_holders_refused_writes(place: Place, records: Records) -> None:
    """F6: a paused old owner whose fence is behind is rejected on its next write."""
    old = records.acquire("placement/web", "runner-a", 60)
    mine = records.create(member(), old)
    other = place.open()
    assert code_of(other.acquire, "placement/web", "runner-b", 60) == "lease-held"
    place.watch.forward(61)
    new = other.acquire("placement/web", "runner-b", 60)
    assert (new.holder, new.epoch) == ("runner-b", 2)

    changed = mine | {"spec": mine["spec"] | {"heartbeatPeriodSeconds": 5}}
    for write in (
        lambda: records.create(member("two"), old),
        lambda: records.replace(changed, old),
        lambda: records.delete(MC, "one", "", old),
        lambda: records.renew(old),
        lambda: records.release(old),
    ):
        assert code_of(write) == "lease-lost"
    assert other.list(MC) == (mine,)
    assert other.replace(changed, new)["spec"]["heartbeatPeriodSeconds"] == 5
    assert [held.holder for held in other.leases()] == ["runner-b"]


def test_a_renewed_lease_is_not_taken_over(place: Place, records: Records) -> None:
    lease = records.acquire("placement/web", "runner-a", 60)
    other = place.open()
    assert code_of(other.acquire, "placement/web", "runner-b", 60) == "lease-held"
    place.watch.forward(40)
    renewed = records.renew(lease)
    assert (renewed.epoch, renewed.acquired) == (lease.epoch, lease.acquired) and renewed.renewed >= lease.renewed
    place.watch.forward(40)
    assert code_of(other.acquire, "placement/web", "runner-b", 60) == "lease-held"


def test_a_lease_that_only_expired_can_still_be_renewed(place: Place, records: Records) -> None:
    lease = records.acquire("placement/web", "runner-a", 60)
    place.watch.forward(600)
    assert records.renew(lease).epoch == 1


def test_a_released_lease_cannot_be_used(records: Records) -> None:
    lease = records.acquire("placement/web", "runner-a", 60)
    records.release(lease)
    assert code_of(records.create, member(), lease) == "lease-lost"
    assert code_of(records.release, lease) == "lease-lost"


def test_two_processes_that_want_one_lease(place: Place, records: Records) -> None:
    """F6"""
    several = [worker(place, "acquire", f"runner-{n}") for n in range(3)]
    answers = sorted(finish(process) for process in several)
    assert answers == [(0, "1"), (0, "lease-held"), (0, "lease-held")]
    assert len(records.leases()) == 1


def test_names_of_leases_may_be_long(records: Records) -> None:
    name = "placement/" + ".".join(["x" * 60] * 4)
    lease = records.acquire(name, "runner-a", 60)
    assert records.create(member(), lease)
    assert lease.name == name and len(records.leases()) == 1


# Journal and secrets


def test_the_journal_is_told_in_order(place: Place, records: Records) -> None:
    records.create(member())
    for n in range(3):
        records.event(MC, "one", "Normal", "Joined", f"line {n}", place.watch())
        place.watch.forward(0.5)
    told = [(line.type, line.reason, line.message) for line in records.events(MC, "one")]
    assert told == [("Normal", "Joined", f"line {n}") for n in range(3)]
    assert records.events(MC, "two") == ()
    assert code_of(records.events, "Pod", "one") == "unknown-kind"
    assert code_of(records.event, "Pod", "one", "Normal", "A", "b", place.watch()) == "unknown-kind"


def test_the_digest_key_is_made_once(place: Place, records: Records) -> None:
    assert known_digest_key(records) == b""
    key = digest_key(records)
    assert len(key) == 32
    assert digest_key(place.open()) == key == known_digest_key(records)


def test_a_value_that_is_kept_stays(place: Place, records: Records) -> None:
    assert records.keep_secret("digest-key", b"first") == b"first"
    assert place.open().keep_secret("digest-key", b"second") == b"first"


# Crashes


def test_a_copy_in_a_file_holds_what_the_records_hold(place: Place, records: Records, tmp_path: Path) -> None:
    for name, labels in (("one", {"env": "prod"}), ("two", {"env": "test"})):
        records.create(member(name, labels, status=STATUS))
    records.acquire("placement/web", "someone", 300)
    digest_key(records)
    file = tmp_path / "copy.db"
    file.write_bytes(copy_of(records, place.watch.now))
    copy = SqliteRecords(file, place.watch)
    assert copy.origin == CopyOrigin(place=records.place, at=place.watch.now) and records.origin is None
    assert {kind: copy.list(kind) for kind in KINDS} == {kind: records.list(kind) for kind in KINDS}
    assert copy.list(MC, {"env": "prod"}) == (records.get(MC, "one"),)
    assert copy.leases() == records.leases() != () and known_digest_key(copy) == b""
    assert code_of(copy.create, member("three")) == "records-copy"
    copy.close()


def test_a_process_killed_between_write_and_commit_leaves_the_old_state(place: Place, records: Records) -> None:
    """F5, F24. On a file the write is undone. On a hub the spec stands without its status: the next run writes it."""
    first = records.create(member(status=STATUS))
    returncode, out = finish(worker(place, "die"))
    assert (returncode, out) == (-9, "dying")
    if place.options["type"] == "sqlite":
        assert Path(place.options["path"] + "-journal").stat().st_size  # the write had reached the file
    left = place.open().get(MC, "one")
    assert left and left["status"] == STATUS
    if place.options["type"] == "sqlite":
        assert left == first
    else:
        assert left["metadata"]["generation"] == 2
    mended = records.replace(left | {"spec": first["spec"], "status": {"properties": {"cost": {"value": "9"}}}})
    assert records.get(MC, "one") == mended
