# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""An overview of the fleet as Markdown, for a comment on a pull request or a page of a wiki: what has changed, clusters
that are not ready, certificates, kubelets, images, placements, runs, disruption, drift, what if. Equal overviews give
equal bytes."""

from __future__ import annotations

import typing as t

from ..._core.overview.matrix import LETTERS, UNDECIDED
from ..._core.overview.upkeep import NEVER_NEWER, SOON, images_in_all
from ..._core.values.listed import number_of
from ..._core.values.update_states import FAILED
from ..markdown import (
    LIMIT,
    SHOWN,
    escaped,
    markdown_table,
    notes_markdown,
    size_of,
)
from .summary import Report, counted_words
from .today_text import CERTIFICATES, uncounted_text


def overview_markdown(report: Report) -> str:
    """An overview's JSON data as Markdown: summary and notes first, then a folded section for each matter that has
    anything to tell, up to the first that would go beyond the size that code hosts accept."""
    lines = [f"## {escaped(report['title'])}", "", f"Made {report['madeAt']}, judged at {report['factsAt']}.", ""]
    lines += markdown_table(("how many", "what"), [(number, words) for _name, number, words in counted_words(report)])
    lines += notes_markdown(report["notes"], LIMIT // 4)
    room = LIMIT - size_of(lines)
    for title, section in _sections(report):
        folded = ["", "<details>", f"<summary>{title}</summary>", "", *section, "", "</details>"]
        room -= size_of(folded)
        if room < 0:
            lines += ["", f"{title} and the rest are in report.html and report.json: this text is full."]
            break
        lines += folded
    return "\n".join(lines) + "\n"


def _sections(report: Report) -> t.Iterator[tuple[str, list[str]]]:
    """Title and lines of each section that has anything to tell, in order; that of changes is there even if nothing has
    changed, where the data say since when. Of what-ifs the first SHOWN that move anything."""
    if report["since"]:
        header: tuple[str, ...] = ("what", "name", "change")
        rows = _picked(report["changes"], "what", "name", "text")
        told = _table(header, rows) if rows else ["Nothing has changed."]
        yield f"Since {escaped(report['since'])}", told
    unwell = [each for each in report["clusters"] if each["state"] != "ready"]
    header = ("cluster", "state", "why")
    if unwell:
        yield "Clusters that are not ready", _table(header, _picked(unwell, "name", "state", "why"))
    yield from _growing_old(report["clusters"])
    yield from _images(report["clusters"])
    if report["placements"]:
        header = ("placement", "policy", "clusters", "gains", "loses", "waves", "stopped by")
        yield "Placements", _table(header, [_placement(each) for each in report["placements"]])
    changes = [row for each in report["placements"] for row in _changes(report, each)]
    if changes:
        yield "Who gains and who loses", markdown_table(("placement", "cluster", "", "why"), changes)
    if report["runs"]:
        header = ("what", "run", "state", "to", "how far", "expected end", "waits for")
        yield "Runs", _table(header, [_run(each) for each in report["runs"]])
    if report["pools"]:
        header = ("pool", "nodes", "clusters", "budgets", "remarks")
        yield "Disruption", _table(header, [_pool(each) for each in report["pools"]])
    if report["drift"]:
        header = ("placement", "cluster", "object", "field", "is", "was placed", "seen")
        shown = [{**each, "live": "is missing"} if _is_missing(each) else each for each in report["drift"]]
        rows = _picked(shown, "placement", "cluster", "object", "path", "live", "placed", "seen")
        yield "Drift", [escaped(report["driftKnown"]["words"]), "", *_table(header, rows)]
    moved = [each for each in report["whatIf"] or () if each["gained"] or each["lost"]]
    if moved:
        yield "What if", [f"- {escaped(each['sentence'])}" for each in moved[:SHOWN]]


def _growing_old(clusters: t.Sequence[Report]) -> t.Iterator[tuple[str, list[str]]]:
    """Sections, as far as there is anything for them: certificates that have ended or end soon, the first of them
    first, and kubelets that are ahead, and that are behind, those that are it most first."""
    ends = sorted(
        (found["days"], each["name"], CERTIFICATES[found["which"]], found["ends"])
        for each in clusters
        if (found := each["certificate"]) and found["days"] < SOON.days
    )
    if ends:
        rows = [
            (name, which, at, "ended" if days < 0 else f"in {number_of(days, 'day')}") for days, name, which, at in ends
        ]
        title = f"Certificates that have ended, or end within {SOON.days} days"
        yield title, markdown_table(("cluster", "certificate", "at", ""), rows)
    for title, side, which in (
        (f"Kubelets newer than their API server, {NEVER_NEWER}", "ahead", "newest"),
        ("Kubelets that are behind their API server", "behind", "oldest"),
    ):
        apart = sorted(
            (each for each in clusters if each["kubelets"][side]),
            key=lambda each: (-each["kubelets"][side], each["name"]),
        )
        if apart:
            header = ("cluster", "API server", f"{which} kubelet", f"minors {side}")
            yield title, markdown_table(header, [_apart(each, side, which) for each in apart])


def _images(clusters: t.Sequence[Report]) -> t.Iterator[tuple[str, list[str]]]:
    """One section: the images of nodes, those of the most nodes first, how many nodes and clusters have each, and how
    many nodes that leaves out; none without either."""
    counts = images_in_all(each["images"] for each in clusters)
    rows = [
        (name, f"{nodes:,}", f"{sum(name in each['images'] for each in clusters):,}") for name, nodes in counts.items()
    ]
    lines = markdown_table(("image", "nodes", "clusters"), rows) if rows else []
    for told in uncounted_text([each["imagesUncounted"] for each in clusters if each["imagesUncounted"]]):
        lines += [*([""] if rows else []), f"{escaped(told)}."]
    if lines:
        yield "Images of nodes", lines


def _apart(each: Report, side: str, which: str) -> tuple[str, ...]:
    """The cells of a cluster whose kubelets are ``behind`` or ``ahead`` (``side``): name, version of the API server and
    of the oldest or newest kubelet (``which``), how many minors, and whether it is too old."""
    kubelets = each["kubelets"]
    too_old = kubelets["tooOld"] and side == "behind"
    return each["name"], each["version"], kubelets[which], f"{kubelets[side]}{', too old for it' if too_old else ''}"


def _is_missing(row: Report) -> bool:
    """Whether a look has found the object gone: then the row has neither field nor value; for all else that a look
    finds it has the field."""
    return row["looked"] and not (row["path"] or row["live"] or row["placed"])


def _table(header: tuple[str, ...], rows: t.Sequence[tuple[str, ...]]) -> list[str]:
    """A table as of ``markdown_table``, without the columns that are empty in all rows."""
    kept = [at for at in range(len(header)) if any(row[at] for row in rows)]
    return markdown_table(tuple(header[at] for at in kept), [tuple(row[at] for at in kept) for row in rows])


def _picked(rows: t.Iterable[Report], *names: str) -> list[tuple[str, ...]]:
    """The named fields of each row, in the order of ``names``; an empty text for None and 0."""
    return [tuple(each[name] or "" for name in names) for each in rows]


def _placement(each: Report) -> tuple[str, ...]:
    """The cells of a placement: policy, clusters of how many wanted, how many gain and lose it, in how many waves
    (empty for none), and the names of the brakes that stop it; that it is undecided, and ``?``, where none of these are
    known."""
    cells, stops = each["cells"], ", ".join(stop.partition(":")[0] for stop in each["stops"])
    decided = LETTERS[UNDECIDED] not in cells
    held = f"{each['count']} of {each['wanted']}" if decided else UNDECIDED
    return (
        each["name"],
        each["policy"],
        held,
        str(cells.count("g")) if decided else "?",
        str(cells.count("l")) if decided else "?",
        str(len(each["waves"]) or ""),
        stops,
    )


def _changes(report: Report, placement: Report) -> t.Iterator[tuple[str, ...]]:
    """The cells of each cluster that gains or loses the placement, with why; those that keep it are left out."""
    words = {"g": "gains", "l": "loses"}
    for cluster, letter, why in zip(report["clusters"], placement["cells"], placement["why"], strict=True):
        if letter in words:
            yield placement["name"], cluster["name"], words[letter], report["reasons"][why]


def _run(each: Report) -> tuple[str, ...]:
    """The cells of a run; the expected end is empty once it has ended or if none is known, and says so where it will
    have failed; its message stands in place of what it waits for."""
    whole = each["bars"][0]
    expected = "" if whole["end"] else whole["expectedEnd"] or ""
    if expected and whole["expectedState"] == FAILED:
        expected += ", failed"
    why = each["message"] or whole["waitsFor"]
    return each["kind"], each["name"], each["state"], each["target"], each["progress"], expected, why


def _pool(each: Report) -> tuple[str, ...]:
    """The cells of a pool, how many nodes and clusters among them; its remarks are problems, and findings but notes."""
    remarks = [f"{one['level']}: {one['message']}" for one in each["findings"] if one["level"] != "note"]
    return (
        each["name"],
        str(each["nodes"]),
        str(len(each["clusters"])),
        "; ".join(each["budgets"]),
        "; ".join([*each["problems"], *remarks]),
    )
