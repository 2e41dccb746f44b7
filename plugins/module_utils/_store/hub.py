# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Records as custom resources on a hub, in any API server that we may write to: status apart, leases, journal as
Events, secrets, what is missing (``crds-missing``, ``no-such-namespace``); how a hub is found. Nothing of ours runs."""

from __future__ import annotations

import base64
import typing as t
import uuid
from datetime import UTC, datetime

from .._core.errors import FleetError
from .._core.objects.identity import NAMESPACE
from .._core.objects.placements.older_conditions import EVENT_REASONS
from .._core.resources.applyset import MANAGER
from .._core.values.canonical import is_same
from .._core.values.instants import MICROSECONDS, write_time
from .._kube import lease as kube_lease
from .._kube.client import KubeClient, Query
from .._kube.documents import checked_object_named, read_object
from .._kube.errors import ApiError
from .._kube.lists import read_list
from .._kube.login.credentials import connection_from_kubeconfig
from .._kube.login.kubeconfig import usual_path
from .._kube.paths import BUILT_IN
from . import object_rules
from .kinds import KINDS, listed_resource, namespace_and_name, record_name, stored_resource
from .lease_names import from_object_name, to_object_name
from .records import NO_LABELS, Clock, Event, Lease, Record, conflict, lease_lost

_OURS = "gitops-fleet"
# What the controllers of KubeFleet's hub agent that tell of placements call themselves, in this release and older ones.
_KUBEFLEET = ("placement-controller", "resource-placement-controller", "cluster-resource-placement-controller")
_STRICT: Query = {"fieldManager": MANAGER, "fieldValidation": "Strict"}
_LEASE = BUILT_IN["coordination.k8s.io/v1", "Lease"]
_SECRET = BUILT_IN["v1", "Secret"]
_EVENT = BUILT_IN["v1", "Event"]
# Events about objects without a namespace are kept there by every API server.
_EVENTS_NAMESPACE = "default"
_MESSAGE_BYTES = 1024
_LONG_AGO = datetime.fromtimestamp(0, UTC)


def hub_client(options: t.Mapping[str, t.Any], environ: t.Mapping[str, str]) -> KubeClient:
    """A client of the API server that ``kubeconfig`` and ``context`` name; as kubectl finds them if absent or empty. It
    reads the kubeconfig. FleetError as of ``connection_from_kubeconfig``."""
    path = usual_path(options.get("kubeconfig") or "", environ)
    return KubeClient(connection_from_kubeconfig(path, options.get("context") or ""))


class HubRecords:
    """The contract of ``Records`` over an API server with our CRDs.

    - Status is a subresource, so a ``create`` or ``replace`` that changes status too is two requests. If the second one
      fails the call raises; then, and where this process dies in between, the new spec stands with the old status. A
      retry of ``create`` meets ``already-exists``, one of ``replace`` meets ``conflict``.
    - A request whose answer was lost (``unreachable``, ``timeout``, ``bad-answer``) may have been carried out.
    - A write with a lease reads the lease right before. That alone does not fence: a holder that is paused between the
      two requests can still write after a takeover. The compare-and-swap by resourceVersion then stops it wherever the
      new holder has written the same object since; ``create`` is stopped only by the name. So new holders write what
      they rely on, intents above all, before they act.
    - Lease times are the API server's; a holder that died is replaced at once by whoever watched its lease for its
      whole time, and 30 s later by anyone.

    Codes: those of API errors (``unreachable``, ``forbidden``, ...) and of credentials, and ``crds-missing``.
    """

    durable, origin = True, None

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self.place = f"hub {client.connection.server}"
        self.client = client
        self._clock = clock
        self._sightings: dict[str, kube_lease.Sighting] = {}

    def get(self, kind: str, name: str) -> Record | None:
        """As ``Records.get``. FleetError ``crds-missing``."""
        path = _path(kind, name)
        if not path:
            return None
        try:
            return _record(read_object(self.client, path, kind))
        except ApiError as error:
            self._refuse_without_crds(error, kind, name)
            return None

    def list(self, kind: str, labels: t.Mapping[str, str] = NO_LABELS, namespace: str = "") -> tuple[Record, ...]:
        """As ``Records.list``. FleetError ``crds-missing``."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        found = self._listed(kind, selector, namespace)
        return tuple(sorted(map(_record, found), key=record_name))

    def names(self, kind: str) -> frozenset[str]:
        """As ``Records.names``, by metadata alone. FleetError ``crds-missing``."""
        return frozenset(map(record_name, self._listed(kind, metadata_only=True)))

    def _listed(
        self, kind: str, selector: str = "", namespace: str = "", metadata_only: bool = False
    ) -> tuple[Record, ...]:
        """All of the kind that the label selector fits. FleetError ``crds-missing`` besides ApiError."""
        try:
            path = listed_resource(kind, namespace).path(namespace)
            return read_list(self.client, path, selector, metadata_only=metadata_only).items
        except ApiError as error:
            self._refuse_without_crds(error, kind, "")
            raise

    def create(self, record: Record, lease: Lease | None = None) -> Record:
        """As ``Records.create``, in two writes if it has a status. FleetError ``no-such-namespace``, ``crds-missing``
        besides, and of the second write any ApiError."""
        fresh = object_rules.proposed(record)
        self._fence(lease)
        namespace = str(fresh["metadata"].get("namespace") or "")
        try:
            answer = self._written(self.client.post, stored_resource(fresh["kind"]).path(namespace), fresh)
        except ApiError as error:
            self._refuse_without_namespace(error, namespace)
            self._refuse_without_crds(error, fresh["kind"], "")
            raise
        return self._with_status(answer, fresh) if fresh.get("status") else _record(answer)

    def replace(self, record: Record, lease: Lease | None = None) -> Record:
        """As ``Records.replace``, in two writes if both status and the rest change. FleetError ``crds-missing``
        besides."""
        kind, name = str(record.get("kind", "")), record_name(record)
        self._fence(lease)
        stored = self.get(kind, name)
        if stored is None:
            raise conflict(kind, name, self.place)
        fresh = object_rules.replaced(stored, record, stored["metadata"]["resourceVersion"], self.place)
        answer = stored
        try:
            if not is_same(_without_status(fresh), _without_status(stored)):
                answer = self._written(self.client.put, _path(kind, name), fresh)
            if not is_same(fresh.get("status"), stored.get("status")) and not object_rules.is_gone(answer):
                return self._with_status(answer, fresh)
        except ApiError as error:
            self._refuse_without_crds(error, kind, name)
            raise conflict(kind, name, self.place) from None
        return _record(answer)

    def delete(self, kind: str, name: str, resource_version: str = "", lease: Lease | None = None) -> None:
        """As ``Records.delete``; an impossible name is absent, whatever the lease. FleetError ``crds-missing``."""
        path = _path(kind, name)
        if not path:
            return
        self._fence(lease)
        options: dict[str, t.Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if resource_version:
            options["preconditions"] = {"resourceVersion": resource_version}
        try:
            self.client.delete(path, options)
        except ApiError as error:
            self._refuse_without_crds(error, kind, name)

    def acquire(self, name: str, holder: str, seconds: int) -> Lease:
        """As ``Records.acquire``, by the API server's clock; makes the namespace of the records if it is missing."""

        def attempt() -> kube_lease.KubeLease:
            """Takes the lease, or raises LeaseHeld with what was seen of it."""
            return kube_lease.acquire(
                self.client, NAMESPACE, to_object_name(name), holder, seconds, self._clock(), self._sightings.get(name)
            )

        try:
            taken = self._in_namespace(attempt)
        except kube_lease.LeaseHeld as held:
            self._sightings[name] = held.sighting
            raise
        self._sightings.pop(name, None)
        return Lease(name, holder, taken.epoch, taken.renewed, taken.renewed, seconds)

    def renew(self, lease: Lease) -> Lease:
        """As ``Records.renew``, by the API server's clock; ``conflict`` if others write it at every attempt."""
        renewed = kube_lease.renew(self.client, _theirs(lease)).renewed
        return Lease(lease.name, lease.holder, lease.epoch, lease.acquired, renewed, lease.seconds)

    def release(self, lease: Lease) -> None:
        """As ``Records.release``; ``lease-lost`` too if somebody writes it at the same time."""
        if not kube_lease.release(self.client, _theirs(lease)):
            raise lease_lost(lease.name, lease.holder, "", self.place)

    def leases(self) -> tuple[Lease, ...]:
        """As ``Records.leases``; an instant that cannot be read is 1970."""
        found = read_list(self.client, _LEASE.path(NAMESPACE)).items
        # A hub that is a member too has the lease on the member there, whose name has no dot.
        ours = (each for each in found if "." in each["metadata"]["name"])
        return tuple(sorted((each for each in map(_ours, ours) if each.holder), key=lambda lease: lease.name))

    def event(self, kind: str, name: str, type: str, reason: str, message: str, now: datetime) -> None:
        """As ``Records.event``: a core/v1 Event. ApiError ``not-found`` where there is no such namespace."""
        about = self.get(kind, name) or {}
        uid = (about.get("metadata") or {}).get("uid", "")
        inside, _slash, name = name.rpartition("/")
        about = {"apiVersion": KINDS[kind].api_version, "kind": kind, "name": name, "uid": uid}
        about |= {"namespace": inside} if inside else {}
        namespace = inside or _EVENTS_NAMESPACE
        document = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name[:200].rstrip('.-')}.{uuid.uuid4().hex}", "namespace": namespace},
            "involvedObject": about,
            "type": type,
            "reason": reason,
            "action": reason,
            "message": message.encode(errors="replace")[:_MESSAGE_BYTES].decode(errors="ignore"),
            "eventTime": write_time(now, MICROSECONDS),
            "reportingComponent": _OURS,
            "reportingInstance": _OURS,
        }
        try:
            self.client.post(_EVENT.path(namespace), document)
        except ApiError as error:
            if error.code != "namespace-terminating":  # nothing new can be written there; the line goes with the rest
                raise

    def events(self, kind: str, name: str) -> tuple[Event, ...]:
        """As ``Records.events``, those that name us, or KubeFleet's controllers of placements, as their reporter; an
        instant that cannot be read is 1970, and lines of one instant are in no order."""
        inside, _slash, own = name.rpartition("/")
        selector = f"involvedObject.kind={stored_resource(kind).kind},involvedObject.name={own}"
        found = read_list(self.client, _EVENT.path(inside or _EVENTS_NAMESPACE), field_selector=selector).items
        known = (_event(document) for document in found if _writer(document) in (_OURS, *_KUBEFLEET))
        return tuple(sorted(known, key=lambda event: event.at))

    def secret(self, name: str) -> bytes:
        """As ``Records.secret``, out of a Secret. FleetError ``record-damaged`` if that holds nothing."""
        try:
            document = self.client.get(_SECRET.path(NAMESPACE, f"gitops-fleet-{name}"))
        except ApiError as error:
            if error.code != "not-found":
                raise
            return b""
        return self._value(name, kube_lease.mapping_in(document, "data").get("value"))

    def keep_secret(self, name: str, value: bytes) -> bytes:
        """As ``Records.keep_secret``, in an immutable Secret; makes the records' namespace. Errors of ``secret``,
        FleetError ``conflict`` where it is deleted just then."""
        document = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"gitops-fleet-{name}", "namespace": NAMESPACE},
            "immutable": True,
            "data": {"value": base64.b64encode(value).decode()},
        }
        try:
            self._in_namespace(lambda: self.client.post(_SECRET.path(NAMESPACE), document))
        except ApiError as error:
            if error.code != "already-exists":
                raise
        if kept := self.secret(name):
            return kept
        raise conflict("Secret", f"{NAMESPACE}/gitops-fleet-{name}", self.place)

    def _value(self, name: str, encoded: t.Any) -> bytes:
        """What the Secret keeps. FleetError ``record-damaged`` if that is nothing: digests would be without a key."""
        try:
            value = base64.b64decode(encoded, validate=True) if isinstance(encoded, str) else b""
        except ValueError:
            value = b""
        if not value:
            text = f"the Secret {NAMESPACE}/gitops-fleet-{name} has nothing under value, or no base64"
            hint = "put back what stood there; if nobody has it, delete the Secret, and a new one is made"
            raise FleetError("record-damaged", text, self.place, hint)
        return value

    def close(self) -> None:
        """As ``Records.close``: ends the connections."""
        self.client.close()

    def _with_status(self, answer: Record, fresh: Record) -> Record:
        """The record as kept once the status of ``fresh`` is written to ``answer``. FleetError."""
        path = _path(fresh["kind"], record_name(fresh), "status")
        body = _without_status(answer)
        if "status" in fresh:
            body["status"] = fresh["status"]
        return _record(self._written(self.client.put, path, body))

    def _written(self, write: t.Callable[..., Record], path: str, record: Record) -> Record:
        """What the server kept. FleetError, ``bad-answer`` too where it answers with anything but this object."""
        answer = write(path, record, _STRICT)
        return checked_object_named(
            answer, f"a write to {path}", record["kind"], record["metadata"]["name"], self.client
        )

    def _fence(self, lease: Lease | None) -> None:
        """FleetError ``lease-lost`` unless its holder and epoch are the same, or as of a request; None is fine."""
        if lease is None:
            return
        try:
            current = self.client.get(_LEASE.path(NAMESPACE, to_object_name(lease.name)))
        except ApiError as error:
            if error.code != "not-found":
                raise
            current = {}
        form = kube_lease.lease_form(current)
        if (form.holder, form.epoch) != (lease.holder, lease.epoch):
            raise lease_lost(lease.name, lease.holder, form.holder, self.place)

    def _in_namespace(self, attempt: t.Callable[[], T]) -> T:
        """``attempt``; on ApiError ``not-found`` again, once the namespace was made. Other FleetErrors are raised."""
        try:
            return attempt()
        except ApiError as error:
            if error.code != "not-found":
                raise
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        try:
            self.client.post(BUILT_IN["v1", "Namespace"].path(), namespace)
        except ApiError as error:
            if error.code != "already-exists":
                raise
        return attempt()

    def _refuse_without_crds(self, error: ApiError, kind: str, name: str) -> None:
        """Raises, unless the server says that the kind is there and only this object is not: the error itself, or
        FleetError ``crds-missing``, or ``invalid`` with a hint for a field that the definitions there do not know."""
        if error.code == "invalid" and "unknown field" in error.message:
            hint = "are the definitions there of an older release? Install them again with the role gitops.fleet.hub"
            raise FleetError("invalid", error.message, self.place, hint) from None
        if error.code != "not-found":
            raise error
        # What the server says is without what we have shown to it, which may be a name, too.
        if not name or error.details.get("name") != self.client.hide(name.rpartition("/")[2]):
            resource = stored_resource(kind)
            raise FleetError(
                "crds-missing",
                f"this API server does not know {resource.plural}.{resource.group}",
                self.place,
                "install our resource definitions there with the role gitops.fleet.hub",
            ) from None

    def _refuse_without_namespace(self, error: ApiError, namespace: str) -> None:
        """Raises FleetError ``no-such-namespace`` where it was that which a new record lacks."""
        if namespace and error.code == "not-found" and error.details.get("name") == self.client.hide(namespace):
            hint = "create it there: what belongs to a namespace is recorded in it"
            raise FleetError("no-such-namespace", f"there is no namespace {namespace}", self.place, hint) from None


T = t.TypeVar("T")


def _path(kind: str, name: str, subresource: str = "") -> str:
    """The path of one record; empty for a name that would be another path. FleetError ``unknown-kind``."""
    place = namespace_and_name(kind, name)
    return stored_resource(kind).path(*place, subresource) if place else ""


def _record(answer: Record) -> Record:
    """The object without managedFields."""
    metadata = {key: value for key, value in answer["metadata"].items() if key != "managedFields"}
    return answer | {"metadata": metadata}


def _without_status(record: Record) -> Record:
    return {key: value for key, value in record.items() if key != "status"}


def _theirs(lease: Lease) -> kube_lease.KubeLease:
    return kube_lease.KubeLease(
        NAMESPACE, to_object_name(lease.name), lease.holder, lease.epoch, lease.seconds, lease.renewed, ""
    )


def _ours(document: t.Mapping[str, t.Any]) -> Lease:
    """The lease that a Lease object stands for; an instant that cannot be read is 1970."""
    form = kube_lease.lease_form(document)
    return Lease(
        name=from_object_name(document["metadata"]["name"]),
        holder=form.holder,
        epoch=form.epoch,
        acquired=form.acquired or _LONG_AGO,
        renewed=form.renewed or _LONG_AGO,
        seconds=form.seconds,
    )


def _writer(document: t.Mapping[str, t.Any]) -> str:
    """Who reported an event, empty if it does not say; older recorders name themselves in its source alone."""
    source = kube_lease.mapping_in(document, "source").get("component")
    return str(document.get("reportingComponent") or source or "")


def _event(document: t.Mapping[str, t.Any]) -> Event:
    """The line that an Event stands for; one that looks like ours can be of anybody who may write Events there."""
    about = kube_lease.mapping_in(document, "involvedObject")
    reason, by = str(document.get("reason") or ""), _writer(document)
    at = document.get("eventTime") or document.get("lastTimestamp")
    return Event(
        str(about.get("kind") or ""),
        record_name({"metadata": about}),
        str(document.get("type") or ""),
        EVENT_REASONS.get(reason, reason),
        str(document.get("message") or ""),
        kube_lease.lease_instant(at) or _LONG_AGO,
        "" if by == _OURS else by,
    )
