# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Conducting an update run with its drivers: refused before it is recorded, rehearsed (``may-begin``, ``held-now``),
carried on, its verdict (``run-failed``, ``not-at-target``, ``not-all-members``, ``awaiting-approval``); versions
members have now; folder of operations."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates.preflight import Judge
from ..._core.updates.record.run_state import run_of
from ..._core.updates.record.summary import in_one_line, named_failures, refusal_of
from ..._core.updates.releases import versions
from ..._core.updates.releases.targets import target_of
from ..._core.updates.run import RunState
from ..._core.updates.status import derive
from ..._core.updates.terms import Terms
from ..._core.updates.timing.obstacles import obstacle
from ..._core.values.kube_version import KubeVersion
from ..._core.values.listed import listed
from ..._core.values.update_states import (
    COMPLETED,
    FAILED,
    NEW,
    PENDING,
    SKIPPED,
    STOPPED,
    TERMINAL,
    USER,
)
from ..._kube.client import Timeouts
from ..._kube.files import user_folder, with_home
from ..._kube.parallel import in_parallel
from ..._local.locks import make_folder
from ..._store.records import Records
from ..audit.evidence import failing
from ..audit.update_runs import attested_telling
from ..conductor.executor import Executor, Pace
from ..conductor.interrupts import Interrupts
from ..conductor.loop import RunLimits
from ..conductor.operation import Operation, OperationMaker
from ..drivers.by_provider import not_offered, target_remarks
from ..drivers.contract import Driver
from ..drivers.host import intent_reference
from ..drivers.local import local_driver_problems
from ..drivers.options import OptionPlace, drivers_from
from ..files import refuse_unwritable
from ..members.members import (
    Clients,
    members_to_write,
    open_clients,
    recorded_members,
)
from ..session import Session
from .approval_policy import vouched_since
from .claims import KIND
from .constraints import StartConstraints
from .defining import Outcome
from .events import events_file
from .gate_objects import gates_of
from .leases import behind_leases, upgrade_leases
from .monitor import ControlPlaneJudge, MemberMonitor, OfferJudge
from .pools import WholeJudge, by_steps, pools_seen, refuse_pools_without_driver, upgrades_node_pools
from .progress import RunProgress
from .sources import UpdateManifests
from .steering import ApprovalRules, RunEnding, conduct_run
from .steps.member_steps import MemberSteps, Pooling
from .steps.seen_members import SeenMembers, seen_members
from .update_run import keep_terms, start_run

NAMED = 5
DONE, WAITING, PARTIAL, FAILURE = "done", "waiting", "partial", "failed"


@dataclass(frozen=True, kw_only=True)
class ConductOptions:
    """How to conduct. ``drivers``: options by driver; ``operations``: folder, empty for the usual; ``time_limit`` and
    ``max_idle`` as of ``RunLimits``; ``timeout``: seconds to connect; ``threads``: members looked at at once;
    ``events``: file for lines of JSON, or empty; ``terms``: of approvals; ``pace``: how often operations are looked at,
    and when one is lost; ``approved`` (digest), ``src``: for the evidence alone."""

    drivers: t.Mapping[str, t.Any] = field(default_factory=dict)
    operations: str = ""
    events: str = ""
    time_limit: timedelta | None = None
    max_idle: timedelta = timedelta(minutes=2)
    terms: Terms = Terms()
    pace: Pace = Pace()
    timeout: float = 5.0
    threads: int = 16
    approved: str = ""
    src: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunVerdict:
    """What conducting came to: ``outcome`` is done, waiting, partial or failed, ``code`` as of ``verdict``. ``brief``
    names members that were not upgraded, without reasons; empty: ``message`` is brief."""

    outcome: str
    code: str = ""
    message: str = ""
    brief: str = ""


@dataclass(frozen=True, kw_only=True)
class Rehearsed(Outcome):
    """A run as it would begin; ``seen`` are its members as they are now, by name, as far as they were looked at."""

    seen: SeenMembers = field(default_factory=dict)


def carry_on(session: Session, run: UpdateRun, wish: ConductOptions, who: str = "") -> RunEnding:
    """Starts the run if it never was, as ``who``, and conducts it; then looks whether members that count as done are at
    the target. FleetError of ``keep_terms``, ``start_run``, ``conduct_run``, ``drivers_from``, ``target_remarks``,
    ``refuse_pools_without_driver``, ``members_to_write``, ``events_file``, ``vouched_since``, ``intent_reference``,
    ``observed_versions``; the run may keep terms, and be started, by then."""
    records, say = session.records, session.say
    members_to_write(session)
    with _drivers(session, run, wish, strict=True) as (drivers, clients):
        _target_notes(run, wish, clients)
        refuse_pools_without_driver(records, run, drivers)
        given, run = run, keep_terms(session, run, wish.terms)
        keeps = run is not given
        if run.status.phase == NEW:
            run = start_run(session, run, observed_versions(drivers, wish.threads), write=True, who=who).run
        task = f"run/{run.name}/{run.metadata.uid}"
        leases = upgrade_leases(clients, drivers, task, say, wish.pace.lost_after)
        whole, permits = upgrades_node_pools(run), _permits(records, run)
        pools = pools_seen(clients, drivers, whole)
        sight = MemberMonitor(
            records=records,
            drivers=drivers,
            judge=OfferJudge(_judge(run, permits, clients), _refused(run, wish, clients)),
            holder=task,
            members=tuple(row.name for row in run_of(run).members),
            permits=permits,
            leases=leases,
            clock_ahead=clients.clock_ahead,
            pools=pools,
        )
        place = partial(intent_reference, operations_folder(wish.operations, session.environ))
        follow: OperationMaker = Operation
        if by_steps(run):
            steps = MemberSteps(session=session, run=run, clients=clients, permits=permits, pools=pools, holder=task,
                                max_idle=wish.max_idle, pace=wish.pace, here=place)  # fmt: skip
            follow = steps.parts.follow
        works = Executor(behind_leases(drivers, leases), versions, wish.pace, follow=follow,
                         held_back=lambda work: sight.held_back(work, session.clock()))  # fmt: skip
        with Interrupts() as interrupts, events_file(wish.events, say) as emit:
            progress = RunProgress(
                run=run, say=say, emit=emit, journal=_journal(session, run.name), versions=sight.versions
            )
            limits = RunLimits(
                holder=session.holder, time_limit=wish.time_limit, max_idle=wish.max_idle, interrupted=interrupts
            )
            rules = ApprovalRules(terms=wish.terms, since=lambda: vouched_since(session.hub))
            telling = attested_telling(session, run, progress, wish.approved, wish.src)
            with failing(telling.testimony):
                ending = conduct_run(session, run.name, sight, works, progress, limits, place, rules, telling)
            behind = _behind(ending, drivers, wish.threads, pools if whole else None)
            return replace(ending, changed=ending.changed or keeps, behind=behind)


def refuse_unfit(session: Session, run: UpdateRun, given: UpdateManifests, wish: ConductOptions) -> tuple[Problem, ...]:
    """FleetError, before the run is recorded, for what could not be carried out, as of ``members_to_write``,
    ``drivers_from``, ``target_remarks``, ``refuse_pools_without_driver``, ``local_driver_problems``,
    ``refuse_unwritable``, ``make_folder``, ``StartConstraints.problems``. Else remarks on members that will be skipped;
    missing UIDs of members are recorded by then, and the folder for operations is made for a run that goes on."""
    members_to_write(session)
    with _drivers(session, run, wish) as (drivers, clients):
        notes = _target_notes(run, wish, clients)
        refuse_pools_without_driver(session.records, run, drivers)
        _refuse_unknown(run, drivers)
        refuse_unwritable(wish.events)
        _refuse_without_windows(session, run, given, drivers)
    if not _settled(run_of(run)):
        make_folder(operations_folder(wish.operations, session.environ), 0o700)
    return notes


def rehearse(session: Session, run: UpdateRun, given: UpdateManifests, wish: ConductOptions) -> Rehearsed:
    """The run as ``carry_on`` would begin with it: nothing is written, and members (``seen``) are only read. ``notes``
    say which members may begin now, and what holds others, unless it is over or stopped; one that was begun and is
    neither comes back as ``changed``. FleetError as of ``refuse_unfit``, but for ``members_to_write`` and
    ``make_folder``, of ``seen_members``, and of ``start_run`` for a run that never was."""
    refuse_unwritable(wish.events)
    with _drivers(session, run, wish) as (drivers, clients):
        notes = _target_notes(run, wish, clients)
        refuse_pools_without_driver(session.records, run, drivers)
        _refuse_unknown(run, drivers)
        _refuse_without_windows(session, run, given, drivers)
        if _settled(run_of(run)):
            return Rehearsed(run=run, changed=False, notes=notes)
        notes = (*notes, *_beginning(session, run, given))
        pools = pools_seen(clients, drivers, upgrades_node_pools(run))
        seen = seen_members(drivers, clients, pools, wish.threads)
        if run.status.phase != NEW:
            return Rehearsed(run=run, changed=True, notes=notes, seen=seen)
        observed = {name: each.status.version for name, each in seen.items()}
        there = start_run(session, run, observed, write=False)
        return Rehearsed(run=there.run, changed=there.changed, notes=notes, seen=seen)


def observed_versions(drivers: t.Mapping[str, Driver], threads: int, pools: Pooling | None = None) -> dict[str, str]:
    """Versions of members by name, as their drivers tell; who does not answer, or whose pools cannot be read, is left
    out. With ``pools`` the lowest of the control plane's and theirs; its own if one of these is no version. FleetError
    ``no-workers``."""
    work = {name: _observe(driver, name, pools) for name, driver in drivers.items()}
    answers = in_parallel(work, threads=threads)
    return {name: answer for name, answer in answers.items() if isinstance(answer, str)}


def _judge(run: UpdateRun, permits: StartConstraints, clients: Clients) -> Judge:
    """What says what a member has to do: with its control plane, or step by step."""
    if not by_steps(run):
        return ControlPlaneJudge(run.target, bool(run.spec.auto_upgrade_profile_id))
    return WholeJudge(target=target_of(run), known=permits.releases, member=clients.members.get)


def _behind(ending: RunEnding, drivers: t.Mapping[str, Driver], threads: int, pools: Pooling | None) -> dict[str, str]:
    """Versions, by name, of members that count as being at the target and answer with a lower one, or what is no
    version, of their nodes too with ``pools``; none unless the run is settled and has a version: others may have
    written the record. Those that this conductor saw there, or that are silent, are believed."""
    if ending.why != "settled" or not ending.run.target:
        return {}
    rows = ending.state.members
    asked = {row.name: drivers[row.name] for row in rows if row.recorded_at_target and row.name in drivers}
    found = observed_versions(
        {name: each for name, each in asked.items() if name not in ending.witnessed}, threads, pools
    )
    return {name: version for name, version in found.items() if not _reached(version, ending.run.target)}


def _reached(version: str, target: str) -> bool:
    """Whether the version is that of the target or above; False for what is no version."""
    try:
        return versions.reached(version, target)
    except ValueError:
        return False


def verdict(ending: RunEnding) -> RunVerdict:
    """Done if every member is at the target or was left out by people; partial if the run ended without some. Codes:
    ``run-failed``, ``gate-refused``; ``stopped``, ``time-limit``, ``interrupted``, ``awaiting-approval`` (a gate that
    no clock opens), ``waiting``; ``not-at-target``, ``not-all-members``; or none."""
    status = derive(ending.state)
    rows = ending.state.members
    if ending.why == "settled" and status.state == FAILED:
        failed = named_failures([row.name for row in rows if row.state == FAILED])
        return RunVerdict(outcome=FAILURE, code="run-failed", message=status.message, brief=failed)
    refused = refusal_of(ending.state)
    if ending.why == "settled" and status.state == STOPPED and refused:
        message = f"{refused}; it stands until the gate is approved and the run is started again"
        return RunVerdict(outcome=FAILURE, code="gate-refused", message=message)
    if ending.why == "settled" and status.state == STOPPED:
        return RunVerdict(outcome=WAITING, code="stopped", message="it was stopped")
    if ending.behind:
        named = "; ".join(f"{name} is at {version}" for name, version in sorted(ending.behind.items())[:10])
        message = f"recorded as if at {ending.run.target}: {named}"
        return RunVerdict(outcome=PARTIAL, code="not-at-target", message=message)
    if status.state in (COMPLETED, SKIPPED) and ending.why == "settled":
        lost = [row for row in rows if row.state == FAILED or row.skipped_behind_target]
        if lost:
            told = (f"{row.name} {row.state}: {in_one_line(row.message, row.name) or row.reason}" for row in lost[:10])
            named = "; ".join(told)
            brief = f"not upgraded: {listed([row.name for row in lost], NAMED)}"
            return RunVerdict(outcome=PARTIAL, code="not-all-members", message=named, brief=brief)
        return RunVerdict(outcome=DONE)
    if ending.why != "waiting":
        code = "time-limit" if ending.why == "time-limit" else "interrupted"
        return RunVerdict(outcome=WAITING, code=code, message=f"{ending.why}; start it again to go on")
    gates = [placed for placed in gates_of(ending.state) if placed.gate.state == PENDING and not placed.gate.due]
    code = "awaiting-approval" if gates else "waiting"
    return RunVerdict(outcome=WAITING, code=code, message=status.message)


def operations_folder(given: str, environ: t.Mapping[str, str]) -> Path:
    """The folder where operations are kept from run to run: the ``given`` one, made absolute, else
    ``gitops-fleet/operations`` in the user's folder for state. It is not made."""
    if given:
        return Path(with_home(given, environ)).absolute()
    return Path(user_folder("XDG_STATE_HOME", "~/.local/state", environ), "gitops-fleet", "operations")


def _refuse_unknown(run: UpdateRun, drivers: t.Mapping[str, Driver]) -> None:
    """FleetError as of ``local_driver_problems``; of a run that was started only if so of all; one fails later."""
    problems = local_driver_problems(drivers, run.target)
    if problems and (run.status.phase == NEW or len(problems) == len(drivers)):
        first, *others = problems
        raise FleetError.of([first, *(replace(each, hint="") if each.hint == first.hint else each for each in others)])


def _refuse_without_windows(
    session: Session, run: UpdateRun, given: UpdateManifests, members: t.Container[str]
) -> None:
    """FleetError with ``StartConstraints.problems`` of these members, and as of ``StartConstraints``."""
    found = [each for each in session.records.list("FleetMember") if each["metadata"]["name"] in members]
    problems = _permits(session.records, run, given).problems(found, session.clock())
    if problems:
        raise FleetError.of(problems)


def _beginning(session: Session, run: UpdateRun, given: UpdateManifests) -> tuple[Problem, ...]:
    """Remarks: which unfinished members may begin now (``may-begin``), and what holds the others (``held-now``).
    FleetError as of ``StartConstraints``."""
    names, now = run_of(run).unfinished, session.clock()
    documents = [each for each in session.records.list("FleetMember") if each["metadata"]["name"] in names]
    why: dict[str, list[str]] = {}
    for name, view in _permits(session.records, run, given).views(documents, now).items():
        found = obstacle(view, now)
        why.setdefault(found.message if found else "", []).append(name)
    free = why.pop("", [])
    words = [("may-begin", f"nothing of windows, freezes and releases holds {listed(free)} now")] if free else []
    words += [("held-now", f"{listed(held)}: {message}") for message, held in why.items()]
    return tuple(Problem(code, message, f"UpdateRun/{run.name}") for code, message in words)


def _permits(records: Records, run: UpdateRun, given: UpdateManifests | None = None) -> StartConstraints:
    """When members of the run may begin; what is ``given`` stands for what is recorded."""
    upgrade = run.spec.managed_cluster_update.upgrade
    return StartConstraints(records, upgrade.type, run.target, given or UpdateManifests())


def _refused(run: UpdateRun, wish: ConductOptions, clients: Clients) -> dict[str, str]:
    """Why platforms of the run's members never have its target, by name of the member."""
    members = (clients.members[name] for name in _taken(run) if name in clients.members)
    return not_offered(wish.drivers, members, run.target)


def _target_notes(run: UpdateRun, wish: ConductOptions, clients: Clients) -> tuple[Problem, ...]:
    """Remarks on members whose platform never has the target; none for a run that is over or stopped. FleetError
    ``target-not-offered`` if that is all of them."""
    if _settled(run_of(run)):
        return ()
    where = f"UpdateRun/{run.name} spec.managedClusterUpdate.upgrade.kubernetesVersion"
    return target_remarks(_refused(run, wish, clients), _taken(run), where)


def _settled(state: RunState) -> bool:
    """Whether the run has ended, or was stopped."""
    return derive(state).state in (*TERMINAL, STOPPED)


@contextlib.contextmanager
def _drivers(
    session: Session, run: UpdateRun, wish: ConductOptions, strict: bool = False
) -> t.Iterator[tuple[dict[str, Driver], Clients]]:
    """Drivers of ``_members_of`` the run by name, and connections, while entered. With ``strict`` members are to be
    upgraded, and with pools all of the fleet can be reached. FleetError as of ``drivers_from``, ``record-damaged``."""
    members, timeout = _members_of(session.records, run), Timeouts.connecting(wish.timeout)
    operations = operations_folder(wish.operations, session.environ)
    # Budgets of node pools may be over members that are not in the run.
    asked = members
    if strict and upgrades_node_pools(run):
        asked = {name: each.fleet for name, each in recorded_members(session.records).items()}
    with open_clients(session, asked, timeout=timeout, strict=strict) as clients:
        place = OptionPlace(operations=operations, environ=session.environ, cwd=Path.cwd())
        yield drivers_from(wish.drivers, members, clients, place), clients


def _members_of(records: Records, run: UpdateRun) -> dict[str, FleetMember]:
    """FleetMembers by name of ``_taken``, without those that have left. FleetError ``record-damaged``."""
    names = _taken(run)
    return {name: member.fleet for name, member in recorded_members(records).items() if name in names}


def _taken(run: UpdateRun) -> tuple[str, ...]:
    """Names of the run's members, but for those that people have left out, whatever is wrong with them."""
    return tuple(row.name for row in run_of(run).members if row.skipped_by != USER)


def _observe(driver: Driver, name: str, pools: Pooling | None) -> t.Callable[[], str]:
    """What looks at a member for ``observed_versions``."""

    def look() -> str:
        """The version now; FleetError of the driver, or of ``pools``."""
        seen = driver.observe(name)
        kubelets = [each.version for each in pools(name, seen) if each.version] if pools else []
        try:
            return min((seen.version, *kubelets), key=KubeVersion.parse) if kubelets else seen.version
        except ValueError:
            return seen.version

    return look


def _journal(session: Session, run: str) -> t.Callable[[str, str, str], None]:
    """What adds a line about the run (type, reason, message) to the journal."""
    return lambda kind, reason, message: session.journal(KIND, run, reason, message, kind)
