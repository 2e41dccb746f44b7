# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Asking for windows that live on clusters."""

from __future__ import annotations

import json
import sys
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.own_maintenance import (
    annotated,
    commands_of,
)

FREEZE = {"name": "sales", "start": "2026-11-20", "end": "2026-12-01"}


def member(name: str, provider: str = "") -> FleetMember:
    spec = {"connection": {"kubeconfig": "/k"}, "provider": provider, "location": "eu"}
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
    return commands_of({"aks": argv}, {"PATH": "/usr/bin:/bin"}).told(east, clients)


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


@pytest.mark.parametrize("argv", ["az aks", [], [""], [1]])
def test_only_lists_of_arguments_are_commands(argv: t.Any):
    with pytest.raises(FleetError) as refused:
        commands_of({"aks": argv}, {})
    assert [each.where for each in refused.value.problems] == ["maintenance_commands.aks"]
