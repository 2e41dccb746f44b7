# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from dataclasses import replace

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.audit.actor import user
from ..module_utils._fleet.audit.update_runs import testify_answer
from ..module_utils._fleet.files import refuse_blank
from ..module_utils._fleet.placements.staged.answering import WishedApproval, give_approval, is_staged
from ..module_utils._fleet.session import Session
from ..module_utils._fleet.updates.gate_completion import Which, approver, complete_gates, refuse
from ..module_utils._fleet.updates.run_record import read_run
from ..module_utils._report.commands.next_steps import approval_lines
from ..plugin_utils._afterwards import asked_afterwards
from ..plugin_utils._verb import Answer, Run, Verb

OF_GATES = ("id", "group", "name")
SELECTING = (*OF_GATES, "stage")
REFUSED = "refused"


class ActionModule(Verb):
    """Approve or refuse gates of update runs, and approve what staged update runs ask for; why an approval does not
    count, and who carries the run on."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Approves or refuses a gate of an update run, or approves what a staged run asks for, with evidence; in check
        mode nothing is recorded. It says who carries the run on, or why an approval is in vain. FleetError as of
        ``is_staged``, ``complete_gates``, ``refuse`` and ``give_approval``; ``bad-option`` for what staged runs do not
        have, and for an empty option that says which gate is meant: the one that happens to be open would be
        answered."""
        refuse_blank(options, SELECTING, "leave the option out if any gate is meant")
        with run.open(options) as session:
            if is_staged(session.records, options["run"], options["kind"] or ""):
                (answer, why), on = _approve_staged(session, options, not run.check_mode), "staged_update"
            else:
                (answer, why), on = _gate(session, options, not run.check_mode), "update"
            state = _state(session, options["run"], run) if on == "update" else ""
        if why:
            run.say(why)
        if why or run.check_mode or options["state"] == REFUSED:
            return answer
        lines = approval_lines(options["run"], on, state, usual=not run.given.get("records"))
        for line in lines:
            run.say(line)
        return replace(answer, next_lines=lines)


def _state(session: Session, name: str, run: Run) -> str:
    """The state of the update run of that name; empty, with a warning, where it cannot be read."""
    return asked_afterwards(
        lambda: read_run(session.records, name).status.status.state, "", f"the state of run {name}", run.warn
    )


def _gate(session: Session, options: dict[str, t.Any], write: bool) -> tuple[Answer, str]:
    """The answer after the gate of an update run was approved or refused, and that was recorded, with ``write``; and
    a sentence of why that is in vain, empty if it is not. FleetError as of ``complete_gates`` and ``refuse``."""
    which = Which(
        id=options["id"] or "",
        stage=options["stage"] or "",
        group=options["group"] or "",
        timing=options["timing"] or "",
        name=options["name"] or "",
    )
    asked = (session, options["run"], which, approver(session), options["digest"], options["reason"])
    if options["state"] == REFUSED:
        done = refuse(*asked, write=write)
    else:
        done = complete_gates(*asked, write=write, self_approval=options["allow_self_approval"])
    testify_answer(session, done, options["reason"], write=write)
    data = {
        "id": done.gate.gate.id,
        "where": done.gate.position,
        "by": done.by,
        "verified": done.verified,
        "self_approval": done.own,
    }
    data["state"] = done.state
    return Answer(changed=done.changed, data={**data, "run": done.run, "digest": done.digest}), _uncounted(
        done.uncounted
    )


def _approve_staged(session: Session, options: dict[str, t.Any], write: bool) -> tuple[Answer, str]:
    """The answer after what a staged run asks for was approved, and that was recorded, with ``write``; and a sentence
    of why that is in vain, empty if it is not. FleetError ``bad-option`` for a refusal and for ``id``, ``group`` or
    ``name``, and as of ``give_approval``."""
    if options["state"] == REFUSED:
        hint = "stop the run (state stopped of gitops.fleet.staged_update_run)"
        raise FleetError("bad-option", "what a staged run asks for cannot be refused", "state", hint)
    other = [name for name in OF_GATES if options[name]]
    if other:
        hint = "name it by stage and timing"
        raise FleetError("bad-option", "an approval of a staged run has none", ", ".join(other), hint)
    asked = WishedApproval(
        run=options["run"],
        stage=options["stage"] or "",
        timing=options["timing"] or "",
        digest=options["digest"],
        reason=options["reason"],
        self_approval=options["allow_self_approval"],
    )
    done = give_approval(session, asked, user(session), write=write)
    data = {
        "id": done.request.name,
        "where": done.request.position,
        "by": done.by,
        "verified": done.verified,
        "self_approval": done.own,
        "state": done.state,
    }
    fails = f"run {options['run']} fails when it is carried on: {done.useless}" if done.useless else ""
    told = Answer(changed=done.changed, data={**data, "run": options["run"], "digest": done.digest})
    return told, fails or _uncounted(done.uncounted)


def _uncounted(why: str) -> str:
    """That an approval does not count, in a sentence; empty where it does."""
    kept = "this approval does not count by the terms that the run keeps"
    return f"{kept}: {why}; who conducts it asks anew" if why else ""
