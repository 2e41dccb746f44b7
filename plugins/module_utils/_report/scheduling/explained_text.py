# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Explanations of clusters as text: why one is picked for a placement or not, and below it against whom it won or
lost."""

from __future__ import annotations

import typing as t

from ..text import folded

BELOW = "    "
INCOMPARABLE = ("property-unreported", "price-unknown")
LACKING = "to read facts: ansible-playbook gitops.fleet.facts; then add -e facts=facts.json"


def explained_text(found: t.Iterable[t.Mapping[str, t.Any]], whole: bool) -> list[str]:
    """A sentence for each explanation, as ``explanations`` gives them; below it that the cluster still holds what is to
    be taken away, and, if ``whole``, the contest that it won or lost; in lines that fit the terminal. Then how old the
    facts are, which prices or properties were lacking, and how to give facts where these are lacking."""
    found = list(found)
    lines, lacking, several = list[str](), False, len({each["placement"] for each in found}) > 1
    for each in found:
        lacking = lacking or any(one["code"] == "agent-not-online" for one in each["blockers"])
        lines += folded(f"{each['placement']}: {each['sentence']}" if several else each["sentence"])
        if each.get("left_until"):
            lines += folded(f"it still holds it, until {each['left_until']} takes it away", BELOW)
        contest = each["won"] or each.get("lost")
        if whole and contest:
            lines += [line for text in contest["lines"] for line in folded(text, BELOW)]
    read = sorted(filter(None, (each.get("read") for each in found)))
    if read:
        last = f" to {read[-1]}" if read[-1] != read[0] else ""
        lines += folded(f"by facts of {read[0]}{last}; gitops.fleet.facts reads them anew")
    notes = {each["message"]: each for one in found for each in one.get("findings", ()) if each["code"] in INCOMPARABLE}
    for each in notes.values():
        lines += folded(f"note: {each['message']} [{each['code']}]" + (f" ({each['hint']})" if each["hint"] else ""))
    return [*lines, LACKING] if lacking else lines
