# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A ``coordination.k8s.io`` Lease as a lock with a fence number: taken (``lease-held``), renewed (``lease-lost``),
released; what stands in any Lease, read with care.

``leaseTransitions`` is the epoch: each acquisition adds one, and a writer whose epoch is behind has lost the lock.
Every write names the resourceVersion it builds on, so of two at once one fails. Times in the Lease are the API
server's, by its Date header: clocks of runners are not compared with one another, unless it tells no Date. Anybody may
have written a Lease: nothing in it is trusted to have a form.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from .._core.errors import FleetError
from .._core.values.duration import span_words
from .._core.values.instants import MICROSECONDS, later, parse_time, write_time
from .client import KubeClient
from .documents import checked_object, unusable_answer
from .errors import ApiError
from .paths import BUILT_IN

# How much later than its time to live a lease must be, by the server's clock, to be taken over at first sight; API
# servers behind one address may differ by some seconds.
SKEW = timedelta(seconds=30)
_RESOURCE = BUILT_IN["coordination.k8s.io/v1", "Lease"]
_ATTEMPTS, _STEP = 8, timedelta(microseconds=1)
_LARGEST = 2**31 - 1  # API servers take 32 bits
Document = dict[str, t.Any]


@dataclass(frozen=True)
class KubeLease:
    """A lease that we hold. ``ttl`` in seconds; ``renewed`` as the Lease has it."""

    namespace: str
    name: str
    holder: str
    epoch: int
    ttl: int
    renewed: datetime
    resource_version: str


@dataclass(frozen=True)
class Sighting:
    """Somebody else's lease as we saw it: unchanged, by its ``resource_version``, since ``since`` by our own clock,
    aware."""

    holder: str
    epoch: int
    resource_version: str
    since: datetime


@dataclass(frozen=True, kw_only=True)
class LeaseForm:
    """What stands in a Lease, as far as it has a form: numbers (``epoch`` is ``leaseTransitions``) are 0 and instants
    None where it has none. ``holder`` is empty where there is none; one of another type counts, as text, unless it is
    0, false or empty."""

    holder: str
    epoch: int
    seconds: int
    acquired: datetime | None
    renewed: datetime | None


def lease_form(document: t.Mapping[str, t.Any]) -> LeaseForm:
    """What stands in a Lease that the server sent; nothing is raised, whatever it is."""
    spec = mapping_in(document, "spec")
    return LeaseForm(
        holder=str(spec.get("holderIdentity") or ""),
        epoch=as_32_bits(spec.get("leaseTransitions")),
        seconds=as_32_bits(spec.get("leaseDurationSeconds")),
        acquired=lease_instant(spec.get("acquireTime")),
        renewed=lease_instant(spec.get("renewTime")),
    )


def mapping_in(document: t.Mapping[str, t.Any], key: str) -> Document:
    """The map at the key; an empty one for anything else."""
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def as_32_bits(value: t.Any) -> int:
    """The whole number, cut to 0 to 2^31 - 1, what API servers take in 32 bits; 0 for what is none, 1 for true."""
    return min(max(value, 0), _LARGEST) if isinstance(value, int) else 0


class LeaseHeld(FleetError):
    """Another holds it, or others keep changing it (``lease-held``). The next ``acquire``, given ``sighting``, can tell
    a dead holder."""

    def __init__(self, code: str, message: str, where: str = "", hint: str = "", *, sighting: Sighting) -> None:
        super().__init__(code, message, where, hint)
        self.sighting = sighting


def acquire(
    client: KubeClient,
    namespace: str,
    name: str,
    holder: str,
    ttl: int,
    now: datetime,
    sighting: Sighting | None = None,
) -> KubeLease:
    """Takes the lease for ``ttl`` seconds, with the epoch one higher than before; makes it, with epoch 1, if missing.

    ``now`` is our clock, aware: it measures how long ``sighting``, that of an earlier LeaseHeld, stands, and serves
    where no Date is told. A lease is free if it was released, if it is our own (same ``holder``, which must be unique
    to one process or its restarts), if its holder has not renewed it for its time to live (``ttl`` where the Lease
    tells none) as we watched, or if its last renewal is older than that and 30 s more by the server's clock. Otherwise
    LeaseHeld, also if others change it at every attempt; ApiError ``not-found`` without the namespace; FleetError as of
    ``request``.
    """
    path, epoch = _RESOURCE.path(namespace, name), 0
    for _attempt in range(_ATTEMPTS):
        try:
            answer = client.send("GET", path)
            current = checked_object(client.decode(answer, f"GET {path}"), f"GET {path}", client)
        except ApiError as error:
            if error.code != "not-found":
                raise
            made = _create(client, namespace, name, holder, ttl, now)
            if made is None:
                continue
            return made
        server_now = answer.date or now
        _refuse_if_held(client, current, holder, ttl, now, server_now, sighting)
        epoch = lease_form(current).epoch + 1
        body = {**current, "spec": _spec(holder, ttl, epoch, server_now, server_now)}
        try:
            return _lease(client, client.put(path, body), f"PUT {path}")
        except ApiError as error:
            if error.code != "conflict":
                raise
    raise _lease_held_error(client, name, Sighting("", epoch, "", now), "others keep changing it")


def renew(client: KubeClient, lease: KubeLease) -> KubeLease:
    """The lease, renewed for its time, also where that is over and nobody has taken it. FleetError ``lease-lost`` if it
    has another holder or epoch by now, or was deleted: nothing is to be written after that. ApiError ``conflict`` if
    others write it at every attempt; FleetError as of ``request``."""
    path = _RESOURCE.path(lease.namespace, lease.name)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            answer = client.send("GET", path)
            current = client.decode(answer, f"GET {path}")
            _refuse_if_lost(client, current, lease)
            # Dates are whole seconds; a second renewal within one must still be seen by those who watch.
            renewed = max(answer.date or lease.renewed, later(lease.renewed, _STEP) or lease.renewed)
            spec = {**mapping_in(current, "spec"), "renewTime": micro(renewed)}
            return _lease(client, client.put(path, {**current, "spec": spec}), f"PUT {path}")
        except ApiError as error:
            if error.code == "not-found":
                raise _lost(client, lease, "nobody, for it was deleted") from None
            if error.code != "conflict" or attempt == _ATTEMPTS:
                raise
    raise AssertionError("the loop returns or raises")


def release(client: KubeClient, lease: KubeLease) -> bool:
    """Takes our name out of it; False if it was no longer ours, was deleted, or somebody wrote it at the same time. The
    Lease stays, so that epochs go on rising. Other FleetErrors of ``request`` are raised."""
    path = _RESOURCE.path(lease.namespace, lease.name)
    try:
        current = client.get(path)
        _refuse_if_lost(client, current, lease)
        client.put(path, {**current, "spec": {**mapping_in(current, "spec"), "holderIdentity": ""}})
    except FleetError as error:
        if error.code in ("lease-lost", "conflict", "not-found"):
            return False
        raise
    return True


def _create(client: KubeClient, namespace: str, name: str, holder: str, ttl: int, now: datetime) -> KubeLease | None:
    """The Lease, made with epoch 1, or ours if an earlier request made it whose answer was lost. None where somebody
    else has made it meanwhile, and it is free again; LeaseHeld where it is not, ApiError ``not-found`` without the
    namespace, FleetError as of ``request``."""
    server_now = client.send("GET", "/version").date or now
    body = {
        "apiVersion": _RESOURCE.api_version,
        "kind": _RESOURCE.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": _spec(holder, ttl, 1, server_now, server_now),
    }
    path, one = _RESOURCE.path(namespace), _RESOURCE.path(namespace, name)
    try:
        return _lease(client, client.post(path, body), f"POST {path}")
    except ApiError as error:
        if error.code != "already-exists":
            raise
    current = checked_object(client.get(one), f"GET {one}", client)
    _refuse_if_held(client, current, holder, ttl, now, server_now, None)
    if lease_form(current).holder != holder:
        return None
    return _lease(client, current, f"GET {one}")  # our own, made by a request whose answer was lost


def _refuse_if_held(
    client: KubeClient,
    current: t.Mapping[str, t.Any],
    holder: str,
    wanted: int,
    now: datetime,
    server_now: datetime,
    sighting: Sighting | None,
) -> None:
    """LeaseHeld, with a sighting for the next time, if another holds it and is not known to be dead, see ``acquire``;
    ``wanted`` is the time to live, in seconds, of one that tells none. ``current`` was looked at by ``checked_object``;
    ``now`` is by our clock, ``server_now`` by the server's, both aware."""
    form = lease_form(current)
    if form.holder in ("", holder):
        return
    other, epoch, renewed = client.hide(form.holder), form.epoch, form.renewed
    ttl, version = timedelta(seconds=form.seconds or wanted), current["metadata"]["resourceVersion"]
    same = sighting is not None and sighting.resource_version == version
    seen = sighting if sighting is not None and same else Sighting(other, epoch, version, now)
    watched = now - seen.since >= ttl and same
    if watched or (renewed is not None and server_now - renewed > ttl + SKEW):
        return
    since = f" since {span_words(server_now - form.acquired)}" if form.acquired else ""
    why = f"{other} holds it{since} ({_sign_of_life(renewed, server_now, ttl)}, epoch {epoch})"
    raise _lease_held_error(client, str(current["metadata"]["name"]), seen, why)


def _sign_of_life(renewed: datetime | None, server_now: datetime, ttl: timedelta) -> str:
    """When a lease that lasts for ``ttl`` was ``renewed`` last, and when it is free without another renewal, for
    people. One whose time is over may belong to a holder that lives, and could not reach the server."""
    if renewed is None:
        return "never renewed"
    age = server_now - renewed
    late = ", which is late: it has died, or was cut off from this API server" if age > ttl else ""
    return f"last sign of life {span_words(age)} ago{late}, free in {span_words(ttl + SKEW - age)} without another"


def _lease_held_error(client: KubeClient, name: str, sighting: Sighting, why: str) -> LeaseHeld:
    """The LeaseHeld, given back, that says ``why``; with the sighting for the next time."""
    hint = "wait until it ends; a holder that died is replaced when its lease has run out"
    return LeaseHeld("lease-held", f"the lease {name} is taken: {why}", client.server_name, hint, sighting=sighting)


def _refuse_if_lost(client: KubeClient, current: t.Mapping[str, t.Any], lease: KubeLease) -> None:
    """FleetError ``lease-lost`` unless holder and epoch are those of our lease."""
    form = lease_form(current)
    if (form.holder, form.epoch) != (lease.holder, lease.epoch):
        raise _lost(client, lease, f"{client.hide(form.holder) or 'nobody'} with epoch {form.epoch}")


def _lost(client: KubeClient, lease: KubeLease, by: str) -> FleetError:
    """The FleetError ``lease-lost``, given back; ``by`` says who has it."""
    text = f"the lease {lease.name} is no longer ours (epoch {lease.epoch}): it went to {by}"
    return FleetError("lease-lost", text, client.server_name, "this run stops writing; start it again to go on")


def _spec(holder: str, ttl: int, epoch: int, acquired: datetime, renewed: datetime) -> dict[str, t.Any]:
    """The spec of a Lease that is held for ``ttl`` seconds after ``renewed``."""
    return {
        "holderIdentity": holder,
        "leaseDurationSeconds": ttl,
        "leaseTransitions": epoch,
        "acquireTime": micro(acquired),
        "renewTime": micro(renewed),
    }


def _lease(client: KubeClient, document: Document, request: str) -> KubeLease:
    """A Lease that is ours; ApiError ``bad-answer`` for one that nobody holds, or that was never renewed, and as of
    ``checked_object``."""
    metadata, form = checked_object(document, request, client)["metadata"], lease_form(document)
    if not form.holder or form.renewed is None:
        raise unusable_answer(request, "it is no Lease that is held", client)
    return KubeLease(
        namespace=str(metadata.get("namespace") or ""),
        name=metadata["name"],
        holder=form.holder,
        epoch=form.epoch,
        ttl=form.seconds,
        renewed=form.renewed,
        resource_version=metadata["resourceVersion"],
    )


def micro(instant: datetime) -> str:
    """An aware instant as ``metav1.MicroTime``: RFC 3339 in UTC with six digits of a second."""
    return write_time(instant, MICROSECONDS)


def lease_instant(text: t.Any) -> datetime | None:
    """An instant of a Lease as aware UTC; None where there is none."""
    try:
        return parse_time(str(text))
    except ValueError:
        return None
