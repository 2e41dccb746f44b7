# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lease names (``placement/web``, ``placement/shop/web``) as names of Lease objects (``placement.web``,
``placement-in.shop.web``), and back."""

from __future__ import annotations

import hashlib

_LONGEST = 253
_INSIDE = "-in"


def to_object_name(name: str) -> str:
    """The name of the Lease object of a lease: ``kind/name`` or ``kind/namespace/name``. A kind has no dot and does not
    end in ``-in``, and no namespace has a dot, so no two meet; one of more than 253 characters is cut, and ends in a
    hash of the whole. ValueError for a name without a slash."""
    kind, slash, rest = name.partition("/")
    if not slash:
        raise ValueError(f"{name!r:.80} is no name of a lease, such as kind/name")
    namespace, slash, own = rest.partition("/")
    plain = f"{kind}{_INSIDE}.{namespace}.{own}" if slash else name.replace("/", ".")
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[:200].rstrip('.-')}-{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def from_object_name(name: str) -> str:
    """The lease name that ``to_object_name`` was given; of one that was too long its beginning with the hash."""
    kind, _dot, rest = name.partition(".")
    return f"{kind.removesuffix(_INSIDE)}/{rest.replace('.', '/', 1)}" if kind.endswith(_INSIDE) else f"{kind}/{rest}"
