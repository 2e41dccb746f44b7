# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One cluster under two names, one name that leads to two clusters: nothing is pruned, and nothing upgraded twice."""

from __future__ import annotations

import http.server
import json
import threading
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import identity
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import capture
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import (
    Joined,
    MemberSpec,
    join,
    specs_of_contexts,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, Left, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object, delete_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.discovery import resource_for
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import BUILT_IN, object_path
from ansible_collections.gitops.fleet.plugins.module_utils._kube.rbac import Subject, read_only_manifests
from further_user import client_kubeconfig
from small_fleet import PARENTS, Document, Fleet, Server, codes

KUBE_SYSTEM = "/api/v1/namespaces/kube-system"


def uid_of(server: Server) -> str:
    return str(server.client.get(KUBE_SYSTEM)["metadata"]["uid"])


def uids(fleet: Fleet) -> dict[str, str]:
    return {name: each.fleet.spec.cluster_uid for name, each in recorded_members(fleet.records).items()}


def elsewhere(fleet: Fleet, member: str, **changes: str) -> Path:
    """A kubeconfig of the member under another context, and with another address of the same server."""
    document = json.loads(fleet.kubeconfig(member).read_text())
    cluster = document["clusters"][0]["cluster"]
    cluster["server"] = cluster["server"].replace("127.0.0.1", changes.get("host", "localhost"))
    document["contexts"][0]["name"] = document["current-context"] = changes.get("context", "renamed")
    path = fleet.folder / f"elsewhere-{len(list(fleet.folder.iterdir()))}"
    path.write_text(json.dumps(document))
    return path


def joined(fleet: Fleet, write: bool = True, **kubeconfigs: Path) -> Joined:
    wishes = [MemberSpec(name=name, connection={"kubeconfig": str(path)}) for name, path in kubeconfigs.items()]
    return join(fleet.session(), wishes, write=write)


def refused(work: t.Callable[[], t.Any]) -> FleetError:
    with pytest.raises(FleetError) as caught:
        work()
    return caught.value


def let_go(fleet: Fleet, *names: str, **wish: t.Any) -> Left:
    return leave(fleet.session(), LeaveRequest(names=names, **wish), write=True)


def read_facts(fleet: Fleet) -> t.Any:
    return capture(fleet.session(), pods=False, prices=NO_PRICES, threads=4, timeout=2.0, record=True)


def forgotten(fleet: Fleet, *names: str) -> None:
    """As members were recorded before UIDs were."""
    for name in names:
        found = t.cast(Document, fleet.records.get("FleetMember", name))
        spec = {key: value for key, value in found["spec"].items() if key != "clusterUID"}
        fleet.records.replace({**found, "spec": spec})


def doubled(fleet: Fleet, name: str, like: str, kubeconfig: Path) -> None:
    """A second name of a member, as it was recorded before doubles were refused."""
    for each in (recorded_members(fleet.records)[like].cluster, recorded_members(fleet.records)[like].fleet):
        document = encode(each)
        if each.kind == "FleetMember":
            document["spec"] = {"connection": {"kubeconfig": str(kubeconfig)}}
        fleet.records.create({**document, "metadata": {"name": name}, "status": None})


def test_a_member_is_asked_once_in_a_run_which_cluster_it_is(
    file_fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_fleet.join("m1", "m2")
    file_fleet.place()
    asked: list[str] = []
    real = identity.cluster_words
    monkeypatch.setattr(identity, "cluster_words", lambda client: asked.append(client.server_name) or real(client))
    assert file_fleet.apply().changed
    assert sorted(asked) == ["m1", "m2"]


# One cluster, two names.


def test_a_cluster_that_joins_again_under_another_name_is_refused(fleet: Fleet) -> None:
    """However it is reached: another file, another context, another address."""
    fleet.join("m1")
    assert uids(fleet) == {"m1": uid_of(fleet.servers["m1"])}
    for path in (elsewhere(fleet, "m1"), elsewhere(fleet, "m1", host="127.0.0.1", context="m1-by-proxy")):
        with fleet.writing() as written:
            error = refused(lambda path=path: joined(fleet, second=path, m2=fleet.kubeconfig("m2")))
        assert [each.code for each in error.problems] == ["double-member"]
        assert "m1 and second are one cluster" in str(error) and uid_of(fleet.servers["m1"]) in str(error)
        assert written == [] and list(uids(fleet)) == ["m1"]
        assert refused(lambda path=path: joined(fleet, write=False, second=path)).code == "double-member"


def test_two_names_of_one_cluster_in_one_call_are_refused(file_fleet: Fleet) -> None:
    first, second = file_fleet.kubeconfig("m1"), elsewhere(file_fleet, "m1")
    error = refused(lambda: joined(file_fleet, east=first, west=second))
    assert [(each.code, each.where) for each in error.problems] == [("double-member", "east, west")]
    assert uids(file_fleet) == {}


def test_one_connection_for_two_members_is_refused_without_reaching_them(file_fleet: Fleet) -> None:
    file_fleet.cut("m1")
    path = file_fleet.kubeconfig("m1")
    roundabout = Path(f"{path.parent}/../{path.parent.name}/{path.name}")
    error = refused(lambda: joined(file_fleet, east=path, west=roundabout))
    assert [(each.code, each.where) for each in error.problems] == [("double-member", "east, west")]


def test_a_member_whose_connection_is_moved_to_the_cluster_of_another_is_refused(file_fleet: Fleet) -> None:
    file_fleet.join("m1", "m2")
    error = refused(lambda: joined(file_fleet, m2=elsewhere(file_fleet, "m1")))
    assert error.code == "other-cluster"
    wish = MemberSpec(name="m2", connection={"kubeconfig": str(elsewhere(file_fleet, "m1"))}, rebuilt=True)
    assert refused(lambda: join(file_fleet.session(holder="x"), [wish], write=True)).code == "double-member"


@pytest.mark.parametrize("known", [True, False], ids=["recorded UID", "joined before UIDs were kept"])
def test_a_double_in_the_records_stops_every_verb_that_writes(fleet: Fleet, known: bool) -> None:
    """The second name pruned what the first one had put there."""
    fleet.join("m1", "m3")
    fleet.place()
    fleet.apply()
    doubled(fleet, "second", "m1", elsewhere(fleet, "m1"))
    if known:
        read_facts(fleet)
    else:
        forgotten(fleet, "m1", "m3")
    fleet.resources(fleet.configmap(color="red"))
    before = fleet.servers["m1"].get(f"{PARENTS}/{fleet.name}")
    with fleet.servers["m1"].writing() as written, fleet.servers["m3"].writing() as others:
        error = refused(fleet.apply)
        assert (error.code, error.where) == ("double-member", "m1, second") and "state absent" in error.hint
        assert refused(fleet.end).code == "double-member"
    assert written == [] and others == []
    assert fleet.servers["m1"].get(f"{PARENTS}/{fleet.name}") == before
    assert uids(fleet)["second"] == uids(fleet)["m1"] == uid_of(fleet.servers["m1"])

    fleet.said.clear()
    assert not fleet.look().problems
    assert any("m1 and second are one cluster" in each for each in fleet.said), fleet.said


def test_facts_record_what_is_not_known_yet_and_tell_of_doubles(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    doubled(fleet, "second", "m1", elsewhere(fleet, "m1"))
    forgotten(fleet, "m1", "m2")
    notes = read_facts(fleet).notes
    assert [(each.code, each.where) for each in notes] == [("double-member", "m1, second")]
    assert uids(fleet) == {name: uid_of(fleet.servers[name[:2] if name != "second" else "m1"]) for name in uids(fleet)}
    with fleet.writing(but=("fleetmembers", "memberclusters")) as written:
        read_facts(fleet)
    assert written == []


def test_one_of_two_names_leaves_and_nothing_on_the_cluster_is_touched(fleet: Fleet) -> None:
    fleet.join("m1", "m2", "m3")
    fleet.place()
    fleet.apply()
    doubled(fleet, "second", "m1", elsewhere(fleet, "m1"))
    with fleet.servers["m1"].writing() as written:
        left = let_go(fleet, "second", remove=True)
    assert (left.left, left.doubles, written) == (("second",), ("second",), [])
    assert fleet.holders() == ["m1", "m2", "m3"] and list(uids(fleet)) == ["m1", "m2", "m3"]
    assert not fleet.apply().changed


def test_when_both_names_leave_what_was_placed_is_removed_once(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    file_fleet.place()
    file_fleet.apply()
    doubled(file_fleet, "second", "m1", elsewhere(file_fleet, "m1"))
    left = let_go(file_fleet, "m1", "second", remove=True)
    assert (left.left, left.doubles, left.failed) == (("m1", "second"), ("m1",), ())
    assert file_fleet.holders() == [] and uids(file_fleet) == {}


# One name, two clusters.


def test_another_cluster_behind_a_members_connection_is_not_touched(fleet: Fleet) -> None:
    """F1: what is known of the member stays, and no other member is hindered."""
    fleet.join("m1", "m3")
    fleet.place()
    fleet.apply()
    fleet.log_in("m1", fleet.kubeconfig("m2"))
    fleet.resources(fleet.configmap(color="red"))
    with fleet.servers["m1"].writing() as first, fleet.servers["m2"].writing() as second:
        report = fleet.apply()
        looked = fleet.look()
    assert first == [] and second == []
    assert codes(report) == codes(looked) == {"other-cluster"}
    told = str(report.problems[0])
    assert uid_of(fleet.servers["m1"]) in told and uid_of(fleet.servers["m2"]) in told and "rebuilt: true" in told
    assert fleet.servers["m3"].data(fleet.namespaced("configmaps", "settings")) == {"color": "red"}
    assert fleet.servers["m1"].data(fleet.namespaced("configmaps", "settings")) == {"color": "blue"}
    assert {name: error.code for name, error in read_facts(fleet).reading.failed.items()} == {"m1": "other-cluster"}
    assert uids(fleet)["m1"] == uid_of(fleet.servers["m1"])


def test_a_rebuilt_cluster_is_accepted_only_when_that_is_said(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    fleet.log_in("m1", fleet.kubeconfig("m2"))
    assert fleet.join("m1").unchanged == ("m1",)
    assert refused(lambda: joined(fleet, m1=elsewhere(fleet, "m2"))).code == "other-cluster"
    wish = MemberSpec(name="m1", connection={"kubeconfig": str(fleet.kubeconfig("m1"))}, rebuilt=True)
    assert join(fleet.session(), [wish], write=False).changed == ("m1",)
    assert uids(fleet)["m1"] == uid_of(fleet.servers["m1"])
    assert join(fleet.session(), [wish], write=True).changed == ("m1",)
    assert uids(fleet)["m1"] == uid_of(fleet.servers["m2"])
    assert join(fleet.session(), [wish], write=True).unchanged == ("m1",)
    assert not fleet.apply().problems and fleet.is_ours("m2", fleet.namespaced("configmaps", "settings"))


def test_a_member_that_leaves_deletes_nothing_on_another_cluster(fleet: Fleet) -> None:
    """m2 holds the same placement: what leaves m1 would have been deleted there."""
    fleet.join("m1", "m2", "m3")
    fleet.place()
    fleet.apply()
    fleet.log_in("m1", elsewhere(fleet, "m2"))
    with fleet.writing() as written:
        error = refused(lambda: let_go(fleet, "m1", remove=True))
    assert written == [] and error.code == "other-cluster" and "forget_unreachable" in error.hint
    with fleet.servers["m2"].writing() as written:
        left = let_go(fleet, "m1", remove=True, forget_unreachable=True)
    assert written == [] and (left.left, left.unreachable) == (("m1",), ("m1",))
    assert fleet.holders() == ["m1", "m2", "m3"] and list(uids(fleet)) == ["m2", "m3"]


# Accounts that may not ask.


@pytest.fixture
def blind(servers: dict[str, Server]) -> t.Iterator[Path]:
    """A kubeconfig of m1 for what a plan needs, but for its namespaces."""
    server, subject = servers["m1"], Subject("User", "blind")
    manifests = [dict(each) for each in read_only_manifests(subject, [BUILT_IN["v1", "ConfigMap"]])]
    (role,) = [each for each in manifests if each["kind"] == "ClusterRole"]
    role["rules"] = [
        {**each, "resources": [one for one in each.get("resources", ()) if one != "namespaces"]} if "resources" in each
        else each
        for each in role["rules"]
    ]  # fmt: skip
    for each in manifests:
        apply_object(server.client, each, "administrator")
    yield client_kubeconfig(server.folder, "blind")
    for each in manifests[1:]:
        resource = resource_for(server.client, each["apiVersion"], each["kind"])
        delete_object(server.client, object_path(resource, each, ""))


def test_an_account_that_cannot_tell_the_cluster_reads_with_a_note_and_writes_nothing(
    file_fleet: Fleet, blind: Path
) -> None:
    fleet = file_fleet
    fleet.join("m1", "m2")
    fleet.resources(fleet.configmap(), namespace=False)
    fleet.place()
    fleet.log_in("m1", blind)
    fleet.look()
    (note,) = [each for each in fleet.said if each.startswith("note: m1")]
    assert "resourceNames: [kube-system]" in note and "cannot get" in note
    assert [each.where for each in read_facts(fleet).notes] == ["m1"] and not read_facts(fleet).reading.failed
    with fleet.servers["m1"].writing() as written:
        report = fleet.apply()
    assert written == []
    (problem,) = [each for each in report.problems if each.where.startswith("m1")]
    assert problem.code == "forbidden" and "resourceNames: [kube-system]" in problem.hint
    assert refused(lambda: joined(fleet, third=blind)).code == "forbidden"
    assert refused(lambda: let_go(fleet, "m1")).code == "forbidden"


# What a cluster tells of itself when it joins.


class _Told(http.server.BaseHTTPRequestHandler):
    version: t.Any = "v1.36.3"
    uid: t.Any = "0b6c3ad2-0000-4000-8000-000000000001"

    def do_GET(self) -> None:
        told = {"/version": {"gitVersion": self.version}, KUBE_SYSTEM: {"metadata": {"uid": self.uid}}}[self.path]
        data = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments: t.Any) -> None:
        return


@pytest.mark.parametrize(
    ("version", "uid", "code"),
    [
        ("v1.36.3\n::error::all is lost", _Told.uid, "no-version"),
        ("\x1b[2Jgreen", _Told.uid, "no-version"),
        ("{{ lookup('ansible.builtin.pipe', 'id') }}", _Told.uid, "no-version"),
        ("v" * 100_000, _Told.uid, "no-version"),
        ({"a": 1}, _Told.uid, "bad-answer"),
        ("v1.20.1", _Told.uid, "server-too-old"),
        ("v1.36.3", "../../etc/passwd", "bad-answer"),
        ("v1.36.3", "", "bad-answer"),
        ("v1.36.3", ["0b6c3ad2-0000-4000-8000-000000000001"], "bad-answer"),
    ],
)
def test_what_is_no_version_and_no_uid_does_not_join(file_fleet: Fleet, version: t.Any, uid: t.Any, code: str) -> None:
    handler = type("Told", (_Told,), {"version": version, "uid": uid})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        path = elsewhere(file_fleet, "m1")
        document = json.loads(path.read_text())
        document["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{server.server_port}"}
        path.write_text(json.dumps(document))
        error = refused(lambda: joined(file_fleet, liar=path))
        server.shutdown()
    assert [each.code for each in error.problems] == [code]
    assert "\x1b" not in str(error) and "\n" not in str(error) and len(str(error)) < 400
    assert uids(file_fleet) == {}


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "Prod", "prod\n", ".", "..", "-a", "a" * 64, "ä"])
def test_names_that_are_no_names_do_not_join(file_fleet: Fleet, name: str) -> None:
    """F29."""
    error = refused(lambda: joined(file_fleet, **{name: file_fleet.kubeconfig("m1")}))
    assert {each.code for each in error.problems} <= {"invalid-name", "name-too-long"}
    assert uids(file_fleet) == {}


def test_names_that_differ_in_case_only_do_not_join_together(file_fleet: Fleet) -> None:
    """F29: of contexts too, that are joined by a pattern."""
    document = json.loads(file_fleet.kubeconfig("m1").read_text())
    document["contexts"] = [{**document["contexts"][0], "name": name} for name in ("prod", "PROD")]
    path = file_fleet.folder / "two-contexts"
    path.write_text(json.dumps(document))
    wishes = specs_of_contexts(str(path), "*")
    error = refused(lambda: join(file_fleet.session(holder="x"), wishes, write=True))
    assert error.code == "duplicate-member" and "PROD, prod" in str(error)
    twice = [replace(wishes[0], name="m1")] * 2
    assert refused(lambda: join(file_fleet.session(holder="x"), twice, write=True)).code == "duplicate-member"
