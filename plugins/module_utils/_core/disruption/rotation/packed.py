# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The state of a rotation as its record has it, written and read: plain, or with its nodes packed (compressed) into a
text where plain ones would be too many; and how large a record is expected to be at its end.

The text stands where the list of nodes does: a version that knows no packed nodes refuses it as damaged, rather than
taking the rotation for one without nodes.
"""

from __future__ import annotations

import base64
import typing as t
import zlib
from collections.abc import Mapping
from dataclasses import replace

from ...schema.codec import decode, encode
from ...schema.record_size import LIMIT, size_of, size_of_json
from ...values.canonical import canonical_json, strict_json
from .state import RotationState

# Bytes that a record grows by for a node until that has ended: when, how, and by what it was replaced. Packed, nodes of
# clouds were seen to need 95 in all by then, with a reason of its own for each.
_GROWTH, _PACKED_GROWTH = 300, 120
# No state that fits into a record is larger than this: whoever can write one is not to fill the memory.
_MOST_BYTES = 64 * 1024 * 1024
Document = dict[str, t.Any]


def written_state(state: RotationState, packed: bool = False) -> Document:
    """The state as JSON data, which ``read_state`` reads: plain unless it is to be ``packed`` or is too large for a
    record. FleetError as of ``canonical_json``."""
    plain = encode(state)
    return _packed(plain) if packed or size_of_json(plain) > LIMIT else plain


def read_state(document: Mapping[str, t.Any]) -> RotationState:
    """The state that ``written_state`` wrote, in either form; of an empty document one without nodes. ValueError,
    TypeError or AttributeError for what is none."""
    text = document.get("nodes")
    if not isinstance(text, str):
        return decode(RotationState, document)
    parts = _unpacked(text)
    state = decode(RotationState, {**document, "nodes": parts["nodes"], "known": parts.get("known")})
    if "others" not in parts:
        return state
    names = (each.name for each in state.nodes)
    return replace(state, known=tuple(sorted({*map(str, parts["others"]), *names})))


def is_packed(document: Mapping[str, t.Any]) -> bool:
    """Whether the nodes of a state are packed, readable or not."""
    return isinstance(document.get("nodes"), str)


def written_nodes(document: Mapping[str, t.Any]) -> t.Sequence[t.Any]:
    """The nodes of a state as JSON data, in either form, in the state's order; plain ones as they are. ValueError for
    packed ones that cannot be read."""
    found = document.get("nodes")
    return t.cast(t.Sequence[t.Any], _unpacked(found)["nodes"] if isinstance(found, str) else found or ())


def size_at_end(state: RotationState, packed: bool) -> int:
    """How many bytes the state of a rotation, just begun, is expected to have in a record until it ends, an estimate by
    the number of its nodes; ``packed``: as it is written packed. FleetError as of ``canonical_json``."""
    if packed:
        return size_of_json(_packed(encode(state))) + _PACKED_GROWTH * len(state.nodes)
    return size_of(state) + _GROWTH * len(state.nodes)


def _packed(plain: Document) -> Document:
    """The same with its nodes, and the names that were there at the start, as one text: names of nodes stand in it
    once."""
    nodes, known = plain.get("nodes", []), plain.get("known", [])
    names = {each["name"] for each in nodes}
    others = sorted(set(known) - names)
    parts = {"nodes": nodes, "others": others} if names <= set(known) else {"nodes": nodes, "known": known}
    rest = {key: each for key, each in plain.items() if key not in ("nodes", "known")}
    return {**rest, "nodes": base64.b64encode(zlib.compress(canonical_json(parts))).decode()}


def _unpacked(text: str) -> Document:
    """What ``_packed`` has packed: ``nodes``, a list, and ``others`` or ``known``. ValueError for another text."""
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"nodes cannot be unpacked: {error}") from None
    if not unpacking.eof:
        raise ValueError("nodes are cut off, or too large")
    try:
        parts = strict_json(data)
    except RecursionError:
        raise ValueError("nodes are nested too deep") from None
    if not isinstance(parts, dict) or not isinstance(parts.get("nodes"), list):
        raise ValueError("nodes are not packed as a list")
    return parts
