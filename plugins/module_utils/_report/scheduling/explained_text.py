# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Explanations of clusters as text: why one is picked or not, and below it against whom it won, term by term."""

from __future__ import annotations

import typing as t

from ..text import folded

BELOW = "    "


def explained_text(found: t.Iterable[t.Mapping[str, t.Any]], whole: bool) -> list[str]:
    """A line for each explanation, as ``explanations`` gives them; if ``whole``, the contest that it won below it, in
    lines that fit the terminal."""
    lines = []
    for each in found:
        lines.append(each["sentence"])
        if whole and each["won"]:
            lines += [line for text in each["won"]["lines"] for line in folded(text, BELOW)]
    return lines
