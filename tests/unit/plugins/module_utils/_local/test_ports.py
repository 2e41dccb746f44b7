# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Ports: one slot a cluster, never one that somebody else holds or listens on."""

from __future__ import annotations

import os
import socket

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import ports
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import (
    PortRange,
    free_slot,
    is_free,
    port_holder,
)


@pytest.fixture
def all_free(monkeypatch):
    monkeypatch.setattr(ports, "is_free", lambda port: True)


def test_slots_do_not_overlap_and_stay_in_the_range():
    slots = list(PortRange(100, 130).slots())
    numbers = [port for slot in slots for port in slot.values()]
    assert len(slots) == 5 and len(set(numbers)) == 30
    assert min(numbers) == 100 and max(numbers) <= 130


def test_the_first_slot_that_no_other_cluster_holds(all_free):
    first = free_slot(PortRange(100, 130), ())
    assert list(first.values()) == [100, 101, 102, 103, 104, 105]
    assert min(free_slot(PortRange(100, 130), [*first.values(), 111]).values()) == 112


def test_a_full_range_is_said(all_free):
    with pytest.raises(FleetError) as refused:
        free_slot(PortRange(100, 110), [103])
    assert refused.value.code == "no-free-ports"


def test_a_port_with_a_listener_is_not_free():
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not is_free(server.getsockname()[1])


def test_a_listener_on_all_addresses_counts():
    with socket.create_server(("0.0.0.0", 0)) as server:
        assert not is_free(server.getsockname()[1])


def test_a_port_is_free_as_soon_as_its_server_has_gone():
    """A closed connection lingers for a minute; a server may listen there all the same."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _address = server.accept()
        accepted.close()
        client.close()
    assert is_free(port)


@pytest.mark.parametrize("family, address", [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::")])
def test_who_listens_on_a_port_is_named(family, address):
    with socket.create_server((address, 0), family=family) as server:
        assert port_holder(server.getsockname()[1]).startswith(f"process {os.getpid()} (")


def test_who_has_opened_a_connection_from_a_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert port_holder(client.getsockname()[1]).startswith(f"process {os.getpid()} (")


def test_one_that_nobody_here_has_is_another_processes():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert port_holder(port) == "another process"
