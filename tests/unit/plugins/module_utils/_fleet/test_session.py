# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a verb works with is opened once, and a hub is found by one rule."""

from __future__ import annotations

import json
import re
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments import hub as environment
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import connection_of, open_clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session, open_session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.conducting import operations_folder
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._store.hub import HubRecords, hub_client
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records

ROOMS = Path(__file__).resolve().parents[5] / "plugins" / "module_utils"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
HUB = {"type": "hub"}


def kubeconfig(path: Path, port: int, context: str = "one") -> str:
    """A kubeconfig whose context leads to that port; it knows one more, which leads to the next port."""
    rows = [(context, port), ("other", port + 1)]
    document = {
        "current-context": context,
        "clusters": [{"name": name, "cluster": {"server": f"https://127.0.0.1:{at}"}} for name, at in rows],
        "users": [{"name": "u", "user": {"token": "canary"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name, _at in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return str(path)


def server_of(client: KubeClient | None) -> str:
    assert client is not None
    return client.connection.server


def by_hub_verb(options: t.Any, environ: dict[str, str]) -> str:
    """The API server on which the verb ``hub`` would install."""
    found: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(environment, "install", lambda client, write: found.append(server_of(client)))
        environment.install_by_options(options, environ, write=False)
    return found[0]


def by_records(options: t.Any, environ: dict[str, str]) -> str:
    records = open_records({**HUB, **options}, environ, lambda: NOW)
    assert isinstance(records, HubRecords)
    return server_of(records.client)


FINDERS = {
    "hub_client": lambda options, environ: server_of(hub_client(options, environ)),
    "records": by_records,
    "session": lambda options, environ: server_of(
        open_session({"records": {**HUB, **options}}, environ, writes=True).hub
    ),
    "verb hub": by_hub_verb,
}


@pytest.mark.parametrize("finder", FINDERS)
def test_every_verb_finds_a_hub_by_one_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finder: str) -> None:
    """As kubectl does: what is named, else KUBECONFIG, else the home; of the task's environment, which may say other
    things than that of this process."""
    monkeypatch.setenv("KUBECONFIG", kubeconfig(tmp_path / "of-this-process", 10))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    named, variable = kubeconfig(tmp_path / "named", 20), kubeconfig(tmp_path / "variable", 30)
    more = kubeconfig(tmp_path / "more", 40, "first")
    home = {"HOME": str(tmp_path / "home")}
    kubeconfig(tmp_path / "home" / ".kube" / "config", 50)
    kubeconfig(tmp_path / "home" / "mine", 60)
    for options, environ, port in (
        ({"kubeconfig": named}, {"KUBECONFIG": variable, **home}, 20),
        ({"kubeconfig": named, "context": "other"}, {"KUBECONFIG": variable, **home}, 21),
        ({"kubeconfig": "~/mine"}, {"KUBECONFIG": variable, **home}, 60),
        ({"kubeconfig": None, "context": None}, {"KUBECONFIG": variable, **home}, 30),
        ({"context": "one"}, {"KUBECONFIG": f"{more}:{variable}", **home}, 30),
        ({}, {"KUBECONFIG": f"{more}:{variable}", **home}, 40),
        ({}, {"KUBECONFIG": "~/nothing:~/mine", **home}, 60),
        ({}, {"KUBECONFIG": "", **home}, 50),
        ({}, home, 50),
    ):
        assert FINDERS[finder](options, environ) == f"https://127.0.0.1:{port}", (options, environ)
    with pytest.raises(FleetError) as caught:
        FINDERS[finder]({}, {"HOME": str(tmp_path / "nowhere")})
    assert caught.value.code == "kubeconfig-missing" and "nowhere/.kube/config" in str(caught.value)


def test_the_rule_stands_in_one_file() -> None:
    reads = re.compile(r"""environ[^\n]*["']KUBECONFIG["']|\.kube/config""")
    found = {file.name for file in ROOMS.rglob("*.py") if reads.search(file.read_text("utf-8"))}
    assert found == {"kubeconfig.py"}


def test_the_hub_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its plugins for logins run once, and what it says of itself is heard once."""
    made: list[KubeClient] = []
    real = KubeClient.__init__

    def init(client: KubeClient, *arguments: t.Any, **options: t.Any) -> None:
        made.append(client)
        real(client, *arguments, **options)

    monkeypatch.setattr(KubeClient, "__init__", init)
    options = {"records": {**HUB, "kubeconfig": kubeconfig(tmp_path / "hub", 10)}}
    with open_session(options, {}, writes=True) as session:
        assert made == [session.hub]
        assert isinstance(session.records, HubRecords) and session.records.client is session.hub


def test_it_is_what_the_options_name(tmp_path: Path) -> None:
    said: list[str] = []
    options = {"records": {"type": None, "path": str(tmp_path / "r.db"), "context": None}, "holder": "anna"}
    with open_session(options, {"A": "b"}, writes=True, say=said.append, clock=lambda: NOW) as session:
        session.say("line")
        assert session.records.place == str(tmp_path / "r.db") and session.hub is None
        assert (session.holder, session.clock(), session.environ, said) == ("anna", NOW, {"A": "b"}, ["line"])
        assert session.records.acquire("a", "b", 60).renewed == NOW, "records and their user have one clock"


@pytest.mark.parametrize("part", ["kubeconfig", "context"])
def test_who_names_a_hub_and_not_its_type_gets_no_file(tmp_path: Path, part: str) -> None:
    """Records in a file that nobody asked for are an empty fleet, and what is there already is forgotten."""
    with pytest.raises(FleetError) as caught:
        open_session({"records": {"path": str(tmp_path / "r.db"), part: "hub"}}, {}, writes=False)
    assert caught.value.code == "bad-option" and part in str(caught.value) and "type" in caught.value.hint


def test_what_ansible_fills_in_for_a_file_is_passed_over_for_a_hub(tmp_path: Path) -> None:
    filled = {**HUB, "path": "r.db", "durable": False, "kubeconfig": kubeconfig(tmp_path / "hub", 10)}
    assert server_of(open_session({"records": filled}, {}, writes=True).hub) == "https://127.0.0.1:10"


@pytest.mark.parametrize(("given", "kept"), [({"reason": "CHG-7"}, "CHG-7"), ({"reason": None}, ""), ({}, "")])
def test_it_keeps_why_the_verb_was_called(tmp_path: Path, given: dict[str, t.Any], kept: str) -> None:
    options = {"records": {"path": str(tmp_path / "r.db")}, **given}
    with open_session(options, {"USER": "anna"}, writes=False) as session:
        assert session.reason == kept


def test_it_tells_the_present_to_the_second(tmp_path: Path) -> None:
    with open_session({"records": {"path": str(tmp_path / "r.db")}}, {"USER": "anna"}, writes=False) as session:
        assert session.clock().microsecond == 0 and session.clock().utcoffset() == timedelta(0)
        assert session.holder.startswith("anna@")


def test_records_that_would_be_lost_are_refused_to_who_writes(tmp_path: Path) -> None:
    options = {"records": {"path": str(tmp_path / "r.db"), "durable": False}}
    open_session(options, {"CI": "true"}, writes=False)
    with pytest.raises(FleetError) as caught:
        open_session(options, {"CI": "true"}, writes=True)
    assert caught.value.code == "no-durable-records"


def test_a_session_and_its_clients_show_nothing_of_the_environment(tmp_path: Path) -> None:
    environ = {"TOKEN": "canary", "HOME": str(tmp_path)}
    with open_session({"records": {"path": "~/r.db"}}, environ, writes=False) as session:
        assert "canary" not in repr(session) and "canary" not in repr(open_clients(session, {}))


def test_members_are_reached_by_the_environment_of_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``~`` and ``$HOME`` are one folder, wherever a kubeconfig is named."""
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    kubeconfig(tmp_path / "east", 10)
    session = Session(records=open_records({}, {}, lambda: NOW), holder="me", environ={"HOME": str(tmp_path)})
    for path in ("~/east", "$HOME/east"):
        document = {"metadata": {"name": "east"}, "spec": {"connection": {"kubeconfig": path}}}
        member = decode(FleetMember, document)
        assert open_clients(session, {"east": member}).environ == session.environ
        assert connection_of(member, None, session.environ).server == "https://127.0.0.1:10"


def test_operations_are_kept_in_the_home_of_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "of-this-process"))
    environ = {"HOME": str(tmp_path)}
    assert operations_folder("~/kept", environ) == tmp_path / "kept"
    assert operations_folder("", environ) == tmp_path / ".local/state/gitops-fleet/operations"
    assert operations_folder("", {**environ, "XDG_STATE_HOME": "/state"}) == Path("/state/gitops-fleet/operations")
    assert operations_folder("", {}) == tmp_path / "of-this-process/.local/state/gitops-fleet/operations"
