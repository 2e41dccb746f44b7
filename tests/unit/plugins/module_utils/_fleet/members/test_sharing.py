# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members that are shared out among processes: what is known afterwards is what one process would know."""

from __future__ import annotations

import os
import signal
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.sharing import shared_out
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection_notes import CONNECTION_NOTES
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import SHOWN

NAMES = [f"m{number}" for number in range(12)]
UID = "11111111-2222-3333-4444-555555555555"


def fleet() -> Clients:
    return Clients(members={name: decode(FleetMember, {"metadata": {"name": name}, "spec": {}}) for name in NAMES})


def read(clients: Clients, names: t.Sequence[str]) -> dict[str, int | FleetError]:
    """As a read of members does: it notes what it shows, uses and sees."""
    for name in names:
        SHOWN.add(f"a-token-that-is-shown-to-{name}")
        CONNECTION_NOTES.note(Connection(name=name, server="https://example"), f"seen of {name}")
        clients.identities._saw(name, UID if name in ("m0", "m1", "m2", "m3") else f"{name}-{UID}")
    return {name: FleetError("unreachable", "no route", name) if name == "m5" else os.getpid() for name in names}


@pytest.mark.parametrize("workers", [1, 2, 3, 40])
def test_every_member_has_its_answer_in_the_order_given(workers: int) -> None:
    found = shared_out(fleet(), reversed(NAMES), workers, read)
    assert list(found) == NAMES[::-1]
    assert t.cast(FleetError, found.pop("m5")).code == "unreachable"
    assert 1 <= len(set(found.values())) <= workers
    assert workers == 1 or len(set(found.values())) > 1
    assert os.getpid() in found.values()


@pytest.mark.parametrize("workers", [1, 3])
def test_what_was_learned_on_the_way_is_known_here(workers: int) -> None:
    """Tokens that were shown are taken out of every text; notes are told; a cluster of two names is found, though they
    were read by two processes."""
    clients = fleet()
    CONNECTION_NOTES.take()
    shared_out(clients, NAMES, workers, read)
    assert all(SHOWN.without_secrets(f"a-token-that-is-shown-to-{name}") == "(hidden)" for name in NAMES)
    assert CONNECTION_NOTES.take() == {name: [f"seen of {name}"] for name in sorted(NAMES)}
    assert sorted(clients.identities.seen) == sorted(NAMES)
    (note,) = clients.identities.notes()
    assert "m0 and m1 and m2 and m3 are one cluster" in note.message


def test_the_members_of_a_lost_process_are_unread_and_no_others() -> None:
    """F1: that is no answer, and not one that they are gone."""
    here = os.getpid()

    def dies(clients: Clients, names: t.Sequence[str]) -> dict[str, int | FleetError]:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return read(clients, names)

    found = shared_out(fleet(), NAMES, 2, dies)
    lost = [each for each in found.values() if isinstance(each, FleetError) and each.code == "worker-lost"]
    assert {each.where for each in lost} == {
        name for name, each in found.items() if isinstance(each, FleetError) and each.code != "unreachable"
    }
    assert lost and here in found.values()
