# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``duration``: a text as Go reads and prints it."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.values.duration import (
    format_duration,
    parse_duration,
    parse_or_never,
)


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    plain, nillable = _read(parse_duration, input["text"]), _read(parse_or_never, input["text"])
    return {
        "ok": plain is not REFUSED,
        "ns": None if plain is REFUSED else plain,
        "string": None if plain is REFUSED else format_duration(plain),
        "metav1_ok": plain is not REFUSED,
        "nillable_ok": nillable is not REFUSED,
        "nillable_never": nillable is None,
    }


REFUSED: t.Any = object()


def _read(parse: t.Callable[[str], int | None], text: str) -> t.Any:
    try:
        return parse(text)
    except ValueError:
        return REFUSED
