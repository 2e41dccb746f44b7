# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Worker processes (``workers``) that do what is to be done on members, where one process is too slow for all of them:
how many, whose share a member is, their signs of life; else threads of this process.

All that is decided, recorded, held in the records and told to people stays with the process that hires them.
"""

from __future__ import annotations

import contextlib
import threading
import typing as t
import zlib
from functools import partial

from ...._core.errors import FleetError
from ...._kube.parallel import WorkPool
from ...conductor.interrupts import Interrupts
from ...in_processes import no_workers
from ...keeping import running_time
from ...members.members import Clients, connection_of
from ...permits import PermitPage
from ..look import ApplyOptions, MemberRunners, in_threads
from ..plan import FleetPlan
from .forking import forked, wait_or_kill
from .hearing import WorkerHearing
from .hired_worker import HiredWorker, run_by_share
from .member_worker import MemberWorker
from .message_pipe import MessagePipe

# Seconds between two signs of life to the workers.
BEAT = 0.1


@contextlib.contextmanager
def runners_for(
    clients: Clients, plan: FleetPlan | None, ways: ApplyOptions, told: Interrupts | None = None
) -> t.Iterator[MemberRunners]:
    """Who goes to the members of a plan while entered: as many workers as are asked for, though not more than there are
    members; threads of this process where that makes fewer than two, and without a ``plan``. With ``told``, which says
    that this run is to end, they may write.

    To be entered before there are threads, by a thread that stays: workers die with it. FleetError ``no-workers``, and
    as of ``records_id``, where ``told`` is given and there are leases; RuntimeError if the machine starts no thread.
    """
    members = sorted({row.cluster for each in plan.plans for row in each.clusters} if plan else ())
    workers = min(ways.workers, len(members))
    if plan is None or workers < 2:
        yield in_threads(ways.threads, told or str)
        return
    if told and clients.leases:
        clients.leases.learn_owner()
    _read_connections(clients, members)
    page = PermitPage(len(plan.plans), running_time)
    hands: list[HiredWorker] = []
    try:
        for _each in range(workers):
            hands.append(_forked(clients, page, ways, told is not None, hands))
        with _signs_of_life(page, told), WorkerHearing(hands, clients, page):
            pool = WorkPool(ways.threads * workers, told or str)
            does = partial(run_by_share, hands, _shares(clients, members, workers))
            yield MemberRunners(pool=pool, threads=ways.threads * workers, does=does, window=page.window)
    finally:
        for each in hands:
            each.end()
        for each in hands:
            wait_or_kill(each.pid)
            each.close()


def _shares(clients: Clients, members: t.Sequence[str], workers: int) -> dict[str, int]:
    """Which worker each member is for, in the order of a hash of the names, so that all have about as many. Members of
    which it is not recorded whose cluster they are all go to the first, which then has more."""
    # Whether two of these are one cluster can only be told by whoever has asked both.
    unsure = {name for name in members if name in clients.members and not clients.members[name].spec.cluster_uid}
    ordered = sorted(members, key=lambda name: (zlib.crc32(name.encode()), name))
    return {name: 0 if name in unsure else place % workers for place, name in enumerate(ordered)}


def _forked(
    clients: Clients, page: PermitPage, ways: ApplyOptions, writes: bool, earlier: t.Sequence[HiredWorker]
) -> HiredWorker:
    """A new worker, which is at work; it gets our leases only if it ``writes``. FleetError ``no-workers``."""

    def serve(pipe: MessagePipe) -> None:
        """What the new process does: it serves with clients of its own."""
        with clients.apart(clients.leases if writes else None) as own:
            MemberWorker(pipe, own, page, ways.threads).serve()

    try:
        pid, pipe = forked(serve, [each.pipe for each in earlier])
    except OSError as error:
        raise no_workers(error) from error
    return HiredWorker(pid, pipe)


def _read_connections(clients: Clients, members: t.Iterable[str]) -> None:
    """Reads each kubeconfig once, in this process, so that no worker has to read it again; one that cannot be read is
    told later."""
    files: set[tuple[str, ...]] = set()
    for name in members:
        member = clients.members.get(name)
        if member is None or not member.spec.connection.kubeconfig or member.spec.connection.secret_ref:
            continue
        file = (member.spec.connection.kubeconfig,)
        if file not in files:
            files.add(file)
            with contextlib.suppress(FleetError):  # told when the member is gone to
                connection_of(member, None, clients.environ)


@contextlib.contextmanager
def _signs_of_life(page: PermitPage, told: Interrupts | None) -> t.Iterator[None]:
    """While entered the workers know that this process lives, and at once when it is to end; nothing is permitted
    afterwards."""
    over = threading.Event()

    def beat() -> None:
        """Gives a sign of life every tenth of a second until this is over; stops the page once this run is to end."""
        while not over.wait(BEAT):
            if told and told():
                page.stop()
            page.beat()

    page.beat()
    if told:
        told.also(page.stop)
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        page.stop()
        over.set()
        thread.join()
