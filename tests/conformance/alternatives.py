# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Answers of which several were recorded: any of them is right. Numbers are 64-bit floats that were summed in an order
of upstream's own, compared with a relative tolerance of 1e-12.
"""

from __future__ import annotations

import itertools
import math
import typing as t

from ansible_collections.gitops.fleet.tests.conformance.recorded import MISSING, first_difference

CLOSE = 1e-12
MOST = 4


def same(expected: t.Any, got: t.Any, path: str = "") -> str | None:
    """The first key path at which they differ, with both values; None if they do not."""
    if isinstance(expected, dict) and expected.get("unstable"):
        texts = [same(each, got, path) for each in expected["alternatives"]]
        return None if None in texts else f"none of {len(texts)} alternatives: {texts[0]}"
    if isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys():
        return _first(same(value, got[key], f"{path}.{key}") for key, value in sorted(expected.items()))
    if isinstance(expected, list) and isinstance(got, list):
        rows = enumerate(itertools.zip_longest(expected, got, fillvalue=MISSING))
        return _first(same(a, b, f"{path}[{place}]") for place, (a, b) in rows)
    if isinstance(expected, float) and isinstance(got, (int, float)) and not isinstance(got, bool):
        close = math.isclose(expected, got, rel_tol=CLOSE, abs_tol=CLOSE)
        return None if close else f"{path}: expected {expected!r}, got {got!r}"
    if MISSING in (expected, got):
        return f"{path}: expected {expected!r:.160}, got {got!r:.160}"
    return first_difference(expected, got, path)


def same_in_any_order(
    expected: t.Any, ask: t.Callable[[tuple[str, ...]], t.Any], path: str, zones: t.Sequence[str] = ()
) -> str | None:
    """The same for a method that may be asked with some names first: upstream leaves the order of equal nodes and
    zones, and that of pools, to chance, so that it is asked again with those first that the recording chose."""
    wrong = same(expected, ask(()), path)
    if wrong is not None:
        told = expected["commands"]
        rows = told["alternatives"] if isinstance(told, dict) else [told]
        pools = tuple(expected["budget"])
        if any(same(expected, ask(first), path) is None for first in dict.fromkeys(_orders(rows, pools, zones))):
            return None
    return wrong


def _orders(rows: list[t.Any], pools: tuple[str, ...], everywhere: t.Sequence[str]) -> t.Iterator[tuple[str, ...]]:
    for row in rows:
        nodes = tuple(node for one in row for node in one["nodes"])
        zones = sorted(
            {zone for one in row for each in one["replacements"] for zone in each["zones"] or ()} or everywhere
        )
        for order in itertools.permutations(pools[:MOST]):
            yield from ((*nodes, *order, *mixed) for mixed in itertools.permutations(zones[:MOST]))


def _first(texts: t.Iterable[str | None]) -> str | None:
    return next((text for text in texts if text is not None), None)
