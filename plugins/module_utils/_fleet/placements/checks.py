# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Before a plan is carried out: limits of brakes, and those that stop it (``brake-max-removals``),
``digest-mismatch``, ``unfulfilled``, ``became-ineligible``, records without members (``nothing-recorded``); after it:
what failed (``not-applied``, ``not-gone``), what is only out of reach, what evacuated clusters keep,
``counted-as-recorded``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._core.cluster.facts.snapshot import FactsSnapshot
from ..._core.cluster.silence import OUT_OF_REACH, SILENT
from ..._core.errors import FleetError, Problem
from ..._core.objects.identity import ObjectId
from ..._core.objects.placements.binding import BOUND, SCHEDULED, UNSCHEDULED
from ..._core.plan.brakes import BrakeLimits
from ..._core.plan.digest import contents_digest
from ..._core.plan.document import (
    EVACUATED,
    GAINED,
    LEFT_BEHIND,
    LOST,
    NOTHING_RECORDED,
    PlacementPlan,
)
from ..._core.plan.looked import Looked, looked_at
from ..._core.plan.member import NOT_GONE
from ..._core.plan.outcome import APPLY_FAILED
from ..._core.plan.waves import counted_as_recorded_findings
from ..._core.values.approved_digest import approves, too_short_words
from ..._core.values.listed import number_of
from ..._kube.access import server_readiness
from ..._kube.parallel import in_parallel
from ..keeping import STOPS
from ..members.members import Clients
from .look import Outcomes
from .plan import FleetPlan, PlanRequest
from .recorded import APPROVED, APPROVED_CONTENTS, RecordedPlacement

CODES = {APPLY_FAILED: "not-applied", NOT_GONE: "not-gone"}
READ_ANEW = "ansible-playbook gitops.fleet.facts -e dest=facts.json reads them anew; "


def failures(outcomes: t.Mapping[str, Outcomes]) -> tuple[Problem, ...]:
    """A problem at ``cluster (placement)`` for each cluster whose outcome is an error, but for those of STOPS, and for
    each object that failed there (``not-applied``, ``not-gone``, ``refused-on-member``)."""
    found = []
    for placement, by_cluster in outcomes.items():
        for cluster, outcome in by_cluster.items():
            if outcome.error and outcome.error.code not in STOPS:
                found.append(replace(outcome.error, where=f"{cluster} ({placement})"))
            for each in outcome.failures:
                code = CODES.get(each.reason, "refused-on-member")
                found.append(Problem(code, f"{each.id}: {each.message}", f"{cluster} ({placement})", each.reason))
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class LeftBehind:
    """What an evacuated cluster that does not answer still holds of a placement, by its plan."""

    placement: str
    cluster: str
    objects: tuple[ObjectId, ...]

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields, objects as texts (``Deployment shop/web``)."""
        return {**vars(self), "objects": list(map(str, self.objects))}


def left_behind(plans: t.Iterable[PlacementPlan], outcomes: t.Mapping[str, Outcomes]) -> tuple[LeftBehind, ...]:
    """A row for each placement and evacuated cluster that does not answer: by what was seen of it, or by the facts
    where nobody looked."""
    found = []
    for plan in plans:
        for each in plan.clusters:
            seen = outcomes.get(plan.name, {}).get(each.cluster)
            silent = seen.silent if seen else each.cause == LEFT_BEHIND
            if silent and each.cause in (EVACUATED, LEFT_BEHIND):
                found.append(LeftBehind(placement=plan.name, cluster=each.cluster, objects=each.leaving))
    return tuple(found)


def summary_of_look(plans: t.Iterable[PlacementPlan], outcomes: t.Mapping[str, Outcomes]) -> Looked:
    """What a look that wrote nothing comes to, as of ``looked_at``; that an evacuated cluster does not answer is
    expected."""
    return looked_at(outcomes, {(each.placement, each.cluster) for each in left_behind(plans, outcomes)})


def silent_in(facts: FactsSnapshot) -> frozenset[str]:
    """Members that did not answer when their facts were read."""
    return frozenset(name for name, why in facts.failed.items() if why.get("code") in SILENT)


def with_silence_told(plan: FleetPlan, outcomes: t.Mapping[str, Outcomes], unread: frozenset[str]) -> FleetPlan:
    """The plan with findings ``counted-as-recorded`` about those that did not answer: in ``outcomes``, or, where nobody
    went to them, when their facts were read (``unread``)."""
    found: list[Problem] = []
    for each in plan.plans:
        asked = outcomes.get(each.name, {})
        silent = {name for name, outcome in asked.items() if outcome.silent} | (unread - asked.keys())
        found += counted_as_recorded_findings(each, silent)
    return replace(plan, findings=(*plan.findings, *found))


def nothing_recorded_problems(
    place: str, members: t.Container[str], facts: FactsSnapshot | None
) -> tuple[Problem, ...]:
    """The problem ``nothing-recorded`` where a plan is made from ``facts`` without what is held, of a fleet of which
    the records at ``place`` know no member: its gains and losses are not those of the fleet. Else none."""
    if members or facts is None or facts.held is not None:
        return ()
    text = (
        "the records know no member of these facts, so this plan assumes that nothing is placed anywhere:"
        " clusters that lose something, and objects that are deleted, are not in it"
    )
    hint = "plan with the records of the fleet, or with a facts snapshot that fleet_facts wrote from them"
    return (Problem(NOTHING_RECORDED, text, place, hint),)


def brake_limits(options: t.Mapping[str, t.Any]) -> BrakeLimits:
    """Limits from a verb's options ``max_removals``, ``allow_empty``, ``max_object_removals``, ``allow_no_objects`` and
    ``allow_older``, all of them to be there. FleetError ``bad-option``."""
    return BrakeLimits(
        max_removals=removal_limit(options["max_removals"], "max_removals"),
        allow_empty=options["allow_empty"],
        max_object_removals=removal_limit(options["max_object_removals"], "max_object_removals"),
        allow_no_objects=options["allow_no_objects"],
        allow_older=options["allow_older"],
    )


def removal_limit(text: str, option: str) -> int | str:
    """A whole number below 2**31, or a percentage up to 100% as text. FleetError ``bad-option`` for all else."""
    share = text.removesuffix("%")
    most = 100 if share != text else 2**31 - 1
    if not (share.isascii() and share.isdigit() and len(share) <= 10 and int(share) <= most):
        raise FleetError("bad-option", f"{text!r:.80} is neither a number nor 0% to 100%", option)
    return text if share != text else int(share)


def check_brakes(plan: FleetPlan) -> None:
    """FleetError with all brakes that stop the plan, as of ``braked``."""
    stopped = stopping_brakes(plan)
    if stopped:
        raise FleetError.of(stopped)


def stopping_brakes(plan: FleetPlan) -> list[Problem]:
    """The brakes for which an apply of this plan is refused, as of ``braked``."""
    return braked(plan.plans)


def braked(plans: t.Iterable[PlacementPlan]) -> list[Problem]:
    """The brakes that stop any of the plans, each once, with codes such as ``brake-max-removals``; the hint names the
    option that lifts it."""
    found = [
        Problem(
            f"brake-{brake.name.replace('_', '-')}",
            brake.message.removeprefix(f"{each.name}: "),
            each.name,
            READ_ANEW * (brake.name == "max_facts_age") + f"if it is meant: {brake.option}",
        )
        for each in plans
        for brake in each.brakes
        if brake.stops
    ]
    return list(dict.fromkeys(found))


def unfulfilled(plan: FleetPlan) -> list[Problem]:
    """A problem ``unfulfilled`` for each placement that gets fewer clusters than its policy asks for, in the plan's
    order."""
    hint = "placement_info with explain tells what is against a cluster"
    return [
        Problem(
            "unfulfilled",
            f"{each.picked:,} of {number_of(each.wanted, 'cluster')} that the policy asks for",
            each.name,
            hint,
        )
        for each in plan.plans
        if not each.fulfilled
    ]


def check_digest(plan: FleetPlan, request: PlanRequest) -> None:
    """FleetError ``digest-mismatch`` when another plan than the approved one would be carried out, or too few digits of
    its digest are given. The rest of a plan that was begun under that digest passes, and any plan without
    ``approved``."""
    approved = request.approved
    if approved and not approves(approved, plan.digest) and not _was_begun(plan, request):
        message = f"the approved plan has digest {approved[:16]}, the plan made now has {plan.digest[:16]}"
        hint = "plan again, compare, and have the new digest approved"
        raise FleetError("digest-mismatch", f"{message}{too_short_words(approved)}", hint=hint)


def contents_under(plan: PlacementPlan, request: PlanRequest) -> str:
    """The digest of what clusters are to get by the plan (``contents_digest``), kept beside an approved one: a later
    plan can be the rest of that only if it has the same."""
    return contents_digest(plan, request.prune_kinds, empty_first=request.evacuation.empty_first)


def check_still_eligible(plan: FleetPlan, members: t.Collection[str], clients: Clients) -> None:
    """Asks each cluster of ``members`` that gains a placement whether it is ready: an approved plan rests on older
    facts. FleetError ``became-ineligible`` with all that are not, or do not answer; ``no-workers``."""
    picked = {each.cluster for one in plan.plans for each in one.clusters if each.change == GAINED}
    answers = in_parallel({name: _asks_ready(clients, name) for name in sorted(picked & set(members))})
    problems = [
        Problem(
            "became-ineligible",
            "a cluster that the approved plan picks is not ready any more",
            name,
            "plan again with fresh facts",
        )
        for name, answer in answers.items()
        if answer is not True
    ]
    if problems:
        raise FleetError.of(problems)


def _asks_ready(clients: Clients, name: str) -> t.Callable[[], bool]:
    """What asks the member, when called, whether it is ready; it raises FleetError where there is no answer."""
    return lambda: bool(server_readiness(clients.get(name)))


def _was_begun(plan: FleetPlan, request: PlanRequest) -> bool:
    """Whether something was begun under this digest, and what is left to do is nothing but the rest of it."""
    begun = any(_is_under(plan.recorded[each.name], request.approved) for each in plan.plans)
    return begun and all(
        _is_as_begun(each, plan.recorded[each.name])
        and (not each.decides_change or _is_rest_of(each, plan.recorded[each.name], request))
        for each in plan.plans
    )


def _is_under(recorded: RecordedPlacement, approved: str) -> bool:
    """Whether the placement was begun to be carried out under the ``approved`` digest."""
    begun = str(_annotations(recorded).get(APPROVED, ""))
    return bool(begun) and approves(approved, begun)


def _annotations(recorded: RecordedPlacement) -> t.Mapping[str, t.Any]:
    """Those of the placement's record; none without one."""
    return ((recorded.document or {}).get("metadata") or {}).get("annotations") or {}


def _is_rest_of(plan: PlacementPlan, recorded: RecordedPlacement, request: PlanRequest) -> bool:
    """Whether the plan is nothing but the rest of what was begun under the digest: no new snapshot, no other spec, no
    end, and the same content."""
    if not _is_under(recorded, request.approved) or plan.resource_snapshot_new or plan.respecified or plan.deleting:
        return False
    return bool(_annotations(recorded).get(APPROVED_CONTENTS) == contents_under(plan, request))


def _is_as_begun(plan: PlacementPlan, recorded: RecordedPlacement) -> bool:
    """Whether each cluster is picked or loses it as was recorded."""
    states = {each.spec.target_cluster: each.spec.state for each in recorded.known.bindings}
    return all(
        states.get(each.cluster) in ((UNSCHEDULED,) if each.change == LOST else (SCHEDULED, BOUND))
        for each in plan.clusters
    )


def without_unreachable(problems: t.Iterable[Problem]) -> list[Problem]:
    """The problems, in order, but for ``partly-read`` and the codes of OUT_OF_REACH: a member, or a part of one, is out
    of reach for now."""
    return [each for each in problems if each.code not in (*OUT_OF_REACH, "partly-read")]
