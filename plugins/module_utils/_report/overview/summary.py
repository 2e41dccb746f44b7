# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The numbers of an overview, as text and for what stands above its page: clusters, placements, places gained and lost,
drift, runs, certificates, kubelets."""

from __future__ import annotations

import typing as t

from ..._core.overview.upkeep import SOON
from ..._core.values.listed import number_of
from ..text import folded, table

Report = t.Mapping[str, t.Any]
# Of one, and of any other number.
WORDS = {
    "clusters": ("cluster", "clusters"),
    "not ready": ("of them not ready", "of them not ready"),
    "placements": ("placement", "placements"),
    "gained": ("place to be gained", "places to be gained"),
    "lost": ("place to be lost", "places to be lost"),
    "drifted": ("object drifted", "objects drifted"),
    "runs": ("run not over", "runs not over"),
}
# What is told only where there is any.
ENDING, TOO_NEW, TOO_OLD = "ending", "too new", "too old"
UPKEEP = {
    ENDING: (
        f"certificate that has ended, or ends within {SOON.days} days",
        f"certificates that have ended, or end within {SOON.days} days",
    ),
    TOO_NEW: (
        "cluster with kubelets newer than its API server",
        "clusters with kubelets newer than their API servers",
    ),
    TOO_OLD: (
        "cluster with kubelets too old for its API server",
        "clusters with kubelets too old for their API servers",
    ),
}
SHOWN = 40


UNKNOWN = "?"


def overview_counts(report: Report) -> dict[str, int | None]:
    """How many there are of each of ``WORDS`` in the JSON data of an overview; None of what drifted, where that is not
    known, also where nothing is placed."""
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


def counted_words(report: Report) -> t.Iterator[tuple[str, str, str]]:
    """For each number its name (of ``WORDS``, and behind ``not ready`` those of ``UPKEEP`` that are not 0), the number
    as text (``?`` if it is not known), and what it counts; of drift also as of when."""
    for name, number in overview_counts(report).items():
        words = WORDS[name][number != 1]
        if name == "drifted":
            yield name, drifted_number(report), f"{words}, {report['driftKnown']['asOf']}"
        else:
            yield name, f"{number:,}", words
        if name == "not ready":
            yield from _upkeep(report["clusters"])


def drifted_number(report: Report) -> str:
    """How many objects drifted, as text such as ``1,200``; ``?`` where that is not known, ``0`` where nothing is
    placed."""
    known = report["driftKnown"]
    number = known["objects"] if known["places"] else 0
    return UNKNOWN if number is None else f"{number:,}"


def _upkeep(clusters: t.Sequence[Report]) -> t.Iterator[tuple[str, str, str]]:
    """Of ``UPKEEP`` what there is any of, in the form of ``counted_words``."""
    counts = {
        ENDING: sum(1 for each in clusters if each["certificate"] and each["certificate"]["days"] < SOON.days),
        TOO_NEW: sum(1 for each in clusters if each["kubelets"]["ahead"]),
        TOO_OLD: sum(1 for each in clusters if each["kubelets"]["tooOld"]),
    }
    for name, number in counts.items():
        if number:
            yield name, f"{number:,}", UPKEEP[name][number != 1]


def overview_text(report: Report, page: str) -> list[str]:
    """The numbers as a table, what has changed since an earlier report, if there is one, notes, and ``page``, where the
    page is; empty if it was not written."""
    lines = table(("HOW MANY", "WHAT"), [(number, words) for _name, number, words in counted_words(report)], "")
    lines += _changes(report) if report["since"] else []
    lines += [part for note in report["notes"][:SHOWN] for part in folded(f"note: {note}", "  ")]
    if len(report["notes"]) > SHOWN:
        lines.append(f"  {number_of(len(report['notes']) - SHOWN, 'more note')}")
    return lines + (folded(f"written to {page}") if page else [])


def _changes(report: Report) -> list[str]:
    """What has changed since when: the first ``SHOWN`` changes, and how many more there are, or that there is none."""
    found = report["changes"]
    if not found:
        return folded(f"since {report['since']}: nothing has changed")
    lines = folded(f"since {report['since']}: {number_of(len(found), 'change')}")
    for each in found[:SHOWN]:
        lines += folded(f"{each['what']} {each['name']}: {each['text']}", "  ")
    return lines + ([f"  {number_of(len(found) - SHOWN, 'more change')}"] if len(found) > SHOWN else [])
