# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying out a placement on one member: observe, write the intent, apply by waves, remove, write the outcome."""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass, replace
from functools import partial

from .._core.foreign import in_data
from .._core.objects.rollout_strategy import ApplyStrategy
from .._core.plan.document import Rendered
from .._core.plan.member import PRUNE, REFUSED, RELEASE, WRITES, Step, decide_member, key
from .._core.plan.outcome import Failure, MemberOutcome
from .._core.resources.applyset import (
    MANAGED_BY,
    MANAGER,
    NAMESPACE,
    PART_OF_LABEL,
    ApplySet,
    Held,
    parent_manifest,
)
from .._core.resources.availability import availability
from .._core.resources.compare import FieldDiff
from .._core.resources.identity import ObjectId
from .._core.resources.ownership import FieldDrift
from .._kube.apply import apply_object, delete_object
from .._kube.client import KubeClient
from .._kube.discovery import resource_for
from .._kube.documents import read_object
from .._kube.errors import ApiError
from .._kube.lists import list_objects
from .home import at_home
from .member_lease import MEMBER_LEASE, Keep
from .observe import PARENTS, Observed, observe

MERGE_PATCH = "application/merge-patch+json"
GONE = ("not-found", "unknown-kind")
SERVED_SECONDS = 10.0
# A hub may be a member as well: whoever writes to its records leaves a lease, and the key of digests lies beside it.
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
WHOLE_MEMBER = ("unreachable", "timeout", "certificate", "credentials-expired", "unauthorized")

Holding = t.Callable[[], t.ContextManager[Keep]]


@dataclass(frozen=True, kw_only=True)
class MemberTask:
    """What one member is to hold. ``identity`` is the ApplySet without its inventory.

    ``leaving`` says that the placement ends on this member, ``abandon`` that what leaves stays there unowned. ``due``:
    an earlier look found something to do.
    """

    cluster: str
    identity: ApplySet
    desired: tuple[Rendered, ...] = ()
    strategy: ApplyStrategy = ApplyStrategy()
    leaving: bool = False
    abandon: bool = False
    prune_kinds: tuple[str, ...] = ()
    write: bool = False
    due: bool = False
    validate: bool = False

    @property
    def placement(self) -> str:
        return self.identity.placement


def run_on_member(client: KubeClient, task: MemberTask, holding: Holding | None = None) -> MemberOutcome:
    """What is to be done on the member, and, with ``write``, doing it. One object's failure does not stop others.

    What is written was decided on what was seen under the lease on the member, which ``holding`` takes.
    """
    if not task.write:
        observed, steps = _decided(client, task)
        failures = _validated(client, task, steps) if task.validate else ()
        return _outcome(task, observed, steps, {}, (*_refusals(steps), *failures), done=False)
    if holding is None:
        raise AssertionError("nothing is written on a member that is not held")
    if not task.due:
        observed, steps = _decided(client, task)
        if not _anything_due(task, observed, steps):
            return _nothing_written(task, observed, steps)
    with holding() as keep:
        observed, steps = _decided(client, task)
        return _written(client, task, observed, steps, keep)


def _decided(client: KubeClient, task: MemberTask) -> tuple[Observed, tuple[Step, ...]]:
    observed = observe(client, task.placement, task.identity.uid, task.desired)
    decided = decide_member(
        task.desired,
        observed.recorded,
        observed.live,
        task.identity.id,
        task.strategy,
        task.prune_kinds,
        task.abandon,
    )
    return observed, tuple(_fit_to_be_told(client, step) for step in decided)


def _fit_to_be_told(client: KubeClient, step: Step) -> Step:
    """The step, with what the member says of its fields as it may be recorded and shown."""

    def told(value: t.Any) -> t.Any:
        return in_data(value, client.hide)

    drifts = (
        FieldDrift(told(each.path), each.desired, told(each.live), tuple(map(told, each.managers)))
        for each in step.drifts
    )
    diffs = (FieldDiff(told(each.path), each.desired, told(each.live)) for each in step.diffs)
    return replace(step, drifts=tuple(drifts), diffs=tuple(diffs)) if step.drifts or step.diffs else step


def _anything_due(task: MemberTask, observed: Observed, steps: tuple[Step, ...]) -> bool:
    """Whether an object or the parent is to be written."""
    if task.strategy.type == "ReportDiff":
        return False
    wanted = replace(task.identity, inventory=_inventory(task, observed, steps, ()))
    parent_due = not wanted.same_content(observed.recorded) and not (task.leaving and not observed.recorded)
    return parent_due or any(step.action in WRITES for step in steps)


def _nothing_written(task: MemberTask, observed: Observed, steps: tuple[Step, ...]) -> MemberOutcome:
    refusals = () if task.strategy.type == "ReportDiff" else _refusals(steps)
    return _outcome(task, observed, steps, {}, refusals, done=True)


def _written(
    client: KubeClient, task: MemberTask, observed: Observed, steps: tuple[Step, ...], keep: Keep
) -> MemberOutcome:
    if not _anything_due(task, observed, steps):
        return _nothing_written(task, observed, steps)
    to_do = [step for step in steps if step.action in WRITES]
    intent = replace(task.identity, inventory=_intended(observed, to_do))
    if to_do and not intent.same_content(observed.recorded):
        _write_parent(client, intent)
    results: dict[ObjectId, dict[str, t.Any]] = {}
    failures = [*_refusals(steps)]
    defined = _defined(to_do)
    for step in to_do:
        keep()
        try:
            work = partial(_carry_out, client, step, task, observed)
            results[step.id] = _once_served(work, step.id.group in defined)
        except ApiError as error:
            if error.code in WHOLE_MEMBER:
                raise
            failures.append(Failure(id=step.id, reason="ManifestApplyFailed", message=error.message))
    keep()
    left = replace(task.identity, inventory=_inventory(task, observed, steps, failures))
    if task.leaving and not left.inventory:
        _forget(client, task.placement)
    elif not left.same_content(intent if to_do else observed.recorded):
        _write_parent(client, left)
    return _outcome(task, observed, steps, results, tuple(failures), done=True)


def _defined(to_do: t.Iterable[Step]) -> set[str]:
    """API groups that get a definition in this very run."""
    return {
        str((step.manifest.get("spec") or {}).get("group"))
        for step in to_do
        if step.manifest is not None and step.id.kind == "CustomResourceDefinition"
    }


def _once_served(work: t.Callable[[], dict[str, t.Any]], fresh: bool) -> dict[str, t.Any]:
    """Does the work; for a ``fresh`` group again for a while, as an API server serves a new kind a moment later."""
    end = time.monotonic() + SERVED_SECONDS
    while True:
        try:
            return work()
        except ApiError as error:
            if not fresh or error.code not in GONE or time.monotonic() > end:
                raise
        time.sleep(0.1)


def _carry_out(client: KubeClient, step: Step, task: MemberTask, observed: Observed) -> dict[str, t.Any]:
    if step.action == PRUNE:
        return _pruned(client, step.id, observed)
    if step.action == RELEASE:
        return _released(client, step.id)
    if step.manifest is None:
        raise AssertionError("a step that applies has a manifest")
    return apply_object(client, step.manifest, MANAGER, force=_forces(task.strategy))


def _forces(strategy: ApplyStrategy) -> bool:
    """ClientSideApply overwrites what others set, so its server-side form takes fields over."""
    if strategy.type == "ClientSideApply":
        return True
    return bool(strategy.server_side_apply_config and strategy.server_side_apply_config.force)


def _pruned(client: KubeClient, each: ObjectId, observed: Observed) -> dict[str, t.Any]:
    uid = observed.live[key(each)]["metadata"]["uid"]
    try:
        resource = resource_for(client, each.api_version, each.kind)
        delete_object(client, resource.path(each.namespace, each.name), uid=uid)
    except ApiError as error:
        if error.code not in GONE:
            raise
    return {}


def _released(client: KubeClient, each: ObjectId) -> dict[str, t.Any]:
    """The object stays as it is, without our label."""
    path = resource_for(client, each.api_version, each.kind).path(each.namespace, each.name)
    try:
        client.request(
            "PATCH", path, {"metadata": {"labels": {PART_OF_LABEL: None}}}, {"fieldManager": MANAGER}, MERGE_PATCH
        )
    except ApiError as error:
        if error.code not in GONE:
            raise
    return {}


def _write_parent(client: KubeClient, applyset: ApplySet) -> None:
    manifest = parent_manifest(applyset)
    at_home(client, lambda: apply_object(client, manifest, MANAGER, force=True))


def _forget(client: KubeClient, placement: str) -> None:
    """Deletes the parent, and our namespace with the last parent in it, unless records of a fleet are kept there."""
    delete_object(client, f"{PARENTS}/{placement}")
    ours = f"app.kubernetes.io/managed-by={MANAGED_BY['app.kubernetes.io/managed-by']}"
    try:
        # Our own lease on the member is there at this moment.
        if _any(client, PARENTS, ours) or _any(client, LEASES, but=MEMBER_LEASE):
            return
        namespace = read_object(client, f"/api/v1/namespaces/{NAMESPACE}", "Namespace")
        if (namespace["metadata"].get("labels") or {}).items() >= MANAGED_BY.items():
            delete_object(client, f"/api/v1/namespaces/{NAMESPACE}", uid=namespace["metadata"]["uid"])
    except ApiError as error:
        if error.code not in (*GONE, "forbidden"):
            raise


def _any(client: KubeClient, path: str, selector: str = "", but: str = "") -> bool:
    return any(each["metadata"]["name"] != but for each in list_objects(client, path, label_selector=selector, limit=2))


def _intended(observed: Observed, to_do: t.Sequence[Step]) -> tuple[Held, ...]:
    """What was held, and what is about to be written, with no hash until it is."""
    held = {key(each.id): each for each in (observed.recorded.inventory if observed.recorded else ())}
    for step in to_do:
        if step.manifest is not None and key(step.id) not in held:
            held[key(step.id)] = Held(id=step.id, hash="")
    return tuple(sorted(held.values()))


def _inventory(
    task: MemberTask, observed: Observed, steps: t.Sequence[Step], failures: t.Sequence[Failure]
) -> tuple[Held, ...]:
    """What is held once the steps are done: failures keep what was recorded, refused objects are not ours."""
    before = {key(each.id): each for each in (observed.recorded.inventory if observed.recorded else ())}
    failed = {each.id for each in failures if each.reason == "ManifestApplyFailed"}
    held: list[Held] = []
    for step in steps:
        old = before.get(key(step.id))
        if step.id in failed:
            held.append(old or Held(id=step.id, hash=""))
        elif step.action == REFUSED:
            held += [old] if old else []
        elif step.manifest is not None:
            held.append(Held(id=step.id, hash=step.hash))
    return tuple(sorted(held))


def _refusals(steps: t.Iterable[Step]) -> tuple[Failure, ...]:
    return tuple(
        Failure(id=each.id, reason=each.reason, message=each.message) for each in steps if each.action == REFUSED
    )


def _validated(client: KubeClient, task: MemberTask, steps: t.Iterable[Step]) -> tuple[Failure, ...]:
    """What the member's API server would refuse, by its own dry run."""
    failures = []
    for step in steps:
        if step.action in WRITES and step.manifest is not None:
            try:
                apply_object(client, step.manifest, MANAGER, force=_forces(task.strategy), dry_run=True)
            except ApiError as error:
                if error.code in WHOLE_MEMBER:
                    raise
                failures.append(Failure(id=step.id, reason="ManifestApplyFailed", message=error.message))
    return tuple(failures)


def _outcome(
    task: MemberTask,
    observed: Observed,
    steps: tuple[Step, ...],
    results: t.Mapping[ObjectId, dict[str, t.Any]],
    failures: tuple[Failure, ...],
    done: bool,
) -> MemberOutcome:
    judged: dict[ObjectId, str] = {}
    for step in steps:
        live = results.get(step.id) or observed.live.get(key(step.id))
        if live and step.action not in (PRUNE, RELEASE):
            judged[step.id] = availability(step.id.group, step.id.kind, live)
    return MemberOutcome(
        cluster=task.cluster,
        done=done,
        steps=steps,
        failures=failures,
        availability=judged,
    )
