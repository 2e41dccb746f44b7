# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from datetime import timedelta

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.conductor.executor import Pace
from ..module_utils._fleet.session import Session
from ..module_utils._fleet.updates.conducting import (
    ConductOptions,
    carry_on,
    refuse_unfit,
    rehearse,
    terms_of,
    verdict,
)
from ..module_utils._fleet.updates.gate import user
from ..module_utils._fleet.updates.sources import (
    UpdateManifests,
    keep,
    name_of,
    written,
)
from ..module_utils._fleet.updates.update_run import (
    Outcome,
    absent,
    as_data,
    present,
    skipped,
    started,
    stopped,
    targets_of,
)
from ..module_utils._report.run_text import run_text, waits_for
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Make update runs, start, stop, conduct and delete them."""

    def libraries(self, options: t.Mapping[str, t.Any]) -> t.Mapping[str, str]:
        return SERVERS if options["state"] == "conducted" else {}

    def carry_out(self, options: dict[str, t.Any], run_of: Run) -> Answer:
        given = written(options["src"], options["definition"], options["strict"])
        name = name_of(options["name"] or "", given)
        targets = targets_of(options["targets"], options["state"] == "skipped")
        write = not run_of.check_mode
        with run_of.open(options) as session:
            state, records = options["state"], session.records
            if state == "absent":
                return Answer(changed=absent(records, name, options["force"], write), data={"name": name})
            if state == "stopped":
                return _answer(stopped(session, name, write), session)
            if state == "skipped":
                return _answer(skipped(session, name, targets, write), session)
            if state == "conducted":
                return _conducted(session, name, given, options, run_of.check_mode)
            who = user(session) if write else ""
            made = _made(session, name, given, options["digest"], write, who)
            if state == "present":
                return _answer(made, session)
            return _answer(_both(made, started(session, made.run, {}, write, who)), session)


def _made(session: Session, name: str, given: UpdateManifests, digest: str, write: bool, who: str = "") -> Outcome:
    """The run as it is defined, with the windows and releases beside it; recorded if it is to be written."""
    made = present(session.records, name, given, write, digest, who)
    kept = keep(session.records, (*given.maintenance.values(), *given.catalogues.values()), write)
    return Outcome(run=made.run, changed=made.changed or kept, notes=made.notes)


def _conducted(session: Session, name: str, given: UpdateManifests, options: dict[str, t.Any], check: bool) -> Answer:
    wish = _wish(options)
    made = _made(session, name, given, options["digest"], write=False)
    if check:
        then = rehearse(session, made.run, given, wish)
        return _answer(_both(made, then), session, "planned")
    refuse_unfit(session, made.run, given, wish)
    who = user(session)
    made = _made(session, name, given, options["digest"], write=True, who=who)
    ending = carry_on(session, made.run, wish, who)
    told = Outcome(run=ending.run, changed=made.changed or ending.changed, notes=made.notes)
    came = verdict(ending)
    return Answer(
        changed=told.changed,
        outcome=came.outcome,
        code=came.code,
        message=came.message,
        resume_at=ending.resumes,
        data=_shown(told, session),
    )


def _wish(options: dict[str, t.Any]) -> ConductOptions:
    limit = options["time_limit"]
    if options["max_idle"] < 0:
        raise FleetError("bad-option", f"{options['max_idle']} is less than 0", "max_idle")
    return ConductOptions(
        drivers=options["drivers"],
        operations=options["operations"] or "",
        events=options["events"] or "",
        time_limit=timedelta(seconds=limit) if limit else None,
        max_idle=timedelta(seconds=options["max_idle"]),
        terms=terms_of(options["allow_self_approval"], options["verified_approvals"], options["approval_expires"]),
        pace=Pace(interval=options["interval"], settle=options["settle"], lost_after=options["lost_after"]),
        timeout=options["timeout"],
        threads=options["threads"],
    )


def _both(made: Outcome, then: Outcome) -> Outcome:
    return Outcome(run=then.run, changed=made.changed or then.changed, notes=made.notes)


def _answer(outcome: Outcome, session: Session, word: str = "done") -> Answer:
    return Answer(changed=outcome.changed, outcome=word, data=_shown(outcome, session))


def _shown(outcome: Outcome, session: Session) -> dict[str, t.Any]:
    """The run as data, after its tree was printed."""
    tree = run_text(outcome.run)
    for line in tree:
        session.say(line)
    return as_data(outcome) | {"tree": tree, "waits_for": waits_for(outcome.run)}
