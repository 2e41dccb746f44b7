# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""However much a server sends, a process that asks it stays small: a bomb of a few MB once took 7 GB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from misbehaving import Request, Script, Step, listing, respond

MOST_MB = 700
COLLECTIONS = Path(__file__).parents[3] / ".cache" / "collections"


def bomb(head: bytes, body: bytes, times: int, tail: bytes) -> bytes:
    """Packed: ``head``, then ``body`` many times, then ``tail``."""
    pack = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    block = body * max(1, (1 << 16) // len(body))
    rounds = times * len(body) // len(block)
    return b"".join(
        [pack.compress(head), *(pack.compress(block) for _round in range(rounds)), pack.compress(tail), pack.flush()]
    )


def endless(piece: bytes) -> Step:
    """A body without end and without a length."""

    def step(request: Request) -> None:
        request.close_connection = True
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.end_headers()
        request.wfile.write(b'{"a": "')
        while True:
            request.wfile.write(piece)

    return step


def pages(kind: str, item: dict, count: int) -> Step:
    """A list without end of large pages."""
    numbers = iter(range(10**9))

    def step(request: Request) -> None:
        number = next(numbers)
        items = [{**item, "metadata": {"name": f"p{number}-{each}"}} for each in range(count)]
        respond(request, json.dumps(listing(kind, items, f"token-{number}")).encode())

    return step


def packed(head: bytes, body: bytes, times: int, tail: bytes = b"") -> Step:
    return lambda request: respond(request, bomb(head, body, times, tail), Content_Encoding="gzip")


MEGA = 1 << 20
CASES: dict[str, tuple[str, Step, str]] = {
    "a GB of text": ("get", packed(b'{"a": "', b"x", 1024 * MEGA, b'"}'), "too-large"),
    "lists": ("get", packed(b'{"a": [', b"[],", 100 * MEGA, b"0]}"), "too-large"),
    "maps": ("get", packed(b'{"a": [', b"{},", 5 * MEGA, b"0]}"), "too-large"),
    "as many lists as may be": ("get", packed(b'{"a": [', b"[],", 1_400_000, b"0]}"), "read"),
    "depth": ("get", packed(b'{"a": ', b"[", 20 * MEGA), "too-large"),
    "readiness": ("ready", packed(b"ok\n", b"[-]x\n", 100 * MEGA), "too-large"),
    "an endless body": ("get", endless(b"x" * (1 << 16)), "too-large"),
    "pages of pods": ("list", pages("Pod", {"spec": "x" * 60_000}, 250), "too-large"),
    "pages of nodes": ("nodes", pages("Node", {"status": {"capacity": {"cpu": "1"}}}, 5_000), "too-large"),
    "a bomb of nodes": ("nodes", packed(b'{"kind": "NodeList", "items": [', b"{},", 50 * MEGA, b"{}]}"), "too-large"),
}


@pytest.mark.parametrize("case", CASES)
def test_memory_stays_bounded(case: str) -> None:
    work, step, code = CASES[case]
    with Script().serving() as server:
        server.steps = [step]
        command = [sys.executable, str(Path(__file__).with_name("hungry.py")), str(COLLECTIONS), server.url, work]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        printed = child.stdout.read().strip()
        _pid, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert (printed, child.returncode) == (code, 0)
    assert usage.ru_maxrss < MOST_MB << 10, f"{usage.ru_maxrss >> 10} MB"
