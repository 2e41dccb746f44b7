# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a rotation came to, in the words of every verb's result: outcome, code (``nodes-left``) and message, its nodes,
when what it waits for opens; which rotation is meant (``which-rotation``)."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ..._core.disruption.origins import EXTERNAL, MANUAL
from ..._core.disruption.rotation.state import BLOCKED, GIVEN_UP, ROTATED, NodeProgress
from ..._core.errors import FleetError
from ..._core.values.instants import write_time
from .rotating import RotationReport
from .rotation_words import folded, waits_lines
from .sources import NodeManifests

_LEFT = (BLOCKED, GIVEN_UP)


def rotation_name(name: str, given: NodeManifests) -> str:
    """The rotation that is meant: the one named, defined or not, or the only one that is defined. FleetError
    ``which-rotation`` where there is none, or several are."""
    if name:
        return name
    if len(given.rotations) == 1:
        return next(iter(given.rotations))
    there = ", ".join(sorted(given.rotations)) or "none"
    hint = "name one that is recorded (variable rotation), or give its manifests: docs/disruption.md"
    raise FleetError("which-rotation", f"a rotation has to be named; defined are {there}", "name", hint)


def rotation_verdict(report: RotationReport) -> tuple[str, str, str]:
    """Outcome (``done``, ``partial``, ``failed``, ``waiting``), code (``nodes-left``, ``waiting``, ``time-limit``,
    ``interrupted``; empty if it is done) and message: which nodes are left and why, or what is waited for, or why the
    conductor ended. A rotation that leaves nodes behind is ``partial``, or ``failed`` if none was replaced; nodes that
    stay cordoned count as left behind, and so do those of members that have left the fleet."""
    state = report.state
    if state.done:
        left = [f"{each.name}: {each.text}" for each in state.nodes if each.phase in _LEFT]
        left += waits_lines(report.waits)
        if not left:
            return "done", "", ""
        outcome = "failed" if not state.count(ROTATED) else "partial"
        return outcome, "nodes-left", _lines(left)
    if report.why in ("", "waiting", "settled"):
        return "waiting", "waiting", _lines(waits_lines(report.waits))
    code = "time-limit" if report.why == "time-limit" else "interrupted"
    return "waiting", code, f"{report.why}; carry it on again to go on"


def _lines(texts: t.Iterable[str]) -> str:
    """The texts, each broken into lines that fit a log."""
    return "\n".join(line for each in texts for line in folded(each))


def report_data(report: RotationReport) -> dict[str, t.Any]:
    """The rotation as the result of its verb has it, where the keys are documented: nodes in the order of the state,
    ``waits`` as lines, ``resume_at`` in RFC 3339, empty for none."""
    held = {each.name: [one.as_dict() for one in each.blockers] for each in report.waits}
    return {
        "name": report.rotation.name,
        "nodes": [
            {
                "name": each.name,
                "phase": each.phase,
                "begins": each.name in report.begins,
                "due": report.due.get(each.name, ""),
                "replacement": each.replacement,
                "attempts": each.attempts,
                "origin": _origin(each),
                "code": each.code,
                "text": each.text,
                "blockers": held.get(each.name, []),
            }
            for each in report.state.nodes
        ],
        "counts": report.state.counts,
        "halted": report.state.halted,
        "young": report.young,
        "origin": report.rotation.status.origin,
        "waits": waits_lines(report.waits),
        "resume_at": write_time(report.resume_at) if report.resume_at else "",
        "notes": [each.as_dict() for each in report.notes],
    }


def kept_nodes(report: RotationReport) -> list[str]:
    """The nodes (``member/node``) that wait and bear an annotation that keeps them, which only people take away."""
    return [each.name for each in report.waits if any(one.code == "node-annotation" for one in each.blockers)]


def opens_at(report: RotationReport) -> datetime | None:
    """When a budget or a window opens that the rotation waits for, if it goes on then; else None."""
    told = {one.about.get("until") for each in report.waits for one in each.blockers}
    return report.resume_at if report.resume_at and write_time(report.resume_at) in told else None


def _origin(node: NodeProgress) -> str:
    """Who disrupted the node: EXTERNAL if it was gone before we came to it, MANUAL if we have begun; else empty."""
    if node.phase == ROTATED and node.code == "gone":
        return EXTERNAL
    return MANUAL if node.attempts else ""
