# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The members of a fleet as the records hold them, and connections to them by their kubeconfigs, in files or in Secrets
on the hub, read as YAML (``secret-without-hub``, ``secret-without-key``, ``kubeconfig-invalid``); ``no-members``, names
that are none (``no-such-member``), ``not-a-member``, ``not-ready``; how far servers' clocks are ahead."""

from __future__ import annotations

import base64
import contextlib
import os
import threading
import typing as t
from dataclasses import dataclass, field, replace
from datetime import timedelta

from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.objects.clusters.member_cluster import MemberCluster
from ..._core.objects.clusters.missing_record import lacks_record, without_record
from ..._core.schema.hints import did_you_mean
from ..._core.values.listed import listed
from ..._kube.access import server_readiness
from ..._kube.client import KubeClient, Timeouts
from ..._kube.clocks import usual_difference
from ..._kube.login.connection import Connection
from ..._kube.login.credentials import connection_from_document, connection_from_kubeconfig, connection_in_cluster
from ..._kube.login.kubeconfig import local_path, parse_yaml
from ..._kube.parallel import in_parallel
from ..._store.records import Records
from ..recorded import all_decoded
from ..session import Session
from .identity import (
    Identities,
    double_member_problems,
    record_uids,
    recorded_uids,
)
from .member_lease import Keep, MemberLeases

# For how long what the records say of the fleet is good where something may begin by it.
LIST_AFTER = timedelta(seconds=15)
NO_MEMBER = "it is no member of the fleet"
SECRET_PATH = "/api/v1/namespaces/{namespace}/secrets/{name}"


def strangers_remark(named: t.Iterable[str], fleet: t.Container[str], where: str) -> t.Iterator[Problem]:
    """At most one remark ``no-such-member``, on the names of ``spec.members`` of the run or rotation ``where`` that are
    no members of the fleet: it goes on without them."""
    lacking = [each for each in named if each not in fleet]
    if lacking:
        text = f"not in the fleet, so that nothing is done on them: {listed(lacking)}"
        yield Problem("no-such-member", text, f"{where} spec.members", "mend the names, or join these members first")


@dataclass(frozen=True, kw_only=True)
class Member:
    """A MemberCluster and its FleetMember, which share their name."""

    cluster: MemberCluster
    fleet: FleetMember

    @property
    def labels_known(self) -> bool:
        """Whether its MemberCluster is recorded; without it nobody knows which labels it has."""
        return not lacks_record(self.cluster)

    @property
    def name(self) -> str:
        """Its name in the fleet."""
        return self.cluster.name


def recorded_members(records: Records) -> dict[str, Member]:
    """All members, by name, sorted: each FleetMember with its MemberCluster, or one that says that it is missing
    (``without_record``). FleetError ``record-damaged``, for a member that cannot be read has not left the fleet, and
    others of the records."""
    fleet = all_decoded(FleetMember, records.list("FleetMember"))
    clusters = all_decoded(MemberCluster, records.list("MemberCluster"))
    return {
        name: Member(cluster=clusters.get(name) or without_record(name), fleet=fleet[name]) for name in sorted(fleet)
    }


def no_members(records: Records, hint: str = "join some: gitops.fleet.join") -> FleetError:
    """The error ``no-members``, to be raised."""
    return FleetError("no-members", "no cluster has joined the fleet", records.place, hint)


def no_such_member(name: str, there: t.Collection[str], why: str = NO_MEMBER) -> Problem:
    """The problem ``no-such-member``; its hint is the name that is most like it, or else the first of those that are
    ``there``."""
    known = sorted(there)
    return Problem("no-such-member", why, name, did_you_mean(name, known) or f"there are: {listed(known) or 'none'}")


def refuse_strangers(names: t.Iterable[str], there: t.Collection[str], why: str = NO_MEMBER) -> None:
    """FleetError with a ``no-such-member`` for each of the names that is not ``there``, in their order."""
    problems = [no_such_member(name, there, why) for name in names if name not in there]
    if problems:
        raise FleetError.of(problems)


def identified_members(session: Session, write: bool) -> dict[str, Member]:
    """All members with the UIDs of their clusters, which are asked for (and recorded, with ``write``) where a member
    joined before UIDs were kept. Members that cannot be asked stay without. FleetError ``record-damaged``, others of
    the records, ``no-workers``."""
    members = recorded_members(session.records)
    unknown = {name: each.fleet for name, each in members.items() if not each.fleet.spec.cluster_uid}
    if not unknown:
        return members
    with open_clients(session, unknown) as clients:
        in_parallel({name: _opened(clients, name) for name in unknown})
        seen = dict(clients.identities.seen)
    if write:
        record_uids(session.records, unknown, seen)
    specs = {name: replace(unknown[name].spec, cluster_uid=uid) for name, uid in seen.items()}
    return members | {name: replace(members[name], fleet=replace(unknown[name], spec=specs[name])) for name in seen}


def members_to_write(session: Session) -> dict[str, Member]:
    """All members for verbs that write on them: as ``identified_members`` with ``write``, and FleetError
    ``double-member`` if a cluster has two names."""
    members = identified_members(session, write=True)
    found = double_member_problems(recorded_uids({name: each.fleet for name, each in members.items()}))
    if found:
        raise FleetError.of(found)
    return members


def _opened(clients: Clients, name: str) -> t.Callable[[], KubeClient]:
    """What opens the client of the member when it is called, in a thread; FleetError then as of ``Clients.get``."""
    return lambda: clients.get(name)


@dataclass
class Clients:
    """Clients of members, made when they are first asked for and closed together. Safe to use from threads. This is the
    one door to members: the first time each is asked which cluster it is.

    ``hub`` is where Secrets with kubeconfigs lie; paths of kubeconfigs are read by ``environ``. ``strict`` as in
    ``Identities``; verbs that write on members give ``leases``. Members in ``ready_first`` must say that they are
    ready. From each ``get`` on a member has ``timeout.whole`` seconds for what is asked of it then.
    """

    members: t.Mapping[str, FleetMember]
    hub: KubeClient | None = None
    timeout: Timeouts = Timeouts()
    strict: bool = False
    leases: MemberLeases | None = None
    ready_first: frozenset[str] = frozenset()
    environ: t.Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    _open: dict[str, KubeClient] = field(default_factory=dict)
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.identities = Identities(self.members, self.strict)

    @contextlib.contextmanager
    def holding(self, name: str, task: str) -> t.Iterator[Keep]:
        """The lease on the member while entered, as ``MemberLeases.holding``. FleetError as of that and of ``get``."""
        if self.leases is None:
            raise AssertionError("only verbs that write hold members")
        with self.leases.holding(self.get(name), task) as keep:
            yield keep

    def get(self, name: str) -> KubeClient:
        """The open client of a member, made and identified the first time. FleetError ``not-a-member``, ``not-ready``,
        ``interrupted`` once all were closed, those of ``Identities.admit``, or of the connection."""
        with self._lock:
            self._refuse_closed(name)
            open_already = self._open.get(name)
        if open_already is not None:
            open_already.start_time_budget()
            return open_already
        client = KubeClient(self.connection(name), timeout=self.timeout)
        client.start_time_budget()
        try:
            self.identities.admit(name, client)
            if name in self.ready_first:
                _refuse_unready(name, client)
            return self._kept(name, client)
        except BaseException:
            client.close()
            raise

    def welcome(self, members: t.Mapping[str, FleetMember]) -> None:
        """Adds those that it does not have; what it has of others stays, even if they are other now or have left.
        Nobody is asked."""
        with self._lock:
            new = {name: each for name, each in members.items() if name not in self.members}
            if new:
                self.members = {**self.members, **new}
                self.identities.welcome(new)

    def connection(self, name: str) -> Connection:
        """How the member is reached; it is not asked. FleetError ``not-a-member``, and as of ``connection_of``."""
        if name not in self.members:
            raise FleetError("not-a-member", "the cluster is not a member of the fleet", name, "join it first")
        return connection_of(self.members[name], self.hub, self.environ)

    def _kept(self, name: str, client: KubeClient) -> KubeClient:
        """The client under that name: another one if a thread was faster, and this one is closed then. FleetError
        ``interrupted``."""
        with self._lock:
            self._refuse_closed(name)
            kept = self._open.setdefault(name, client)
        if kept is not client:
            client.close()
        return kept

    def _refuse_closed(self, name: str) -> None:
        """FleetError ``interrupted`` once all were closed: a thread that was left behind opens nothing any more. The
        lock must be held."""
        if self._closed:
            raise FleetError("interrupted", "the run has ended meanwhile", name, "run again")

    def apart(self, leases: MemberLeases | None = None) -> Clients:
        """The same for another process: with connections and identities of its own, and ``leases`` to hold members
        by."""
        hub = KubeClient(self.hub.connection, timeout=self.hub.timeout) if self.hub else None
        return replace(self, hub=hub, leases=leases, _open={}, _closed=False, _lock=threading.Lock())

    def clock_ahead(self) -> timedelta:
        """How far clocks of members and the hub are ahead of ours, as far as they were seen, as of
        ``usual_difference``."""
        with self._lock:
            clients = [*self._open.values(), *([self.hub] if self.hub else ())]
        return usual_difference(each.ahead for each in clients if each.ahead is not None)

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, *_error: object) -> None:
        """Closes all clients, but that of the hub; none is opened any more."""
        with self._lock:
            self._closed = True
            found = list(self._open.values())
        for client in found:
            client.close()


def open_clients(
    session: Session,
    members: t.Mapping[str, FleetMember],
    *,
    timeout: Timeouts | None = None,
    strict: bool = False,
    ready_first: frozenset[str] = frozenset(),
) -> Clients:
    """Clients of these members as the session reaches and holds them; the options are fields of ``Clients``. None is
    asked yet; ``with`` closes them."""
    return Clients(
        members=members,
        hub=session.hub,
        timeout=timeout or Timeouts(),
        strict=strict,
        leases=MemberLeases(session.records, session.holder),
        ready_first=ready_first,
        environ=session.environ,
    )


def _refuse_unready(name: str, client: KubeClient) -> None:
    """Asks the member; FleetError ``not-ready`` with the checks that fail, and of the request."""
    answer = server_readiness(client)
    if not answer:
        checks = f" (these checks fail: {', '.join(answer.failing)})" if answer.failing else ""
        message = f"its API server says that it is not ready{checks}"
        raise FleetError("not-ready", message, name, "run again when it is; what is recorded of it is older")


def connection_of(member: FleetMember, hub: KubeClient | None, environ: t.Mapping[str, str]) -> Connection:
    """The connection that a FleetMember's spec describes, named after the member, which is not asked. FleetError as of
    ``kubeconfig_in_secret`` and ``connection_in_cluster``, and of kubeconfigs."""
    wanted = member.spec.connection
    if wanted.in_cluster:
        connection = connection_in_cluster(environ)
    elif wanted.secret_ref:
        document, where = kubeconfig_in_secret(member, hub)
        connection = connection_from_document(document, wanted.context, where)
    else:
        connection = connection_from_kubeconfig(local_path(wanted.kubeconfig, environ), wanted.context)
    return _named(connection, member.name)


def _named(connection: Connection, name: str) -> Connection:
    """The connection under that name."""
    return replace(connection, name=name)


def kubeconfig_in_secret(member: FleetMember, hub: KubeClient | None) -> tuple[t.Mapping[str, t.Any], str]:
    """The kubeconfig in the Secret on the hub that the member's ``secretRef`` names, and the Secret's name for
    messages. FleetError ``secret-without-hub``, ``secret-without-key``, ``kubeconfig-invalid``, those of the hub
    (``not-found`` without the Secret), and as of ``kubeconfig_document``."""
    reference = member.spec.connection.secret_ref
    if reference is None:
        raise AssertionError("only called for members with a secretRef")
    where = f"Secret {reference.namespace}/{reference.name}"
    if hub is None:
        raise FleetError(
            "secret-without-hub",
            f"{where} lies on the hub, and no hub is given",
            member.name,
            "use records of type hub",
        )
    secret = hub.get(SECRET_PATH.format(namespace=reference.namespace, name=reference.name))
    data = secret.get("data")
    text = data.get(reference.key) if isinstance(data, dict) else None
    if not text:
        raise FleetError("secret-without-key", f"{where} has no key {reference.key}", member.name)
    try:
        content = base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        raise FleetError("kubeconfig-invalid", f"{where} key {reference.key} is no base64", member.name) from None
    return kubeconfig_document(content, f"{where} key {reference.key}"), where


def kubeconfig_document(content: bytes, where: str) -> t.Mapping[str, t.Any]:
    """What the bytes of a kubeconfig are as YAML. FleetError ``kubeconfig-invalid`` for what is no mapping, and as of
    ``parse_yaml``; neither tells of the content."""
    try:
        document = parse_yaml(content, where)
    except ValueError as error:
        raise FleetError("kubeconfig-invalid", "the kubeconfig cannot be parsed", where) from error
    if not isinstance(document, t.Mapping):
        raise FleetError("kubeconfig-invalid", "the kubeconfig is no mapping", where)
    return document
