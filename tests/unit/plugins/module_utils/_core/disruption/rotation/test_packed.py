# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The two forms of a rotation's state in its record."""

from __future__ import annotations

import base64
import json
import typing as t
import zlib

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation import packed
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.packed import (
    is_packed,
    read_state,
    written_nodes,
    written_state,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    DRAINING,
    NodeProgress,
    RotationState,
    Wave,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode

NODES = (NodeProgress(name="m/a", uid="u"), NodeProgress(name="m/b", phase=DRAINING, attempts=2))
STATES = {
    "of all nodes": RotationState(nodes=NODES, known=("m/a", "m/b"), wave=Wave(number=3)),
    "of some nodes": RotationState(nodes=NODES, known=("m/a", "m/aa", "m/b", "m/c"), halted="stopped"),
    "known otherwise": RotationState(nodes=NODES, known=("m/c",)),
    "without nodes": RotationState(known=("m/a",)),
}


def text_of(parts: t.Any) -> str:
    return base64.b64encode(zlib.compress(json.dumps(parts).encode())).decode()


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
@pytest.mark.parametrize("form", [True, False], ids=["packed", "plain"])
def test_what_was_written_is_read(state: RotationState, form: bool) -> None:
    document = written_state(state, form)
    assert read_state(json.loads(json.dumps(document))) == state
    assert [each["name"] for each in written_nodes(document)] == [each.name for each in state.nodes]
    assert is_packed(document) is form


def test_what_is_plain_is_as_it_was_always_written() -> None:
    for state in STATES.values():
        assert written_state(state) == encode(state)


def test_what_becomes_too_large_on_its_way_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the rotation would stop there, with nodes in flight."""
    monkeypatch.setattr(packed, "LIMIT", 100)
    assert is_packed(written_state(STATES["of all nodes"]))


def test_who_knows_no_packed_nodes_refuses_them() -> None:
    """As damaged: to take the rotation for one without nodes would be to begin them again."""
    with pytest.raises(ValueError, match="a list is wanted"):
        decode(RotationState, written_state(STATES["of all nodes"], packed=True))


@pytest.mark.parametrize(
    "text",
    ["", "no base64", "bm8gemxpYg==", text_of([]), text_of({"nodes": "a"}), text_of({"others": []}), text_of(1)[:-8]],
)
def test_a_text_that_is_none_of_ours_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)):
        read_state({"nodes": text})
    with pytest.raises(ValueError):
        written_nodes({"nodes": text})


def test_what_is_nested_without_end_is_refused() -> None:
    """Whoever may write one rotation's record would else stop all that read it."""
    deep = '{"nodes":' + "[" * 200_000 + "]" * 200_000 + "}"  # newer Pythons read some 10,000
    with pytest.raises(ValueError, match="too deep"):
        read_state({"nodes": base64.b64encode(zlib.compress(deep.encode())).decode()})


def test_a_small_text_that_unpacks_to_very_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="too large"):
        read_state({"nodes": text_of({"nodes": ["x" * 10_000]})})
