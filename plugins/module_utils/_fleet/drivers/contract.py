# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a driver does: look at a member (its version, whether it is ``busy``, its pools), begin its upgrade or that of
one node pool, follow it (``in progress``, ``succeeded``, ``failed``, ``unknown``, ``not begun``). Each call is
idempotent."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

if t.TYPE_CHECKING:  # programs that drivers start for every look at a member begin here
    from ..._core.objects.clusters.fleet_member import NodePoolStatus

IN_PROGRESS, SUCCEEDED, FAILED, UNKNOWN = "in progress", "succeeded", "failed", "unknown"
NOT_BEGUN = "not begun"


@dataclass(frozen=True, kw_only=True)
class Work:
    """One attempt at one member, in the update run ``run`` of type ``upgrade_type``. ``operation``, its name, stays the
    same when the attempt is taken up again.

    ``target`` is a Kubernetes version as it was written, ``x.y.z`` or ``x.y``, also with ``v``. ``reference`` is what
    ``begin`` or a later ``poll`` gave; before that it is empty, or the intent (``host.intent_reference``). With
    ``pool_step`` the node pool ``pool`` is upgraded; ``target`` is empty then if its kubelets keep their version, and
    ``image`` if its nodes keep their image.
    """

    operation: str
    run: str
    member: str
    upgrade_type: str
    target: str
    attempt: int = 1
    reference: str = ""
    pool: str = ""
    image: str = ""
    pool_step: bool = False

    @property
    def subject(self) -> str:
        """What the operation acts on: the name of the member, for a pool step too."""
        return self.member


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What is true of a member now. ``version`` is that of its control plane, or what a single pool has, in words
    (``PoolSubject``); ``busy`` names an operation in flight that its platform tells of, or is empty; ``pools`` are its
    node pools, None if its nodes have to be asked."""

    version: str
    busy: str = ""
    pools: tuple[NodePoolStatus, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class OperationProgress:
    """How an operation stands: IN_PROGRESS, SUCCEEDED, FAILED, UNKNOWN if nothing is known of it here, or NOT_BEGUN if
    the driver would know of it and sees that it was not begun: it may be begun then. ``message`` is for people, of one
    line or more, or empty. SUCCEEDED says that the driver is done, not that the member is at its target. A
    ``reference`` replaces the operation's: its platform has given it a name of its own."""

    state: str
    message: str = ""
    reference: str = ""


class Driver(t.Protocol):
    """How members of one kind are upgraded. Failures are FleetErrors, but for ValueError where a driver meets what is
    no version. Called from several threads, for one member at the same time too; it may take seconds."""

    def observe(self, member: str) -> Observation:
        """Looks at the member; changes nothing. FleetError ``unreachable`` and the like if it does not answer, others
        by the driver."""

    def begin(self, work: Work) -> str:
        """Starts the operation unless it was started already; gives a reference to find it again. Returns soon: the
        operation goes on without this process, and outlives it.

        FleetError ``busy`` or ``operation-in-progress``: nothing was begun, and it is worth trying again later. After
        ``unreachable``, ``timeout``, ``bad-answer``, ``server-error``, ``too-many-requests`` it may have been begun;
        any other ends the attempt as failed.
        """

    def poll(self, work: Work) -> OperationProgress:
        """Looks for the operation by name and reference, and may clear up after one whose process is gone; starts
        nothing. FleetError: how it stands is not known now, and it may well go on."""
