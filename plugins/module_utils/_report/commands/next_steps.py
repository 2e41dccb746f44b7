# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What to type next, as a shell takes it: how an update run, a staged run or a rotation goes on; after an approval, a
stop, a join, a status, a change of windows, or another cluster under a member's name."""

from __future__ import annotations

import types
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from ..._core.foreign import TEXT
from ..._core.objects.clusters.fleet_member import DRIVERS
from ..._core.objects.staged.update_run import ClusterStagedUpdateRun
from ..._core.objects.updates.run_status import (
    MemberUpdateStatus,
)
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.overview.run_needs import FOR_CONDUCTOR, RunNeed
from ..._core.overview.runs import ROTATION, STAGED_RUN
from ..._core.rollout.staged.standing import RunStanding
from ..._core.rollout.staged.way_back import AGAIN, BACK, MENDED, run_after
from ..._core.updates.retry import is_left_behind
from ..._core.values.approved_digest import ALGORITHM
from ..._core.values.instants import SECONDS, later, write_local, write_time
from ..._core.values.update_states import (
    COMPLETED,
    FAILED,
    MEMBER,
    NOT_STARTED,
    PENDING,
    RUNNING,
    SKIPPED,
    STOPPED,
    STOPPING,
    WAITING_FOR_SLOT,
    WINDOW_CLOSED,
)
from ..widths import told_line
from .named_gates import NamedGate, named_gates
from .playbook_command import Variables, playbook_command

DIGITS = 16  # of a digest
ENDED = ("Succeeded", "Failed")
CARRYING_ON = ("update", "staged_update", "rotate")
# Of an approval or a skip: as it stands it gives none, and people write theirs between the quotes.
REASON: Variables = types.MappingProxyType({"reason": ""})
NOTHING: Variables = types.MappingProxyType({})
# Options of which a command can have the value: no secret is in it.
OF_A_WORD = ("operations", "driver", "allow_self_approval", "verified_approvals", "approval_expires")
# What no record tells: where the manifests of placements and of what they place are.
FILES: t.Mapping[str, str] = types.MappingProxyType({"placements": "FOLDER", "resources": "FOLDER"})
DRIFT_FILE = "drift.json"
MOST = 5
NAMED = 40  # nodes of one member
SOON = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class NextStep:
    """A playbook with its variables; ``to`` says what for, as in ``to go on``. ``blanks`` are further variables, each
    with a word that stands for what only people know."""

    to: str
    playbook: str
    variables: Variables
    blanks: t.Mapping[str, str] = field(default_factory=dict)


def next_lines(steps: t.Iterable[NextStep], records: Variables, as_now: Variables = NOTHING) -> list[str]:
    """A line for each step, ``to go on: ansible-playbook ...``; none for a step whose variables cannot stand in a
    command, or that would be cut where it is printed. ``records`` is where they are, empty for the usual place;
    ``as_now`` are options that were given, and that whoever carries the same on (``CARRYING_ON``) has to give again: in
    the command, or named."""
    lines = []
    for each in steps:
        again = {name: as_now[name] for name in as_now if each.playbook in CARRYING_ON and name not in each.variables}
        words = {name: value for name, value in again.items() if name in OF_A_WORD}
        named = [name for name in again if name not in words]
        variables = {**each.variables, **words, **({"records": records} if records else {})}
        command = playbook_command(each.playbook, variables)
        with_them = f", with {' and '.join(named)} as now" if named else ""
        if command:
            command += "".join(f" -e {name}={word}" for name, word in each.blanks.items())
            lines.append(f"to {told_line(each.to)}{with_them}: {command}")
    return [each for each in lines if len(each) <= TEXT]


def after_run(
    run: UpdateRun, now: datetime, resumes: datetime | None = None, newer: UpdateRun | None = None
) -> list[NextStep]:
    """How an update run goes on from its state. Pending or Running, it is carried on, after open gates that people have
    to approve, from ``resumes`` on where that is a minute away or more and nothing but time is waited for. Stopped or
    Failed, it is restarted, after such gates; few failed members can be left out before that; where a ``newer`` run
    stands for a Failed one, that alone is told. Completed or Skipped, it is followed by a run that repeats what failed
    or was skipped, if anything was."""
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
    if state == FAILED and newer is not None:
        return [_newer_run(newer)]
    if state in (STOPPED, FAILED):
        again = NextStep(to=_AGAIN[state], playbook="update", variables={**name, "restart": True})
        return [*_approvals(run), again, *_skip(run.name, members, state)]
    if state in (COMPLETED, SKIPPED) and any(map(is_left_behind, members)):
        to = "make a run that repeats what failed or was skipped"
        return [NextStep(to=to, playbook="retry", variables=name)]
    return []


_AGAIN = {FAILED: "try again what failed, and go on", STOPPED: "take it up again"}


def _newer_run(newer: UpdateRun) -> NextStep:
    """The step that looks at, or goes on with, the run that stands for one that has failed."""
    made = newer.metadata.creation_timestamp
    since = f" at {write_time(made, SECONDS)}" if made else ""
    over = newer.status.status.state in (COMPLETED, SKIPPED, FAILED)
    to = f"{'see' if over else 'go on with'} run {newer.name}, made after it{since} for the same members"
    return NextStep(to=to, playbook="status" if over else "update", variables={"run": newer.name})


def _by_the_clock(member: MemberUpdateStatus) -> bool:
    """Whether nothing but time brings the member on, if it waits at all: one that is not Pending counts."""
    return member.status.state != PENDING or member.reason in (WAITING_FOR_SLOT, WINDOW_CLOSED)


def _next_minute(instant: datetime) -> datetime:
    """The instant, moved on to the next full minute unless it is one; the last minute of the calendar for what is in
    that."""
    minute = instant.replace(second=0, microsecond=0)
    return minute if minute == instant else later(minute, timedelta(minutes=1)) or minute


def _skip(run: str, members: t.Sequence[MemberUpdateStatus], state: str) -> list[NextStep]:
    """The step that leaves out those that failed, of a Failed run with at most ``MOST`` of them, else none; it is the
    restart that goes on then."""
    failed = [f"{MEMBER}:{each.name}" for each in members if each.status.state == FAILED]
    if state != FAILED or not failed or len(failed) > MOST:
        return []
    targets = failed[0] if len(failed) == 1 else failed
    to = "leave out what failed, before that"
    return [NextStep(to=to, playbook="skip", variables={"run": run, "targets": targets, **REASON})]


def _approvals(run: UpdateRun) -> list[NextStep]:
    """A step for each open gate that people have to approve, or have refused; not for those that the clock opens or
    somebody has approved already. The first ``MOST`` of them."""
    digest = short_digest(run.status.digest)
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
    newer: RunStanding | None = None,
) -> list[NextStep]:
    """How a staged update run goes on; ``state`` is its word in results. ``approvals`` are stages and timings that it
    waits for, ``again`` the variables that its playbook was given and needs once more, ``beside`` those that only a new
    run needs.

    After one that failed a new run does the same; where a ``newer`` one has begun after it, that alone is named. Where
    a run waits ``late`` for clusters that may never come right, a new one brings what was mended and applied. In these
    two cases the last step goes back to the snapshot at the index ``before``, if there was one.
    """
    again = {name: one_or_all(value) for name, value in again.items()}
    anew, name = {**again, **{each: one_or_all(value) for each, value in beside.items()}}, str(run.key)
    back = _new_run(run, f"go back to snapshot {before}", BACK, before, anew)
    if state == FAILED and newer is not None:
        return [_newer(newer, again)]
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
    mended = _new_run(run, "bring what you have mended and applied", MENDED, "", anew)
    return [*found, *([mended] if late else []), *([back] if late and before else [])]


def _newer(newer: RunStanding, again: Variables) -> NextStep:
    """The step that looks at, or goes on with, the run that has come after one that failed."""
    since = f" at {write_time(newer.begun_at, SECONDS)}" if newer.begun_at else ""
    to = f"{'see' if newer.state in ENDED else 'go on with'} run {newer.name}, which has begun after it{since}"
    return NextStep(to=to, playbook="staged_update", variables={"run": newer.name, **again})


def _new_run(run: ClusterStagedUpdateRun, to: str, suffix: str, index: str, variables: Variables) -> NextStep:
    """The step that makes and carries on a run after this one, as of ``run_after``, from a definition in the command:
    there is no file of it yet."""
    made = run_after(run, suffix, index)
    named = {"run": run.key.record(made["metadata"]["name"]), "definition": made}
    return NextStep(to=f"{to}, by a new run", playbook="staged_update", variables={**named, **variables})


def approval_lines(run: str, playbook: str, state: str, usual: bool) -> list[str]:
    """A line on who carries a run on whose gate was passed; ``state`` is that of an update run, empty for a staged one,
    or where it is not known. The command stands there only where the records are at the ``usual`` place: an approver
    reaches others with a login that is not the conductor's."""
    stands = state in (STOPPED, FAILED)
    command = playbook_command(playbook, {"run": run, **({"restart": True} if stands else {})}) if usual else ""
    words = "takes it up again" if stands else "goes on with it, unless that is under way"
    words += ", with the options it was begun with" if playbook == "staged_update" else ""
    return [f"whoever conducts {run} {words}{f': {command}' if command else ''}"]


def after_join(given: Variables, without_driver: t.Sequence[str], others: bool) -> list[NextStep]:
    """The step that gives the members ``without_driver`` one: by the pattern that was ``given`` (options of
    ``member_cluster``), by their names if they are few, or as people list them. Not by the pattern where ``others``
    that it matches have a driver already, which it would replace."""
    if not without_driver:
        return []
    blanks = {"driver": "DRIVER"}
    variables: dict[str, t.Any] = {}
    if given.get("context_pattern") and not given.get("members") and not others:
        variables = {"kubeconfig": given.get("kubeconfig"), "pattern": given["context_pattern"]}
    elif len(without_driver) <= MOST:
        variables = {"members": [{"name": name} for name in without_driver]}
    else:
        blanks = {"members": "MEMBERS", **blanks}
    to = f"give them one ({', '.join(DRIVERS)})"
    return [NextStep(to=to, playbook="join", variables=variables, blanks=blanks)]


def after_reading(others: t.Iterable[str]) -> list[NextStep]:
    """A step for each of the first ``MOST`` members, by name, under whose name another cluster answered than the one
    that joined: it accepts that one, for the cluster may have been rebuilt."""
    return [
        NextStep(
            to=f"accept the other cluster as {name}, if it was rebuilt",
            playbook="join",
            variables={"members": [{"name": name, "rebuilt": True}]},
        )
        for name in sorted(others)[:MOST]
    ]


def after_status(
    runs: t.Iterable[RunNeed], *, is_behind: bool, unlooked: bool = False, in_files: bool = False
) -> list[NextStep]:
    """After the state of the fleet: reading members anew (``is_behind``: runs have seen more of some since); looking
    for drift where nobody has (``unlooked``); and carrying on the first ``MOST`` staged runs and rotations that nobody
    seems to conduct. Where records are ``in_files`` a staged run with overrides needs the files with these again, and
    no record tells where they are."""
    left = [each for each in runs if each.needs == FOR_CONDUCTOR and each.kind in _CARRIED_ON][:MOST]
    steps = [NextStep(to="read members anew", playbook="facts", variables={})] if is_behind else []
    if unlooked:
        told = {"result_file": DRIFT_FILE}
        steps += [
            NextStep(to="see here what drifted", playbook="drift", variables=told, blanks=FILES),
            NextStep(to="have that shown", playbook="status", variables={"drift": DRIFT_FILE}),
        ]
    for each in left:
        playbook, variable, options = _CARRIED_ON[each.kind]
        since = f" since {write_time(each.since, SECONDS)}" if each.since else ""
        to = f"go on with {each.kind} {each.name}, which nobody seems to conduct{since}{options}"
        blanks = {"runs": "FOLDER"} if each.overridden and in_files else {}
        steps.append(NextStep(to=to, playbook=playbook, variables={variable: each.name}, blanks=blanks))
    return steps


def after_maintenance(changed: bool) -> list[NextStep]:
    """After windows and freezes were recorded or deleted, if anything ``changed`` by that: when clusters may be touched
    now, and which runs may go on."""
    if not changed:
        return []
    return [
        NextStep(to="see when clusters may be touched now", playbook="when", variables={}),
        NextStep(to="see which runs may go on by that, and how", playbook="status", variables={}),
    ]


_CARRIED_ON = {
    STAGED_RUN: ("staged_update", "run", ", with the options it was begun with"),
    ROTATION: ("rotate", "rotation", ""),
}


def after_local_down(others: t.Sequence[str], root: str) -> list[NextStep]:
    """How the local clusters ``others``, which others made, are removed, too. ``root`` is the folder that was given,
    empty for the usual one."""
    where = {"local_root": root} if root else {}
    step = NextStep(to="take them away too", playbook="local_down", variables={"clusters": ",".join(others), **where})
    return [step] if others else []


def short_digest(digest: str) -> str:
    """The first ``DIGITS`` digits of a digest, without ``sha256:``: as many as a command needs to name it."""
    return digest.removeprefix(ALGORITHM)[:DIGITS]


def one_or_all(value: t.Any) -> t.Any:
    """The item of a list of one, as playbooks take it; anything else as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def after_rotation_stop(name: str, *, in_hand: bool, ended: bool) -> list[NextStep]:
    """How a rotation that was to stop goes on: nodes ``in_hand`` are followed to their end first; one that has
    ``ended`` before its time can be begun anew."""
    if in_hand:
        to = "follow what is in flight to its end, unless it is being conducted"
        return [NextStep(to=to, playbook="rotate", variables={"rotation": name})]
    return [NextStep(to="begin it anew", playbook="rotate", variables={"rotation": name})] if ended else []


def after_rotation(
    name: str, outcome: str, resume_at: datetime | None = None, young: int = 0, kept: t.Iterable[str] = ()
) -> list[NextStep]:
    """The step that carries on a rotation whose ``outcome`` is ``waiting``, from ``resume_at`` on where that is known;
    before it those that take the annotation from nodes that are ``kept`` by it (``member/node``). After another outcome
    the one that replaces all nodes again, if it has left ``young`` ones."""
    if outcome != "waiting":
        variables = {"rotation": name, "again": True}
        return [NextStep(to="replace all of them again", playbook="rotate", variables=variables)] if young else []
    to = f"go on from {write_local(_next_minute(resume_at), UTC)}" if resume_at else "go on"
    nodes: dict[str, list[str]] = {}
    for each in kept:
        member, _slash, node = each.partition("/")
        nodes.setdefault(member, []).append(node)
    freed = [
        NextStep(
            to=f"let {member} have its annotated nodes replaced",
            playbook="disrupt",
            variables={"member": member, "state": "unprotected"}
            | ({"nodes": one_or_all(sorted(names))} if len(names) <= NAMED else {}),
            blanks={} if len(names) <= NAMED else {"nodes": "NODES"},
        )
        for member, names in sorted(nodes.items())[:MOST]
    ]
    return [*freed, NextStep(to=to, playbook="rotate", variables={"rotation": name})]
