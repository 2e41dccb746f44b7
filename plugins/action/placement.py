# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from ..module_utils._core.errors import FleetError, Problem
from ..module_utils._fleet.files import approved_plan, facts_file, refuse_empty, refuse_unwritable, write_file
from ..module_utils._fleet.nodes.placed_nodes import with_nodes_told
from ..module_utils._fleet.nodes.reading import nodes_file
from ..module_utils._fleet.placements.checks import brake_limits, removal_limit, without_unreachable
from ..module_utils._fleet.placements.history.going_back import ways_after
from ..module_utils._fleet.placements.history.roll_back import RollBack
from ..module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ..module_utils._fleet.placements.on_member.runs_at_work import with_runs_told
from ..module_utils._fleet.placements.placement import (
    UNFULFILLED,
    PlacementRequest,
    Report,
    run,
)
from ..module_utils._fleet.placements.plan import FleetPlan
from ..module_utils._fleet.templates.present import utc_text
from ..module_utils._report.changes import plan_diff
from ..module_utils._report.commands.placement_steps import after_placement
from ..module_utils._report.markdown import plans_markdown
from ..module_utils._report.text import left_to_runs, notes_before_plan, notes_text, nothing_to_end, plan_text
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb

# Of the option facts; every other value is the path of a file.
AUTO, READ = "auto", "read"
# States that no plan goes before, and what is said first where they are only looked at.
ENDING = ("absent", "rolled_back")
ONLY_WOULD = "nothing is written, this is only what would change:"


class ActionModule(Verb):
    """Plan and carry out placements, end them or roll them back: which options contradict each other, plans as files
    (``write_plan``, ``write_markdown``), outcome and code of the task (``fail_on``, ``unreachable``), how it goes
    on."""

    RULES: t.ClassVar[dict[str, t.Any]] = {
        "mutually_exclusive": [["src", "definition"]],
        "required_by": {"max_replaced_nodes": ["nodes_file"]},
    }

    def libraries(self, options: t.Mapping[str, t.Any]) -> t.Mapping[str, str]:
        """Those for API servers; none for a plan from a facts file."""
        offline = options["state"] == "planned" and options["facts"] not in (AUTO, READ)
        return {} if offline else SERVERS

    def carry_out(self, options: dict[str, t.Any], run_of: Run) -> Answer:
        """Plans placements, looks at members and carries the plan out, as far as ``state`` and check mode have it, and
        says how it goes on. What fails on a member makes the outcome ``partial``. FleetError as of ``_asked``,
        ``approved_plan`` and ``run``, among them those of brakes, and ``digest-mismatch`` with what the approved plan
        says."""
        approved = approved_plan(options["approved_plan"]) if options["approved_plan"] else None
        asked = _asked(options, run_of, approved.digest if approved else options["digest"] or "")
        if options["nodes_file"]:
            asked = replace(asked, judged=_with_nodes(options, run_of.now))
        began = run_of.now.replace(microsecond=0)
        with run_of.open(options, writes=asked.write) as session:
            try:
                report = with_runs_told(session.records, run(session, asked))
            except FleetError as error:
                raise _with_difference(error, approved.changes if approved else ()) from error
            ways = ways_after(report, session.records, options["src"] or ())
        answer = _written_answer(report, options, run_of, utc_text(began) if asked.look and not asked.write else "")
        came_to = _came_to(answer.outcome, report)
        steps = after_placement(run_of.given, came_to, answer.changed, report.plan.digest, report.looked, ways)
        return run_of.with_next(answer, steps, answer.outcome in ("partial", *options["fail_on"]))


def _with_nodes(options: t.Mapping[str, t.Any], now: datetime) -> t.Callable[[FleetPlan], FleetPlan]:
    """Tells plans which nodes they replace, with the brake on these if one is given. FleetError of the file, and
    ``bad-option``."""
    most = options["max_replaced_nodes"]
    limit = None if most is None else removal_limit(most, "max_replaced_nodes")
    return partial(with_nodes_told, nodes=nodes_file(options["nodes_file"], now), limit=limit)


def _came_to(outcome: str, report: Report) -> str:
    """The outcome by which it goes on: that clusters are too few ends no rollout that waits, and no staged run."""
    if outcome != UNFULFILLED or not report.written:
        return outcome
    return "waiting" if report.waits else "done"


def _asked(options: dict[str, t.Any], run_of: Run, approved: str) -> PlacementRequest:
    """What the options ask for; ``approved`` is the digest that the plan must have, empty for any. FleetError
    ``bad-option``, also for empty ``names``, ``evacuate`` or ``readmit``, ``nothing-asked`` for ``absent`` and
    ``rolled_back`` without names or with an empty one, ``unwritable-file``, and as of ``facts_file``."""
    refuse_empty(options, "src", "resources")
    names = tuple(dict.fromkeys(options["names"] or ()))
    if options["state"] in ENDING and not (names and all(each.strip() for each in names)):
        raise FleetError("nothing-asked", f"state {options['state']} needs the names of the placements", "names")
    refuse_empty(options, "names")
    blank = [each for each in ("evacuate", "readmit") if options[each] is not None and not options[each].strip()]
    if blank:
        raise FleetError("bad-option", "it selects no cluster", ", ".join(blank), "leave it out if that is meant")
    back = _roll_back(options)
    refuse_unwritable(options["write_plan"], options["write_markdown"])
    moving = [each for each in ("evacuate", "readmit", "empty_first") if options[each]]
    if options["state"] in ("absent", "rolled_back") and moving:
        text = f"state {options['state']} moves no placement from one cluster to another"
        raise FleetError("bad-option", text, ", ".join(moving), "use state present")
    age = options["max_facts_age"]
    plan_only = options["state"] == "planned"
    return PlacementRequest(
        src=tuple(options["src"] or ()),
        definition=options["definition"],
        names=names,
        absent=options["state"] == "absent",
        roll_back=back,
        evacuate=options["evacuate"] or "",
        readmit=options["readmit"] or "",
        empty_first=options["empty_first"],
        resources=tuple(options["resources"]) if options["resources"] and back is None else None,
        facts=None if options["facts"] in (AUTO, READ) else facts_file(options["facts"], run_of.now, for_plan=True),
        read=options["facts"] == READ,
        max_facts_age=timedelta(seconds=age) if age else None,
        limits=brake_limits(options),
        ways=ApplyOptions(
            prune_kinds=tuple(options["prune_kinds"]),
            patience=options["removal_timeout"],
            validate=options["validate"] == "server",
            threads=options["threads"],
            workers=options["workers"],
            rollout=RolloutOptions(
                time_limit=None if options["time_limit"] is None else timedelta(seconds=options["time_limit"]),
                max_idle=timedelta(seconds=options["max_idle"]),
                applied_only=options["readiness"] == "applied",
                to_the_end=options["wait"],
            ),
        ),
        strict=options["strict"],
        approved=approved,
        look=not plan_only,
        write=not plan_only and not run_of.check_mode,
        render=options["render"] or "",
        timeout=options["timeout"],
    )


def _roll_back(options: dict[str, t.Any]) -> RollBack | None:
    """What is rolled back to; None for every other state. FleetError ``bad-option`` for ``to`` with another state or
    several names, and for a ``definition`` that is to be rolled back."""
    to = options["to"]
    if options["state"] != "rolled_back":
        if to is not None:
            raise FleetError("bad-option", "to belongs to state rolled_back", "to")
        return None
    if options["definition"]:
        text = "what is rolled back is what is recorded, and not what is given"
        raise FleetError("bad-option", text, "definition", "leave it out; names says which placements")
    if to is not None and len(set(options["names"])) > 1:
        raise FleetError("bad-option", "an index is that of one placement", "to", "roll back one after the other")
    return RollBack(to=to, checkouts=tuple(options["resources"] or ()))


def _written_answer(report: Report, options: dict[str, t.Any], run_of: Run, observed_at: str) -> Answer:
    """The answer to a report, after its text was printed, and ``write_plan`` and ``write_markdown`` were written, in
    check mode too. ``partial`` where something failed or such a file could not be written; members out of reach count
    only with ``unreachable`` ``fail``. Else ``drifted`` in check mode, if ``fail_on`` has it and anything drifted or is
    due; else by what the plan lacks, ``planned``, ``waiting`` or ``done``."""
    only_would = run_of.check_mode and report.changed and options["state"] in ENDING
    lines = [ONLY_WOULD] if only_would else []
    lines += [*notes_before_plan(report.plan.findings), *report.evacuation.lines]
    lines += [line for plan in report.plan.plans for line in plan_text(plan, report.outcomes_of(plan.name))]
    lines += nothing_to_end(options["names"], report.plan.plans) if options["state"] == "absent" else []
    lines += left_to_runs(report.plan.plans, report.evacuation.evacuated)
    lines += notes_text(report.plan.findings)
    lines += [each.sentence for each in report.together]
    if report.looked and run_of.check_mode and "drifted" in options["fail_on"] and report.looked.all_clear:
        lines.append(report.looked.all_clear)
    if len(report.plan.plans) > 1:
        lines.append(f"digest of all {len(report.plan.plans)} placements together: {report.plan.digest[:16]}")
    for line in lines:
        run_of.say(line)
    document = report.plan.as_dict()
    unwritten = _write_texts(
        {
            options["write_plan"]: lambda: json.dumps(document, indent=1, sort_keys=True) + "\n",
            options["write_markdown"]: lambda: plans_markdown(
                report.plan.plans, report.plan.digest, report.plan.facts_digest, report.plan.findings
            ),
        }
    )
    data = {
        "plan": document,
        "digest": report.plan.digest,
        "table": lines,
        "rendered": list(report.rendered),
        "evacuated": sorted(report.evacuation.evacuated),
        "left_behind": [each.as_dict() for each in report.left_behind],
        "together": [each.as_dict() for each in report.together],
        "members": {
            placement: {name: each.as_dict() for name, each in outcomes.items()}
            for placement, outcomes in report.outcomes.items()
        },
        "availability": report.availability,
        "observed_at": observed_at,
        "drifted": _steps(report, lambda outcome: outcome.drifted),
        "due": _steps(report, lambda outcome: outcome.changes),
        "waves": report.waves,
        "rollouts": {name: each.as_dict() for name, each in report.waits.items()},
        "problems": [each.as_dict() for each in (*report.problems, *unwritten)],
        "validated_by": "server" if options["validate"] == "server" else "recorded hashes and field ownership",
    }
    short, lacks = report.shortfall
    fails = [
        *(report.problems if options["unreachable"] == "fail" else without_unreachable(report.problems)),
        *unwritten,
    ]
    outcome = short or ("planned" if run_of.check_mode or options["state"] == "planned" else "done")
    if fails:
        message = report.looked.message(fails) if report.looked else "\n".join(str(each) for each in fails)
        return Answer(changed=report.changed, outcome="partial", code=fails[0].code, message=message, data=data)
    told = [*lacks, *report.problems]
    steps = [*data["drifted"], *data["due"]]
    if steps and report.looked and run_of.check_mode and "drifted" in options["fail_on"]:
        return Answer(
            changed=report.changed, outcome="drifted", code="drifted", message=report.looked.message(), data=data
        )
    if outcome == "done" and report.waits:
        outcome = "waiting"
    return Answer(
        changed=report.changed,
        outcome=outcome,
        code=_waiting_code(report) if outcome == "waiting" else told[0].code if told else "",
        message="\n".join([*map(str, lacks), *(line for each in report.waits.values() for line in each.lines)]),
        resume_at=report.resume_at,
        data=data,
        diff=[each for plan in report.plan.plans for each in plan_diff(plan, report.outcomes_of(plan.name))],
    )


def _write_texts(texts: t.Mapping[str | None, t.Callable[[], str]]) -> tuple[Problem, ...]:
    """Writes each text to its path; None and an empty path are passed over. Gives the problems of those that could not
    be, and raises nothing for them: what was done on members is to be told all the same."""
    found: list[Problem] = []
    for path, text in texts.items():
        try:
            if path:
                write_file(path, text())
        except FleetError as error:
            found += error.problems
    return tuple(found)


def _waiting_code(report: Report) -> str:
    """``time-limit`` if that has ended the wait of any placement, else ``rollout-waits``."""
    return "time-limit" if any(each.why == "time-limit" for each in report.waits.values()) else "rollout-waits"


def _steps(report: Report, which: t.Callable[[t.Any], t.Iterable[t.Any]]) -> list[dict[str, t.Any]]:
    """The steps of each member that ``which`` finds in its outcome, as data, with placement and cluster."""
    return [
        {"placement": placement, "cluster": cluster, **step.as_dict()}
        for placement, outcomes in report.outcomes.items()
        for cluster, outcome in outcomes.items()
        for step in which(outcome)
    ]


def _with_difference(error: FleetError, approved: t.Sequence[str]) -> FleetError:
    """The error; a refused digest with what the approved plan says, if it says anything: the plan of now is shown by
    planning again."""
    if error.code != "digest-mismatch" or not approved:
        return error
    return FleetError(error.code, f"{error.message}; approved was {'; '.join(approved)}", error.where, error.hint)
