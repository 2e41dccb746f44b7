# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Asking for windows that live on clusters."""

from __future__ import annotations

import json
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import own_maintenance
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.own_maintenance import (
    annotated,
    commands_of,
)

FREEZE = {"name": "sales", "start": "2026-11-20", "end": "2026-12-01"}


def member(name: str, provider: str = "", location: str = "eu") -> FleetMember:
    spec = {"connection": {"kubeconfig": "/k"}, "provider": provider, "location": location}
    kind = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMember", "metadata": {"name": name}}
    return decode(FleetMember, {**kind, "spec": spec})


def printing(text: str, code: int = 0) -> list[str]:
    """A command that prints its own arguments in place of ``ARGS``."""
    script = f"import sys; print({text!r}.replace('ARGS', ' '.join(sys.argv[1:]))); sys.exit({code})"
    return [sys.executable, "-c", script, "{member}", "{location}"]


def told(argv: t.Any, provider: str = "aks", words: str = "") -> t.Any:
    east = member("east", provider)
    clients = Clients({"east": east})
    clients.identities.maintenance["east"] = words
    return commands_of({"aks": argv}, {"PATH": "/usr/bin:/bin"}).ask(east, clients)


def test_the_command_of_its_provider_is_asked_for_each_member():
    found = told(printing(json.dumps({"freezes": [{**FREEZE, "reason": "ARGS"}]})))
    assert [each.reason for each in found.freezes] == ["east eu"] and found.source.startswith("told by ")


def test_others_bear_an_annotation_or_nothing():
    words = json.dumps({"freezes": [FREEZE]})
    found = told(printing("{}"), provider="own", words=words)
    assert [each.name for each in found.freezes] == ["sales"]
    assert found.source == "annotation gitops.fleet/maintenance"
    assert told(printing("{}"), provider="own") is None


def test_what_could_not_be_read_is_no_empty_answer():
    with pytest.raises(FleetError) as unread:
        annotated("east", Clients({"east": member("east")}))
    assert unread.value.code == "maintenance-unread"


@pytest.mark.parametrize(
    "argv, code, words",
    [
        (printing("logged out", 1), "maintenance-unread", "ended with 1: logged out"),
        (printing("three"), "invalid-maintenance", "no JSON"),
        (["/nowhere/az"], "maintenance-unread", "/nowhere/az"),
    ],
)
def test_a_command_that_fails_says_so(argv: list[str], code: str, words: str):
    with pytest.raises(FleetError) as failed:
        told(argv)
    assert failed.value.code == code and words in failed.value.message


@pytest.mark.parametrize(
    "argv, location",
    [
        (["sh", "-c", "echo [] ; true {location}"], "eu; touch made"),
        (["cat", "{location}"], "--version"),
        (["cat", "{location}"], "eu\x1b"),
    ],
    ids=["script", "option", "control"],
)
def test_what_a_member_says_is_neither_option_nor_script(
    argv: list[str], location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whoever may write a FleetMember must not choose what is run."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FleetError) as refused:
        commands_of({"aks": argv}, {"PATH": "/usr/bin:/bin"}).ask(member("east", "aks", location), Clients({}))
    assert refused.value.code == "unsafe-argument" and not list(tmp_path.iterdir())


def test_a_script_reads_what_a_member_says_in_its_environment():
    script = 'printf \'{"freezes": [{"name": "x", "start": "2026-11-20", "end": "2026-12-01", "reason": "%s"}]}\' '
    argv = ["sh", "-c", script + '"$GITOPS_FLEET_LOCATION"']
    found = commands_of({"aks": argv}, {"PATH": "/usr/bin:/bin"}).ask(
        member("east", "aks", "eu; touch made"), Clients({})
    )
    assert found is not None and [each.reason for each in found.freezes] == ["eu; touch made"]


def test_a_command_that_hangs_is_ended_with_all_that_it_began(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(own_maintenance, "SECONDS", 2.0)
    begun = time.monotonic()
    with pytest.raises(FleetError) as failed:
        told(["sh", "-c", f"sleep 986 & echo $! > {tmp_path}/pid; wait"])
    assert failed.value.code == "maintenance-unread" and time.monotonic() - begun < 60
    pid = (tmp_path / "pid").read_text().strip()
    stat = Path(f"/proc/{pid}/stat")
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX":
        assert time.monotonic() - begun < 60
        time.sleep(0.05)


def test_of_a_flood_no_more_is_kept_than_anybody_reads():
    with pytest.raises(FleetError) as failed:
        told([sys.executable, "-c", "print('[' * 20_000_000)"])
    assert failed.value.code == "invalid-maintenance" and len(str(failed.value)) < 1000


def test_it_has_of_the_environment_what_its_tool_needs_and_nothing_else():
    script = (
        "import json, os; reason = 'told' if 'SECRET' in os.environ else 'kept';"
        "print(json.dumps({'freezes': [{**json.loads(os.environ['AZURE_X']), 'reason': reason}]}))"
    )
    environ = {"PATH": "/usr/bin:/bin", "SECRET": "canary", "AZURE_X": json.dumps(FREEZE)}
    commands = commands_of({"aks": [sys.executable, "-c", script]}, environ)
    found = commands.ask(member("east", "aks"), Clients({}))
    assert found is not None and [each.reason for each in found.freezes] == ["kept"]
    assert "canary" not in repr(commands)


@pytest.mark.parametrize("argv", ["az aks", [], [""], [1]])
def test_only_lists_of_arguments_are_commands(argv: t.Any):
    with pytest.raises(FleetError) as refused:
        commands_of({"aks": argv}, {})
    assert [each.where for each in refused.value.problems] == ["maintenance_commands.aks"]
