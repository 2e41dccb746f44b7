# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from ..module_utils._fleet.audit.actor import user
from ..module_utils._fleet.audit.maintenance import record_with_evidence
from ..module_utils._fleet.audit.update_runs import testify_definition, testify_deletion
from ..module_utils._fleet.conductor.executor import Pace
from ..module_utils._fleet.given import record_specs, run_meant
from ..module_utils._fleet.session import Session
from ..module_utils._fleet.updates.approval_policy import vouched_since
from ..module_utils._fleet.updates.conducting import (
    FAILURE,
    PARTIAL,
    ConductOptions,
    carry_on,
    refuse_unfit,
    rehearse,
    verdict,
)
from ..module_utils._fleet.updates.defining import Outcome, define_run, follow_up_run, refuse_for_nobody
from ..module_utils._fleet.updates.gate_completion import terms_of
from ..module_utils._fleet.updates.gate_objects import with_answers
from ..module_utils._fleet.updates.preflight import blocked_words, finding_lines, preflight
from ..module_utils._fleet.updates.sources import UpdateManifests, update_manifests
from ..module_utils._fleet.updates.steps.member_plans import member_plans
from ..module_utils._fleet.updates.steps.seen_members import SeenMembers
from ..module_utils._fleet.updates.update_run import (
    delete_run,
    keep_terms,
    known_beside,
    restart_run,
    run_data,
    skip_targets,
    start_run,
    stop_run,
    superseded,
    targets_of,
)
from ..module_utils._report.commands.next_steps import after_run
from ..module_utils._report.run_text import run_text, waits_for, would_text
from ..module_utils._report.text import notes_text
from ..module_utils._report.upgrade_plan_text import upgrade_plan_text
from ..plugin_utils._afterwards import asked_afterwards
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


@dataclass(frozen=True, kw_only=True)
class Telling:
    """With what an answer about an update run is made: the session, the run of the verb (not the update run), its
    options, and from when on the update run would go on (``resumes``; None: not known)."""

    session: Session
    run: Run
    options: t.Mapping[str, t.Any]

    resumes: datetime | None = None

    def next(self, outcome: Outcome) -> list[str]:
        """What to type next after the run came to ``outcome``, as lines. That other runs cannot be read is a
        warning."""
        run = outcome.run
        ask = partial(known_beside, self.session.records, [run])
        known = asked_afterwards(ask, (), "whether another run has come after it", self.run.warn)
        newer = superseded([run], known).get(run.name)
        return self.run.next_lines(after_run(run, self.session.clock(), self.resumes, newer))


class ActionModule(Verb):
    """Make update runs, check, start, stop, conduct, retry and delete them, and skip parts of them; outcome and code of
    the task, and how it goes on."""

    def libraries(self, options: t.Mapping[str, t.Any]) -> t.Mapping[str, str]:
        """Those for API servers where a run is conducted or checked."""
        return SERVERS if options["state"] in ("conducted", "checked") else {}

    def carry_out(self, options: dict[str, t.Any], run_of: Run) -> Answer:
        """Does what ``state`` says of a run, prints it, and says how it goes on; in check mode nothing is recorded. The
        outcome of ``conducted`` is that of ``verdict``, that of ``checked`` ``failed`` if anything blocks. FleetError
        as of ``update_manifests``, ``run_meant``, ``targets_of`` and what is called for the state."""
        given = update_manifests(options["src"], options["definition"], options["strict"])
        name = run_meant(options["name"] or "", given.runs)
        targets = targets_of(options["targets"], options["state"] == "skipped")
        write = not run_of.check_mode
        with run_of.open(options) as session:
            state, records = options["state"], session.records
            told = Telling(session=session, run=run_of, options=options)
            if state == "absent":
                gone = delete_run(session, name, force=options["force"], write=write)
                return Answer(changed=testify_deletion(session, name, gone=gone, write=write), data={"name": name})
            if state == "stopped":
                return _answer(stop_run(session, name, write), told, would=f"stop run {name}")
            if state == "skipped":
                would = f"skip {', '.join(options['targets'])} of run {name}"
                return _answer(skip_targets(session, name, targets, write, options["reason"]), told, would=would)
            if state == "conducted":
                return _conduct(told, name, given, run_of.check_mode)
            if state == "checked":
                return _checked(session, name, given, options)
            who = user(session) if write else ""
            if state == "retried":
                again = follow_up_run(records, name, write, options["digest"], who, session.clock())
                again = testify_definition(session, again, write=write, approved=options["digest"])
                return _answer(again, told, would=f"retry run {name}")
            made = _made(session, name, given, options, write, who)
            if state == "started" and write:
                kept = keep_terms(session, made.run, _wish(options).terms)
                made = replace(made, run=kept, changed=made.changed or kept is not made.run)
            if state == "present":
                return _answer(made, told, plan=[] if write else _printed_plan(session, made, given, options))
            return _answer(
                _later_of_both(made, start_run(session, made.run, {}, write, who)),
                told,
                before=made.run.status.status.state,
            )


def _made(
    session: Session, name: str, given: UpdateManifests, options: t.Mapping[str, t.Any], write: bool, who: str = ""
) -> Outcome:
    """The run as it is defined, with the windows and releases beside it; all are recorded if it is to ``write``, the
    run and windows with evidence, and the run last: whoever finds it there finds its freezes too. FleetError as of
    ``define_run`` and ``record_specs``, and of ``refuse_for_nobody`` unless it is only to be there."""
    digest, now = options["digest"], session.clock()
    made = define_run(session.records, name, given, False, digest, who, now)
    if options["state"] != "present":
        refuse_for_nobody(made.run)
    windows = record_with_evidence(session, given.maintenance.values(), write, options["src"])
    releases = record_specs(session.records, given.catalogues.values(), write)
    if write and made.changed:
        made = define_run(session.records, name, given, write, digest, who, now)
    testify_definition(session, made, options["src"], digest, write=write)
    return Outcome(run=made.run, changed=made.changed or windows or releases, notes=made.notes)


def _checked(session: Session, name: str, given: UpdateManifests, options: dict[str, t.Any]) -> Answer:
    """What speaks against the run, as it is defined, printed, and its plan; nothing is recorded. ``failed``, with code
    ``preflight``, if any of it blocks. FleetError as of ``define_run`` and ``preflight``."""
    made = _made(session, name, given, options, write=False)
    report = preflight(session, made.run, given, _wish(options))
    found, plan = report.findings, _printed_plan(session, made, given, options, report.seen)
    lines = finding_lines(found) or [f"nothing speaks against run {name}"]
    for line in lines:
        session.say(line)
    data = _as_result(made) | {"findings": [each.as_dict() for each in found], "table": lines, "plan": plan}
    blocked = blocked_words(found)
    if not blocked:
        return Answer(changed=False, data=data)
    return Answer(changed=False, outcome="failed", code="preflight", message="\n".join(lines), brief=blocked, data=data)


def _conduct(to: Telling, name: str, given: UpdateManifests, check: bool) -> Answer:
    """Makes the run and carries it on until it ends or waits; with ``check`` it is only rehearsed, and ``planned``.
    FleetError as of ``define_run``, ``refuse_unfit``, ``rehearse``, ``carry_on`` and ``restart_run``."""
    session, options = to.session, to.options
    wish = _wish(options)
    as_is = _made(session, name, given, options, write=False)
    made = _again(session, as_is, options, write=False)
    if check:
        then = rehearse(session, made.run, given, wish)
        plan, before = _printed_plan(session, then, given, options, then.seen), as_is.run.status.status.state
        return _answer(_later_of_both(made, then), to, "planned", plan, before)
    unoffered = refuse_unfit(session, made.run, given, wish)
    who = user(session)
    made = _again(session, _made(session, name, given, options, write=True, who=who), options, write=True, who=who)
    ending = carry_on(session, made.run, wish, who)
    told = Outcome(run=ending.run, changed=made.changed or ending.changed, notes=(*made.notes, *unoffered))
    told = _answered(session, told)
    came, to = verdict(ending), replace(to, resumes=ending.resume_at)
    failed = came.outcome in (PARTIAL, FAILURE)
    steps = to.next(told)
    further = steps if failed else []
    shown = _printed_run(session, told, [] if failed else steps)
    return Answer(
        changed=told.changed,
        outcome=came.outcome,
        code=came.code,
        message="\n".join([came.message, *further]),
        brief="\n".join([came.brief, *further]) if came.brief else "",
        resume_at=ending.resumes,
        data=shown | {"plan": []},
        next_lines=[] if failed else steps,
    )


def _again(session: Session, made: Outcome, options: t.Mapping[str, t.Any], write: bool, who: str = "") -> Outcome:
    """The run, started again where the option ``restart`` says so, else as it was made. Without ``write`` nothing is
    recorded. FleetError as of ``restart_run``."""
    return _later_of_both(made, restart_run(session, made.run, write, who)) if options["restart"] else made


def _wish(options: dict[str, t.Any]) -> ConductOptions:
    """The options of an update run as a wish; those of times are in seconds, ``time_limit`` None or 0 for no limit."""
    limit = options["time_limit"]
    return ConductOptions(
        drivers=options["drivers"],
        operations=options["operations"] or "",
        events=options["events"] or "",
        time_limit=timedelta(seconds=limit) if limit else None,
        max_idle=timedelta(seconds=options["max_idle"]),
        terms=terms_of(
            self_approval=options["allow_self_approval"],
            verified=options["verified_approvals"],
            expires=options["approval_expires"],
        ),
        pace=Pace(interval=options["interval"], settle=options["settle"], lost_after=options["lost_after"]),
        timeout=options["timeout"],
        threads=options["threads"],
        approved=options["digest"],
        src=tuple(options["src"] or ()),
    )


def _later_of_both(made: Outcome, then: Outcome) -> Outcome:
    """The later run, changed if either step has changed it, with the notes of both."""
    return Outcome(run=then.run, changed=made.changed or then.changed, notes=(*made.notes, *then.notes))


def _printed_plan(
    session: Session,
    made: Outcome,
    given: UpdateManifests,
    options: t.Mapping[str, t.Any],
    seen: SeenMembers | None = None,
) -> list[str]:
    """Which versions and images each control plane and pool has and would get, and why, as lines that are printed, too;
    none as of ``member_plans``, and its FleetErrors."""
    plans = member_plans(session, made.run, given, options["drivers"] or {}, seen or {})
    lines: list[str] = []
    if plans:
        lines = upgrade_plan_text(plans.target, plans.works, plans.without_window, plans.unattended_stopped)
    for line in lines:
        session.say(line)
    return lines


def _answer(
    outcome: Outcome, to: Telling, word: str = "done", plan: t.Sequence[str] = (), before: str = "", would: str = ""
) -> Answer:
    """The answer with the outcome ``word``, after the run was printed. ``before`` is the state of the run where a start
    may be told of that check mode does not make; empty if there is none. ``would`` is what is done, as check mode says
    it before the run as it would be; empty to say nothing."""
    begun = not (to.run.check_mode and before and before != outcome.run.status.status.state)
    for line in would_text(would, outcome.changed) if to.run.check_mode and would else ():
        to.session.say(line)
    told = _answered(to.session, outcome)
    shown = _printed_run(to.session, told, [] if to.run.check_mode else to.next(told), begun)
    return Answer(changed=told.changed, outcome=word, data=shown | {"plan": list(plan)})


def _answered(session: Session, outcome: Outcome) -> Outcome:
    """The outcome with its run as people are to see it, as of ``with_answers``."""
    run = with_answers(session.records, outcome.run, partial(vouched_since, session.hub), session.clock())
    return replace(outcome, run=run)


def _printed_run(session: Session, told: Outcome, further: t.Sequence[str], begun: bool = True) -> dict[str, t.Any]:
    """The run as data, after it was printed as a tree, with what is worth a word and, in the ``further`` lines, what to
    type next. What runs only would begin if it is not ``begun``."""
    data = _as_result(told, begun)
    for line in (*data["tree"], *notes_text(told.notes), *further):
        session.say(line)
    return data


def _as_result(told: Outcome, begun: bool = True) -> dict[str, t.Any]:
    """As ``run_data``, with the run as a ``tree`` and what it ``waits_for``; ``begun`` as of ``_printed_run``."""
    return run_data(told) | {"tree": run_text(told.run, begun), "waits_for": waits_for(told.run)}
