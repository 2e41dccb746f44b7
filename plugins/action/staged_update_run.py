# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from datetime import timedelta
from functools import partial

from ..module_utils._fleet.audit.staged_runs import testify_deletion
from ..module_utils._fleet.given import run_meant
from ..module_utils._fleet.placements.checks import brake_limits, removal_limit
from ..module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ..module_utils._fleet.placements.staged.approvals import approvers_of, open_requests
from ..module_utils._fleet.placements.staged.carrying import CONDUCTED, staged_run
from ..module_utils._fleet.placements.staged.report import StagedOptions, StagedReport
from ..module_utils._fleet.placements.staged.run_record import delete_run
from ..module_utils._fleet.placements.staged.sources import staged_manifests
from ..module_utils._fleet.updates.gate_completion import terms_of
from ..module_utils._report.commands.next_steps import after_staged
from ..module_utils._report.staged_text import staged_text
from ..module_utils._report.text import notes_text
from ..plugin_utils._afterwards import asked_afterwards
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Make staged update runs, start, stop, carry on and delete them; outcome of the task, and which options have to be
    given again to go on."""

    def libraries(self, options: t.Mapping[str, t.Any]) -> t.Mapping[str, str]:
        """Those for API servers where a run is conducted."""
        return SERVERS if options["state"] == CONDUCTED else {}

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Records, starts, stops, conducts or deletes the run, as ``state`` says, and tells how it goes on; in check
        mode nothing is written. What fails on clusters is in the outcome. FleetError as of ``run_meant``,
        ``staged_manifests``, ``delete_run`` and ``staged_run``, after which what clusters were given by then stays."""
        given = staged_manifests(options["src"], options["definition"], options["resources"], options["strict"])
        name, write, wish = run_meant(options["name"] or "", given.runs), not run.check_mode, _wish(options)
        with run.open(options) as session:
            if options["state"] == "absent":
                gone = delete_run(session.records, name, force=options["force"], write=write)
                return Answer(changed=testify_deletion(session, name, gone=gone, write=write), data={"name": name})
            report = staged_run(session, name, given, options["state"], wish, write=write)
            ask = partial(approvers_of, session.records, report.run)
            approvers = asked_afterwards(ask, {}, "who has given approvals", run.warn)
        tree = staged_text(report.run, report.state, report.digest, approvers, report.lacks)
        told = write and report.why and options["state"] == CONDUCTED  # while it was carried on
        if not write:
            run.say("nothing is recorded or done; so it would stand:")
        for line in (*tree, *(() if told else report.lines), *notes_text(report.notes)):
            run.say(line)
        answer = _answer(report, tree, options["state"], run.check_mode)
        if run.check_mode:
            return answer
        open_ones = [(each.stage, each.timing) for each in open_requests(report.run)]
        again, beside = _repeated(run.given, bool(given.overrides.overrides) and session.hub is None)
        late, newer = report.is_late, report.newer
        steps = after_staged(report.run, report.state, open_ones, again, beside, report.before, late, newer)
        return run.with_next(answer, steps, answer.outcome in ("partial", "failed"))


def _repeated(given: t.Mapping[str, t.Any], overridden: bool) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
    """The variables that going on needs once more, and those that only a new run does. Where files have overrides,
    and records are none that people write these to, the run is ``overridden``, and goes on by the same files alone."""
    beside = {"runs": given["src"]} if given.get("src") else {}
    again = {name: given[name] for name in ("resources", "prune_kinds") if given.get(name)}
    return {**(beside if overridden else {}), **again}, beside


def _wish(options: dict[str, t.Any]) -> StagedOptions:
    """The options of a staged run as a wish; those of times are in seconds, ``time_limit`` None or 0 for no limit.
    FleetError ``bad-option`` as of ``removal_limit``."""
    limit = options["time_limit"]
    rollout = RolloutOptions(
        time_limit=timedelta(seconds=limit) if limit else None, max_idle=timedelta(seconds=options["max_idle"])
    )
    ways = ApplyOptions(
        prune_kinds=tuple(options["prune_kinds"]),
        unplanned=removal_limit(options["max_object_removals"], "max_object_removals"),
        patience=options["removal_timeout"],
        threads=options["threads"],
        rollout=rollout,
    )
    return StagedOptions(
        ways=ways,
        limits=brake_limits({**options, "allow_older": False}),
        approved=options["digest"],
        terms=terms_of(
            self_approval=options["allow_self_approval"],
            verified=options["verified_approvals"],
            expires=options["approval_expires"],
        ),
        timeout=options["timeout"],
    )


def _answer(report: StagedReport, tree: list[str], state: str, check_mode: bool) -> Answer:
    """The answer to a report of a staged run. In check mode ``stopped`` where there are problems, ``failed`` as the
    report's verdict, else ``planned`` without code and message; otherwise that verdict, but ``done`` for a run that was
    only recorded, started or stopped and has not failed."""
    outcome, code, message = report.verdict
    if check_mode:
        outcome = "stopped" if report.problems else "failed" if outcome == "failed" else "planned"
    elif state != CONDUCTED and outcome != "failed":
        outcome, code, message = "done", "", ""
    return Answer(
        changed=report.changed,
        outcome=outcome,
        code="" if outcome == "planned" else code,
        message="" if outcome == "planned" else message,
        resume_at=report.resumes,
        data=report.as_dict() | {"tree": tree},
    )
