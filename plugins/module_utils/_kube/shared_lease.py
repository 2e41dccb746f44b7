# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A ``coordination.k8s.io`` Lease that is there only while somebody works, held by one owner at a time, who may have
several workers: taken, renewed, released; expired ones taken over; one held by others (``member-held``), or lost
(``member-lost``).

Taking it is one request where nobody has it (``create``), giving it up another (``delete``). Workers of one owner stand
in an annotation, and the last one deletes it. Another owner's is taken over, with an epoch (``leaseTransitions``) one
higher, when it was not renewed for its time to live and 30 s by the API server's clock; clocks of runners are never
looked at. Anybody may have written a Lease: nothing in it is trusted to have a form.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from .._core.errors import FleetError
from .._core.values.duration import span_words
from .apply import delete_object
from .client import KubeClient
from .errors import ApiError
from .lease import (
    SKEW,
    as_32_bits,
    lease_form,
    lease_instant,
    mapping_in,
    micro,
)
from .paths import BUILT_IN

OWNER, WORKERS = "gitops.fleet/owner", "gitops.fleet/workers"
_RESOURCE = BUILT_IN["coordination.k8s.io/v1", "Lease"]
_LABELS = {"app.kubernetes.io/managed-by": "gitops.fleet"}
_ATTEMPTS = 8
_SHOWN = 300

Document = dict[str, t.Any]


@dataclass(frozen=True, kw_only=True)
class Worker:
    """``owner`` is the id of those who share. A later worker of an owner at the same ``task`` replaces an earlier one,
    so it must know that the earlier one is dead. ``token`` is unique; ``text`` says for people who this is."""

    owner: str
    task: str
    token: str
    text: str


@dataclass(frozen=True, kw_only=True)
class SharedLease:
    """A lease that we hold, for at least ``seconds`` after its last renewal; ``epoch`` counts the owners that took it
    over, from 1 on, anew once it was deleted. ``alone`` is false where others of the owner were in it when we wrote it
    last."""

    namespace: str
    name: str
    worker: Worker
    seconds: int
    epoch: int
    resource_version: str
    alone: bool = True


class OthersHold(FleetError):
    """Another owner works there (code ``member-held``): ``holder`` in its own words, since ``since`` (None: unknown),
    and free ``seconds``, and ``SKEW`` more, after its last sign of life."""

    def __init__(self, message: str, where: str, hint: str, *, holder: str, since: datetime | None, seconds: int):
        super().__init__("member-held", message, where, hint)
        self.holder, self.since, self.seconds = holder, since, seconds


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What stands in a Lease, as far as it has a form."""

    holder: str
    owner: str
    workers: t.Mapping[str, Document]
    seconds: int
    epoch: int
    since: datetime | None
    renewed: datetime | None
    resource_version: str


def take(client: KubeClient, namespace: str, name: str, worker: Worker, seconds: int) -> SharedLease:
    """Takes the lease for this worker, for ``seconds`` after each renewal; beside workers of its owner that are in it,
    if their time is not over. A Lease without ``renewTime`` counts from its creation. OthersHold while another owner
    has it, FleetError ``member-held`` if others keep changing it, ApiError ``not-found`` without the namespace,
    ``bad-answer`` without a Date, FleetError as of ``request``."""
    path, one = _RESOURCE.path(namespace), _RESOURCE.path(namespace, name)
    mine: Document = {worker.task: {"token": worker.token, "text": worker.text, "seconds": seconds}}
    for _attempt in range(_ATTEMPTS):
        fresh = _document(namespace, name, worker, mine, seconds, 1)
        try:
            return _as_ours(client.post(path, fresh), namespace, name, worker, seconds)
        except ApiError as error:
            if error.code != "already-exists":
                raise
        try:
            current, seen, now = _look(client, one)
            shared = seen.owner == worker.owner and bool(seen.holder)
            if not shared:
                _refuse_if_held(client, f"{namespace}/{name}", seen, now)
            workers = {**seen.workers, **mine} if shared and _is_alive(seen, now) else mine
            longest = _longest(workers, seen.seconds)
            new = _document(namespace, name, worker, workers, longest, seen.epoch + (not shared))
            since = seen.since if shared and seen.since else now
            new["spec"] |= {"renewTime": micro(now), "acquireTime": micro(since)}
            return _as_ours(client.put(one, _on(current, new)), namespace, name, worker, seconds)
        except ApiError as error:
            if error.code not in ("not-found", "conflict"):
                raise
    raise FleetError(
        "member-held", f"others keep changing the Lease {namespace}/{name}", client.server_name, "try again"
    )


def worker_count(client: KubeClient, namespace: str, name: str) -> int:
    """How many workers stand in the lease, 0 where it is not there or tells none; those whose time is over count.
    FleetError as of ``request``, ApiError ``bad-answer`` without a Date."""
    try:
        return len(_look(client, _RESOURCE.path(namespace, name))[1].workers)
    except ApiError as error:
        if error.code != "not-found":
            raise
        return 0


def renew(client: KubeClient, lease: SharedLease) -> SharedLease:
    """The lease, renewed for all its workers, also when its time is over and nobody has taken it. FleetError
    ``member-lost`` if it is not ours any more, or others write it at every attempt: nothing is to be written after
    that. ApiError ``bad-answer`` without a Date; FleetError as of ``request``."""
    one = _RESOURCE.path(lease.namespace, lease.name)
    for _attempt in range(_ATTEMPTS):
        try:
            current, seen, now = _look(client, one)
            if not _is_ours(seen, lease):
                break
            spec = {**mapping_in(current, "spec"), "renewTime": micro(now)}
            written = client.put(one, {**current, "spec": spec})
            return _as_ours(written, lease.namespace, lease.name, lease.worker, lease.seconds)
        except ApiError as error:
            if error.code == "not-found":
                break
            if error.code != "conflict":
                raise
    text = f"the Lease {lease.namespace}/{lease.name} is no longer ours"
    raise FleetError("member-lost", text, client.server_name, "this run stops writing there; start it again to go on")


def release(client: KubeClient, lease: SharedLease) -> None:
    """Gives it up, and deletes it where no other worker of the owner is left. Nothing is done if it was lost, or if
    others write it at every attempt: it then becomes free by its time. ApiError ``bad-answer`` without a Date;
    FleetError as of ``request``."""
    one = _RESOURCE.path(lease.namespace, lease.name)
    version = lease.resource_version if lease.alone else ""
    for _attempt in range(_ATTEMPTS):
        try:
            if version:
                delete_object(client, one, resource_version=version)
                return
            current, seen, _now = _look(client, one)
            if not _is_ours(seen, lease):
                return
            left = {task: each for task, each in seen.workers.items() if task != lease.worker.task}
            if left:
                client.put(one, _on(current, _without(current, left)))
                return
            version = seen.resource_version
        except ApiError as error:
            if error.code == "not-found":
                return
            if error.code != "conflict":
                raise
            version = ""


def _look(client: KubeClient, path: str) -> tuple[Document, _Seen, datetime]:
    """The Lease, what it says, and the API server's time. ApiError ``bad-answer`` without a Date, ``not-found``;
    FleetError as of a request."""
    answer = client.send("GET", path)
    current = client.decode(answer, f"GET {path}")
    if answer.date is None:
        raise ApiError("bad-answer", "the API server does not tell the time (no Date header)", client.server_name)
    return current, _seen(current), answer.date


def _seen(current: Document) -> _Seen:
    """What stands in a Lease, whatever it is: ``since`` and ``renewed`` are those of its creation where it tells
    none."""
    metadata, form = mapping_in(current, "metadata"), lease_form(current)
    annotations = mapping_in(metadata, "annotations")
    created = lease_instant(metadata.get("creationTimestamp"))
    try:
        workers = _mapping(json.loads(str(annotations.get(WORKERS))))
    except (ValueError, RecursionError):
        workers = {}
    return _Seen(
        holder=form.holder[:_SHOWN],
        owner=str(annotations.get(OWNER) or ""),
        workers={task: _mapping(each) for task, each in workers.items()},
        seconds=form.seconds,
        epoch=form.epoch,
        since=form.acquired or created,
        renewed=form.renewed or created,
        resource_version=str(metadata.get("resourceVersion") or ""),
    )


def _refuse_if_held(client: KubeClient, name: str, seen: _Seen, now: datetime) -> None:
    """OthersHold if the Lease has a holder, whoever that is, and was renewed in time."""
    if not seen.holder or seen.renewed is None:
        return
    if not _is_alive(seen, now):
        return
    left = timedelta(seconds=seen.seconds) + SKEW - (now - seen.renewed)
    since = f" since {span_words(now - seen.since)}" if seen.since else ""
    holder = client.hide(seen.holder)
    message = (
        f"{holder} works on this cluster{since}"
        f" (last sign of life {span_words(now - seen.renewed)} ago, free in {span_words(left)} without another)"
    )
    hint = f"wait for it, or end it; the Lease {name} on the cluster says so, and becomes free if its holder died"
    raise OthersHold(message, client.server_name, hint, holder=holder, since=seen.since, seconds=seen.seconds)


def _is_alive(seen: _Seen, now: datetime) -> bool:
    """Whether it was renewed in time, with ``SKEW`` to spare: whoever worked under one that was not has lost it."""
    return seen.renewed is not None and now - seen.renewed <= timedelta(seconds=seen.seconds) + SKEW


def _is_ours(seen: _Seen, lease: SharedLease) -> bool:
    """Whether its owner is ours, and our token stands there for our task."""
    mine = seen.workers.get(lease.worker.task) or {}
    return seen.owner == lease.worker.owner and mine.get("token") == lease.worker.token


def _document(
    namespace: str, name: str, worker: Worker, workers: t.Mapping[str, Document], seconds: int, epoch: int
) -> Document:
    """The Lease for these workers as it is sent to the server, without instants, under the name of ``worker``."""
    return {
        "apiVersion": _RESOURCE.api_version,
        "kind": _RESOURCE.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": _LABELS,
            "annotations": {OWNER: worker.owner, WORKERS: json.dumps(workers, sort_keys=True)},
        },
        "spec": {"holderIdentity": worker.text, "leaseDurationSeconds": seconds, "leaseTransitions": epoch},
    }


def _without(current: Document, workers: t.Mapping[str, Document]) -> Document:
    """The part of the Lease that changes, for ``_on``: these workers only, of which there is one at least, under the
    name of the first."""
    metadata, spec = mapping_in(current, "metadata"), mapping_in(current, "spec")
    annotations = {**mapping_in(metadata, "annotations"), WORKERS: json.dumps(workers, sort_keys=True)}
    text = str(next(iter(workers.values())).get("text") or "another worker of the same records")
    new = {"holderIdentity": text, "leaseDurationSeconds": _longest(workers, lease_form(current).seconds)}
    return {"metadata": {"annotations": annotations}, "spec": {**spec, **new}}


def _on(current: Document, new: Document) -> Document:
    """The new content under the resourceVersion that was read: of two who write at once one is refused."""
    return {**current, **new, "metadata": {**mapping_in(current, "metadata"), **new["metadata"]}}


def _as_ours(document: Document, namespace: str, name: str, worker: Worker, seconds: int) -> SharedLease:
    """The lease of this worker, by the Lease as the server has just kept it."""
    seen = _seen(document)
    return SharedLease(
        namespace=namespace,
        name=name,
        worker=worker,
        seconds=seconds,
        epoch=seen.epoch,
        resource_version=seen.resource_version,
        alone=set(seen.workers) == {worker.task},
    )


def _longest(workers: t.Mapping[str, Document], otherwise: int) -> int:
    """Seconds for which the longest of the workers, of which there is one at least, is waited for; ``otherwise`` for
    one that does not say."""
    return max(as_32_bits(each.get("seconds", otherwise)) for each in workers.values())


def _mapping(value: t.Any) -> Document:
    """The value if it is a map, else an empty one."""
    return value if isinstance(value, dict) else {}
