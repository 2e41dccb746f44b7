# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What to type next, as a shell takes it: how an update run, a staged run, placements or a rotation go on; after an
approval, a stop, a join, or another cluster under a member's name."""

from __future__ import annotations

import types
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from ..._core.objects.clusters.fleet_member import DRIVERS
from ..._core.objects.staged.update_run import ClusterStagedUpdateRun
from ..._core.objects.updates.run_status import (
    MemberUpdateStatus,
)
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.plan.going_on.ways_on import WaysOn
from ..._core.plan.looked import Looked
from ..._core.rollout.staged.way_back import AGAIN, BACK, run_after
from ..._core.values.approved_digest import ALGORITHM
from ..._core.values.instants import write_local
from ..._core.values.update_states import (
    ALREADY_AT_TARGET,
    COMPLETED,
    FAILED,
    MEMBER,
    NOT_STARTED,
    PENDING,
    RUNNING,
    SKIPPED,
    STOPPED,
    STOPPING,
    SYSTEM,
    WAITING_FOR_SLOT,
    WINDOW_CLOSED,
)
from .named_gates import NamedGate, named_gates
from .playbook_command import Variables, playbook_command

DIGITS = 16  # of a digest
ENDED = ("Succeeded", "Failed")
CARRYING_ON = ("update", "staged_update", "rotate")
# Options of placements that a plan, and an apply that goes on, are made with.
SOURCES = {"src": "placements", "resources": "resources"}
REPEATED = (
    *("names", "strict", "unreachable", "prune_kinds", "max_removals", "max_object_removals"),
    *("allow_empty", "allow_no_objects", "allow_older"),
)
# Options that a roll back which goes on is made with, beside its placement and the snapshot.
BACK_WITH = (
    *("resources", "strict", "unreachable", "prune_kinds", "max_removals", "max_object_removals"),
    *("allow_empty", "allow_no_objects"),
)
GOES_ON = {"waiting": "go on", "partial": "try again what failed"}
# Options of a look for drift that another one is made with.
LOOKED_WITH = ("names", "strict", "unreachable", "result_file")
NO_WAYS = WaysOn()
_A_RUN = {"runs": "folder", "run": "name"}
OF_OTHERS = ("definition", "to")
# Options by which placements move from clusters, or may come back to them: of the playbook `evacuate`.
MOVES = ("evacuate", "readmit", "empty_first")
# Of an approval: as it stands it gives none, and people write theirs between the quotes.
REASON: Variables = types.MappingProxyType({"reason": ""})
NOTHING: Variables = types.MappingProxyType({})
# Options of which a command can have the value: no secret is in it.
OF_A_WORD = ("operations", "driver", "allow_self_approval", "verified_approvals", "approval_expires")
MOST = 5
SOON = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class NextStep:
    """A playbook with its variables; ``to`` says what for, as in ``to go on``. ``blanks`` are further variables, each
    with a word for what only people know."""

    to: str
    playbook: str
    variables: Variables
    blanks: t.Mapping[str, str] = field(default_factory=dict)


def next_lines(steps: t.Iterable[NextStep], records: Variables, as_now: Variables = NOTHING) -> list[str]:
    """A line for each step, ``to go on: ansible-playbook ...``; none for a step whose variables cannot stand in a
    command. ``records`` is where they are, empty for the usual place; ``as_now`` are options that were given, and that
    whoever carries the same on (``CARRYING_ON``) has to give again: those of a word stand in the command, others, such
    as ``drivers``, are named."""
    lines = []
    for each in steps:
        again = {name: as_now[name] for name in as_now if each.playbook in CARRYING_ON and name not in each.variables}
        words = {name: value for name, value in again.items() if name in OF_A_WORD}
        named = [name for name in again if name not in words]
        variables = {**each.variables, **words, **({"records": records} if records else {})}
        command = playbook_command(each.playbook, variables)
        with_them = f", with {' and '.join(named)} as now" if named else ""
        if command:
            command += "".join(f" -e {name}=<{word}>" for name, word in each.blanks.items())
            lines.append(f"to {each.to}{with_them}: {command}")
    return lines


def after_run(run: UpdateRun, now: datetime, resumes: datetime | None = None) -> list[NextStep]:
    """How an update run goes on from the state that it is in: open gates that people have to approve first, at most
    ``MOST`` of them; of one that has ended a run that repeats what failed or was skipped, nothing if there is none.
    ``resumes``, where it is a minute away or more and nothing but time is waited for, is told as when to go on."""
    status, name = run.status, {"run": run.name}
    state = status.status.state
    members = [member for stage in status.stages for group in stage.groups for member in group.members]
    if state == NOT_STARTED:
        return [NextStep(to="start it", playbook="update", variables=name)]
    if state in (PENDING, RUNNING):
        gates = _approvals(run)
        to = "go on then" if gates else "go on"
        if resumes and not gates and resumes - now >= SOON and all(_by_the_clock(each) for each in members):
            to = f"go on from {write_local(_next_minute(resumes), UTC)}"
        return [*gates, NextStep(to=to, playbook="update", variables=name)]
    if state == STOPPING:
        to = "follow what is in flight to its end, unless it is being conducted"
        return [NextStep(to=to, playbook="update", variables=name)]
    if state in (STOPPED, FAILED):
        again = NextStep(to=_AGAIN[state], playbook="update", variables={**name, "restart": True})
        return [*_approvals(run), again, *_skip(run.name, members, state)]
    if state in (COMPLETED, SKIPPED) and any(_left_behind(each) for each in members):
        to = "make a run that repeats what failed or was skipped"
        return [NextStep(to=to, playbook="retry", variables=name)]
    return []


_AGAIN = {FAILED: "try again what failed, and go on", STOPPED: "take it up again"}


def _by_the_clock(member: MemberUpdateStatus) -> bool:
    """Whether nothing but time brings the member on, if it waits at all: one that is not Pending counts."""
    return member.status.state != PENDING or member.reason in (WAITING_FOR_SLOT, WINDOW_CLOSED)


def _next_minute(instant: datetime) -> datetime:
    """The instant, moved on to the next full minute unless it is one."""
    minute = instant.replace(second=0, microsecond=0)
    return minute if minute == instant else minute + timedelta(minutes=1)


def _left_behind(member: MemberUpdateStatus) -> bool:
    """Whether a retry takes the member up: it failed, or was skipped by the system and not for being at the target
    already."""
    state = member.status.state
    return state == FAILED or (state == SKIPPED and member.skipped_by == SYSTEM and member.reason != ALREADY_AT_TARGET)


def _skip(run: str, members: t.Sequence[MemberUpdateStatus], state: str) -> list[NextStep]:
    """The step that leaves out those that failed, of a Failed run with at most ``MOST`` of them, else none; it is the
    restart that goes on then."""
    failed = [f"{MEMBER}:{each.name}" for each in members if each.status.state == FAILED]
    if state != FAILED or not failed or len(failed) > MOST:
        return []
    targets = failed[0] if len(failed) == 1 else failed
    to = "leave out what failed, before that"
    return [NextStep(to=to, playbook="skip", variables={"run": run, "targets": targets})]


def _approvals(run: UpdateRun) -> list[NextStep]:
    """A step for each open gate that people have to approve, or have refused; not for those that the clock opens or
    somebody has approved already. The first ``MOST`` of them."""
    digest = run.status.digest.removeprefix(ALGORITHM)[:DIGITS]
    found = [
        NextStep(
            to=_approve(named),
            playbook="approve",
            variables={"run": run.name, **named.variables, **({"digest": digest} if digest else {}), **REASON},
        )
        for named, gate in ((each, each.gate) for each in named_gates(run))
        if gate.status.state == PENDING and gate.gate_id and not gate.by and (gate.refused or not gate.due)
    ]
    return found[:MOST]


def _approve(named: NamedGate) -> str:
    """Such as ``approve no errors for a day (after canary)``; a gate without a name is told by its place, and by its id
    where that is not clear."""
    position = f"{named.timing.lower()} {named.place}"
    words = named.gate.display_name or ("" if named.alone else named.gate.gate_id)
    return f"approve {words} ({position})" if words else f"approve what comes {position}"


def after_staged(
    run: ClusterStagedUpdateRun,
    state: str,
    approvals: t.Sequence[tuple[str, str]],
    again: Variables,
    beside: Variables = NOTHING,
    before: str = "",
    late: bool = False,
) -> list[NextStep]:
    """How a staged update run goes on; ``state`` is its word in results. ``approvals`` are stages and timings that it
    waits for, the first ``MOST`` of which are told, ``again`` the variables that its playbook was given and needs once
    more, ``beside`` those that only a new run needs. One that has ended goes nowhere, but after one that failed a new
    one does the same. After that, or where it waits ``late`` for clusters that may never come right, the last step goes
    back to the snapshot at the index ``before``, if there was one."""
    again = {name: _one(value) for name, value in again.items()}
    anew, name = {**again, **{each: _one(value) for each, value in beside.items()}}, str(run.key)
    back = _new_run(run, f"go back to snapshot {before}", BACK, before, anew)
    if state == FAILED:
        same = _new_run(run, "try it once more", AGAIN, run.spec.resource_snapshot_index, anew)
        return [same, *([back] if before else [])]
    if state in ENDED:
        return []
    found = [
        NextStep(
            to=f"approve what comes {timing.lower()} {stage}",
            playbook="approve",
            variables={"run": name, "kind": run.key.kinds.run, "stage": stage, "timing": timing, **REASON},
        )
        for stage, timing in approvals[:MOST]
    ]
    if state == STOPPED:
        up = NextStep(to="take it up again", playbook="staged_update", variables={"run": name, "state": "started"})
        found.append(up)
    to = "go on then" if found else "go on"
    found.append(NextStep(to=to, playbook="staged_update", variables={"run": name, **again}))
    return [*found, *([back] if late and before else [])]


def _new_run(run: ClusterStagedUpdateRun, to: str, suffix: str, index: str, variables: Variables) -> NextStep:
    """The step that makes and carries on a run after this one, as of ``run_after``, from a definition in the command:
    there is no file of it yet."""
    made = run_after(run, suffix, index)
    named = {"run": run.key.record(made["metadata"]["name"]), "definition": made}
    return NextStep(to=f"{to}, by a new run", playbook="staged_update", variables={**named, **variables})


def after_approval(run: str, playbook: str, state: str) -> list[NextStep]:
    """The one step that carries a run on whose gate was passed, with its ``playbook``; ``state`` is that of an update
    run, which may stand still until it is started again, and empty for a staged one."""
    stands = state in (STOPPED, FAILED)
    variables = {"run": run, **({"restart": True} if stands else {})}
    on = "go on, with the options it was begun with" if playbook == "staged_update" else "go on"
    to = "take it up again" if stands else f"{on}, unless it is being conducted"
    return [NextStep(to=to, playbook=playbook, variables=variables)]


def after_join(given: Variables, without_driver: t.Sequence[str]) -> list[NextStep]:
    """The step that gives the members ``without_driver`` one, if there are any: by the pattern that was ``given``, by
    the names of at most ``MOST``, or as they were listed."""
    if not without_driver:
        return []
    blanks = {"driver": "|".join(DRIVERS)}
    variables: dict[str, t.Any] = {}
    if given.get("context_pattern") and not given.get("members"):
        variables = {"kubeconfig": given.get("kubeconfig"), "pattern": given["context_pattern"]}
    elif len(without_driver) <= MOST:
        variables = {"members": [{"name": name} for name in without_driver]}
    else:
        blanks = {"members": "as now", **blanks}
    return [NextStep(to="give them one", playbook="join", variables=variables, blanks=blanks)]


def after_reading(others: t.Iterable[str]) -> list[NextStep]:
    """One step for each of the first ``MOST`` members, by name, under whose name another cluster answers than the one
    that joined: what accepts that, for it may have been rebuilt."""
    return [
        NextStep(
            to=f"accept the other cluster as {name}, if it was rebuilt",
            playbook="join",
            variables={"members": [{"name": name, "rebuilt": True}]},
        )
        for name in sorted(others)[:MOST]
    ]


def after_local_down(others: t.Sequence[str], root: str) -> list[NextStep]:
    """How the local clusters that others made are removed, too; none without any. ``root`` is the folder that was
    given, empty for the usual one."""
    where = {"local_root": root} if root else {}
    step = NextStep(to="take them away too", playbook="local_down", variables={"clusters": ",".join(others), **where})
    return [step] if others else []


def after_placement(
    given: Variables,
    outcome: str,
    changed: bool,
    digest: str,
    looked: Looked | None = None,
    ways: WaysOn = NO_WAYS,
) -> list[NextStep]:
    """How placements go on that were planned, looked at, applied or rolled back with the ``given`` options, in a run
    that ended as ``outcome``; where another playbook than these would have to be told more, only the staged run that
    they wait for, and how one goes back; nothing if nothing is left to do. ``looked`` is what was seen where nothing
    was to be written: None after an apply, and then ``ways`` says what can be done. A plan with changes is carried out
    by the file that it was written to, else by the ``digest``."""
    own = given.get("state", "present") in ("present", "planned")
    if given.get("state") == "rolled_back" and looked is None and outcome in ("waiting", "partial"):
        return [_rolls_back_on(given, outcome)]
    back = _back(given, ways) if own else []
    by_run = _by_run(given, ways) if looked is None and outcome == "done" else []
    if not own or not given.get("src") or any(given.get(name) for name in OF_OTHERS):
        return by_run + back
    sources = {name: _one(given[option]) for option, name in SOURCES.items() if given.get(option)}
    variables = sources | {name: _one(given[name]) for name in REPEATED if name in given}
    writing = "rollout" if given.get("wait") else "apply"
    moves = {name: given[name] for name in MOVES if given.get(name)}
    if moves:
        writing = "evacuate"
        variables |= moves | ({"wait": True} if given.get("wait") else {})
    found: list[NextStep] = []
    if looked and looked.unseen and not moves:
        again = sources | {name: _one(given[name]) for name in LOOKED_WITH if given.get(name)}
        found.append(NextStep(to="look again", playbook="drift", variables=again))
    if outcome == "planned" and changed:
        plan = given.get("write_plan")
        approval = {"approved_plan": plan} if plan else {"digest": digest.removeprefix(ALGORITHM)[:DIGITS]}
        carries_out = "evacuate" if moves else "apply"
        found.append(NextStep(to="carry out just this", playbook=carries_out, variables={**variables, **approval}))
    elif looked and (outcome == "drifted" or (outcome == "partial" and looked.drifted)):
        found.append(NextStep(to=_repairs(looked), playbook=writing, variables=variables))
    elif looked is None and outcome in ("waiting", "partial"):
        found.append(NextStep(to=GOES_ON[outcome], playbook=writing, variables=variables))
    elif looked is None and outcome == "done":
        found += by_run + _late(given, variables, ways)
    return found + back


def _back(given: Variables, ways: WaysOn) -> list[NextStep]:
    """The step that rolls back placements whose new version holds itself up, if there are any, and at most ``MOST``;
    with the checkouts only where Secrets are read from them."""
    if not ways.back or len(ways.back) > MOST:
        return []
    secrets = ways.with_secrets and given.get("resources")
    variables = {"placement": _one(list(ways.back)), **({"resources": _one(given["resources"])} if secrets else {})}
    return [NextStep(to="go back", playbook="rollback", variables=variables)]


def _rolls_back_on(given: Variables, outcome: str) -> NextStep:
    """The step that does the same roll back again: it goes on, and never to a snapshot before. ``outcome`` is
    ``waiting`` or ``partial``."""
    variables = {"placement": _one(given.get("names") or [])}
    if given.get("to") is not None:
        variables["to"] = given["to"]
    variables |= {name: _one(given[name]) for name in BACK_WITH if given.get(name)}
    return NextStep(to=GOES_ON[outcome], playbook="rollback", variables=variables)


def _by_run(given: Variables, ways: WaysOn) -> list[NextStep]:
    """The staged run that gives clusters what was recorded for them; none where none waits for one, or placements
    end."""
    if not ways.staged or given.get("state") == "absent":
        return []
    with_them = {name: _one(given[name]) for name in ("resources", "prune_kinds") if given.get(name)}
    return [NextStep(to="give it to its clusters", playbook="staged_update", variables=with_them, blanks=_A_RUN)]


def _late(given: Variables, variables: Variables, ways: WaysOn) -> list[NextStep]:
    """The rollout that waits for what an apply did not wait for; none where nothing is late, it has waited, or clusters
    are emptied."""
    if not ways.late or given.get("wait") or any(given.get(name) for name in MOVES):
        return []
    return [NextStep(to="wait until it is available", playbook="rollout", variables=variables)]


def _repairs(looked: Looked) -> str:
    """What an apply after a look is for, in words."""
    if not looked.drifted:
        return "write what is due"
    return f"repair what drifted{', and write what is due' if looked.due else ''} (it writes)"


def _one(value: t.Any) -> t.Any:
    """The item of a list of one, as playbooks take it; anything else as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def after_rotation_stop(name: str, in_hand: bool, ended: bool) -> list[NextStep]:
    """How a rotation that was to stop goes on: nodes ``in_hand`` are followed to their end first; one that has
    ``ended`` and left nodes can be begun anew. Nothing in other cases."""
    if in_hand:
        to = "follow what is in flight to its end, unless it is being conducted"
        return [NextStep(to=to, playbook="rotate", variables={"rotation": name})]
    return [NextStep(to="begin it anew", playbook="rotate", variables={"rotation": name})] if ended else []


def after_rotation(
    name: str, outcome: str, resume_at: datetime | None = None, young: int = 0, kept: t.Iterable[str] = ()
) -> list[NextStep]:
    """The step that carries a rotation on whose ``outcome`` is ``waiting``, from ``resume_at`` on where that is known;
    before it, for the first ``MOST`` members, one that takes the annotation from nodes that are ``kept`` by it, by
    ``member/node``. After another outcome the one that replaces the ``young`` nodes, too, that it has left, if there
    are any."""
    if outcome != "waiting":
        variables = {"rotation": name, "again": True}
        return [NextStep(to="replace all of them again", playbook="rotate", variables=variables)] if young else []
    to = f"go on from {write_local(resume_at, UTC)}" if resume_at else "go on"
    nodes: dict[str, list[str]] = {}
    for each in kept:
        member, _slash, node = each.partition("/")
        nodes.setdefault(member, []).append(node)
    freed = [
        NextStep(
            to=f"let {member} have its annotated nodes replaced",
            playbook="disrupt",
            variables={"member": member, "state": "unprotected", "nodes": _one(sorted(names))},
        )
        for member, names in sorted(nodes.items())[:MOST]
    ]
    return [*freed, NextStep(to=to, playbook="rotate", variables={"rotation": name})]
