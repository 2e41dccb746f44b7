# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Bit sets of clusters, as Python integers: bit ``p`` stands for the cluster at position ``p`` of the index; made from
positions, read as positions or flags, membership."""

from __future__ import annotations

import typing as t
from itertools import compress

_AS_FLAGS = bytes.maketrans(b"01", b"\x00\x01")


def of(positions: t.Sequence[int], size: int) -> int:
    """The set of these ``positions``, from 0 and below ``size``, in any order."""
    if len(positions) == 1:
        return 1 << positions[0]
    octets = bytearray(size // 8 + 1)
    for position in positions:
        octets[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(octets, "little")


def flags(bits: int, size: int) -> bytes:
    """One byte, 0 or 1, for each of ``size`` positions in ascending order: the form in which C loops such as
    ``compress`` read a set. ``size`` has to be enough for ``bits``."""
    return f"{bits:0{size}b}"[::-1].encode("ascii").translate(_AS_FLAGS) if size else b""


def positions(bits: int) -> list[int]:
    """The members of a set in ascending order."""
    size = bits.bit_length()
    return list(compress(range(size), flags(bits, size)))


def has(bits: int, position: int) -> bool:
    """Whether the member at ``position`` is in the set."""
    return bits >> position & 1 == 1
