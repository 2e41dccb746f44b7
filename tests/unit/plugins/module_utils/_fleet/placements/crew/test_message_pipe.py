# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Messages arrive whole and in order, whatever pieces they come in."""

from __future__ import annotations

import pickle
import socket
import threading
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.crew.message_pipe import MessagePipe


@pytest.fixture
def raw() -> t.Iterator[tuple[MessagePipe, socket.socket]]:
    ours, theirs = socket.socketpair()
    yield MessagePipe(ours), theirs
    ours.close()
    theirs.close()


@pytest.fixture
def ends() -> t.Iterator[tuple[MessagePipe, MessagePipe]]:
    made = tuple(map(MessagePipe, socket.socketpair()))
    yield made[0], made[1]
    for each in made:
        each.close()


def test_what_is_said_is_heard_in_order(ends: tuple[MessagePipe, MessagePipe]) -> None:
    for message in ("one", {"two": 2}, None):
        ends[0].send(message)
    assert [ends[1].receive() for _each in range(3)] == ["one", {"two": 2}, None]


def test_a_message_may_be_larger_than_what_the_kernel_holds(ends: tuple[MessagePipe, MessagePipe]) -> None:
    sender = threading.Thread(target=ends[0].send, args=(bytes(30_000_000),))
    sender.start()
    assert len(ends[1].receive()) == 30_000_000
    sender.join()


def test_half_a_message_is_none_yet(raw: tuple[MessagePipe, socket.socket]) -> None:
    pipe, other = raw
    content = pickle.dumps("whole")
    framed = len(content).to_bytes(8, "big") + content
    for place in range(len(framed) - 1):
        other.sendall(framed[place : place + 1])
        assert pipe.arrived() == [] and not pipe.ended
    other.sendall(framed[-1:] + framed + framed[:3])
    assert [pickle.loads(each) for each in pipe.arrived()] == ["whole", "whole"]


def test_the_end_is_noticed_behind_what_was_said_before(raw: tuple[MessagePipe, socket.socket]) -> None:
    pipe, other = raw
    MessagePipe(other).send("last")
    other.close()
    assert list(map(pickle.loads, pipe.arrived())) == ["last"] and pipe.ended
    with pytest.raises(EOFError):
        pipe.receive()
    with pytest.raises(OSError):
        pipe.send("too late")


def test_who_ends_it_ends_it_for_both(ends: tuple[MessagePipe, MessagePipe]) -> None:
    ends[0].end()
    ends[0].end()
    assert ends[0].arrived() == [] and ends[0].ended
    with pytest.raises(EOFError):
        ends[1].receive()
