# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The numbers of an overview, as text and for what stands above its page."""

from __future__ import annotations

import typing as t

from ..text import folded, table

Report = t.Mapping[str, t.Any]
WORDS = {
    "clusters": "clusters",
    "not ready": "of them not ready",
    "placements": "placements",
    "gained": "places to be gained",
    "lost": "places to be lost",
    "drifted": "objects drifted",
    "runs": "runs not over",
}
SHOWN = 40


UNKNOWN = "?"


def overview_counts(report: Report) -> dict[str, int | None]:
    """How many there are of each of ``WORDS`` in the JSON data of an overview; None of what drifted, where none is
    known and not all was looked at."""
    cells = "".join(each["cells"] for each in report["placements"])
    return {
        "clusters": len(report["clusters"]),
        "not ready": sum(1 for each in report["clusters"] if each["state"] != "ready"),
        "placements": len(report["placements"]),
        "gained": cells.count("g"),
        "lost": cells.count("l"),
        "drifted": report["driftKnown"]["objects"],
        "runs": sum(1 for each in report["runs"] if not each["over"]),
    }


def counted(report: Report) -> t.Iterator[tuple[str, str, str]]:
    """Each number under its name, as text, and what it counts; of drift also as of when."""
    for name, number in overview_counts(report).items():
        told = UNKNOWN if number is None else f"{number:,}"
        yield name, told, _drift_words(report) if name == "drifted" else WORDS[name]


def _drift_words(report: Report) -> str:
    """What stands behind the number of objects that drifted: as of when, or that nobody looked."""
    return f"{WORDS['drifted']}, {report['driftKnown']['asOf']}"


def overview_text(report: Report, page: str) -> list[str]:
    """The numbers, what is to be told, and ``page``, where the page is; empty if it was not written."""
    lines = table(("HOW MANY", "WHAT"), [(number, words) for _name, number, words in counted(report)], "")
    lines += [part for note in report["notes"][:SHOWN] for part in folded(f"note: {note}", "  ")]
    if len(report["notes"]) > SHOWN:
        lines.append(f"  {len(report['notes']) - SHOWN} more notes")
    return lines + (folded(f"written to {page}") if page else [])
