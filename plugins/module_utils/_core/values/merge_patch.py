# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A document after a JSON merge patch (RFC 7396): null takes a key away, a list is replaced as a whole."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping


def merge_patched(target: t.Any, patch: t.Any) -> t.Any:
    """``target`` after the patch: objects key by key, where null takes a key away; anything else, lists too, as the
    patch has it. The result shares parts with both, which stay as they are."""
    if not isinstance(patch, Mapping):
        return patch
    out = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge_patched(out.get(key), value)
    return out
