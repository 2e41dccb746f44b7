# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members as the records have them, and their clients: every one is closed, however a run ends."""

from __future__ import annotations

import typing as t
from functools import partial

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.missing_record import lacks_record
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients, recorded_members

NAMES = ("m1", "m2")


class Kept:
    """Records of members, as a hub may have them."""

    def __init__(self, **specs: t.Any) -> None:
        self._specs = specs

    def list(self, kind: str) -> list[dict[str, t.Any]]:
        found = self._specs if kind == "FleetMember" else {}
        return [{"kind": kind, "metadata": {"name": name}, "spec": spec} for name, spec in found.items()]


def test_a_member_that_cannot_be_read_has_not_left_the_fleet() -> None:
    """What is on it is not taken for lost, so that it is told, with all others of that kind."""
    assert list(recorded_members(t.cast(t.Any, Kept(m2={}, m1={})))) == ["m1", "m2"]
    with pytest.raises(FleetError) as refused:
        recorded_members(t.cast(t.Any, Kept(m1={}, m2="text", m3={"connection": []})))
    assert {each.where for each in refused.value.problems} == {"FleetMember/m2", "FleetMember/m3"}
    assert {each.code for each in refused.value.problems} == {"record-damaged"}


def test_a_member_whose_member_cluster_is_gone_stays_one_of_which_no_label_is_known() -> None:
    """As where it was deleted by hand: it is not taken for one without labels, that was never evacuated, and for which
    no freeze is."""
    (member,) = recorded_members(t.cast(t.Any, Kept(m1={}))).values()
    assert lacks_record(member.cluster) and not member.labels_known and member.cluster.metadata.labels == {}


def test_a_mistyped_name_is_not_answered_with_a_thousand() -> None:
    there = [f"prod-{number:03}" for number in range(1000)]
    assert members.no_such_member("prod-0o7", there).hint == "did you mean prod-907?", "as like as prod-007"
    assert members.no_such_member("x", there).hint.endswith("prod-005 and 994 more")
    assert members.no_such_member("x", ()).hint == "there are: none"


class Client:
    """One that only knows whether it is open."""

    opened: t.ClassVar[list[Client]] = []

    def __init__(self, _connection: t.Any, **_options: t.Any) -> None:
        self.is_open = True
        self.opened.append(self)

    def start_time_budget(self) -> None:
        pass

    def close(self) -> None:
        self.is_open = False


def clients(monkeypatch: pytest.MonkeyPatch, admit: t.Callable[[str, t.Any], None]) -> Clients:
    monkeypatch.setattr(Client, "opened", [])
    monkeypatch.setattr(members, "KubeClient", Client)
    monkeypatch.setattr(members, "connection_of", lambda *_given: None)
    fleet = {name: decode(FleetMember, {"metadata": {"name": name}}) for name in NAMES}
    found = Clients(members=fleet)
    monkeypatch.setattr(found.identities, "admit", admit)
    return found


@pytest.mark.parametrize("raised", [FleetError("another-cluster", "it is"), KeyError("uid"), KeyboardInterrupt()])
def test_one_that_is_not_let_in_is_closed_whatever_was_raised(
    monkeypatch: pytest.MonkeyPatch, raised: BaseException
) -> None:
    def admit(_name: str, _client: t.Any) -> None:
        raise raised

    with pytest.raises(type(raised)):
        clients(monkeypatch, admit).get("m1")
    assert [each.is_open for each in Client.opened] == [False]


def test_one_that_a_thread_opens_after_the_end_is_closed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an interrupt, which leaves threads to themselves."""
    opened: Clients

    def admit(name: str, _client: t.Any) -> None:
        if name == "m2":
            opened.__exit__()

    opened = clients(monkeypatch, admit)
    opened.get("m1")
    for name in ("m2", "m1"):
        with pytest.raises(FleetError) as refused:
            opened.get(name)
        assert refused.value.code == "interrupted"
    assert len(Client.opened) == 2 and not any(each.is_open for each in Client.opened)


def test_one_that_is_opened_while_all_are_closed_keeps_none_of_them_open(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = clients(monkeypatch, lambda _name, _client: None)
    opened.get("m1")

    def close(client: Client) -> None:
        client.is_open = False
        with pytest.raises(FleetError):
            opened.get("m2")

    monkeypatch.setattr(Client, "close", close)
    opened.__exit__()
    assert not any(each.is_open for each in Client.opened)


def test_those_of_another_process_are_open_though_these_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = clients(monkeypatch, lambda _name, _client: None)
    opened.__exit__()
    own = opened.apart()
    monkeypatch.setattr(own.identities, "admit", partial(lambda *_given: None))
    assert own.get("m1")
