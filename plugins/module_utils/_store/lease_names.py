# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lease names (``placement/web``) as names of Lease objects (``placement.web``), and back."""

from __future__ import annotations

import hashlib

_LONGEST = 253


def to_object_name(name: str) -> str:
    """The part before the slash has no dot, so no two names meet; one that is too long ends in a hash of the whole."""
    plain = name.replace("/", ".", 1)
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[:200].rstrip('.-')}-{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def from_object_name(name: str) -> str:
    """The lease name; of one that was too long what is left of it."""
    return name.replace(".", "/", 1)
