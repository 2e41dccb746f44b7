# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which cluster it is that answers, by the UID of its namespace ``kube-system``: members that are one cluster
(``double-member``), another one by now (``other-cluster``), or of which that cannot be told; UIDs recorded, and merged
from other processes; windows that clusters bear in an annotation.

Names, contexts, addresses and proxies may lead to a cluster in many ways, and to another one tomorrow.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
import time
import typing as t
from dataclasses import dataclass, field

from ..._core.cluster.facts.maintenance import ANNOTATION
from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.objects.updates.forms import GUID
from ..._kube.client import KubeClient
from ..._kube.errors import ApiError
from ..._store.records import Records, replace_unless_moved
from ..recorded import decoded

OTHER_CLUSTER, DOUBLE_MEMBER = "other-cluster", "double-member"
KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
STARTING_SECONDS = 5.0
_RIGHT = "{apiGroups: [''], resources: [namespaces], resourceNames: [kube-system], verbs: [get]}"


def cluster_words(client: KubeClient) -> tuple[str, str]:
    """The UID of the cluster's namespace ``kube-system``, and the text of the annotation there that has the cluster's
    own windows, empty without. FleetError ``forbidden`` with the right to grant, ``bad-answer`` where there is no such
    UID, and what the request raises: ``not-found`` only after STARTING_SECONDS, for a server that has just started."""
    try:
        document = _kube_system(client)
    except ApiError as error:
        if error.code != "forbidden":
            raise
        hint = f"which cluster this is cannot be told; grant {_RIGHT}, which is in every role of gitops.fleet.rbac"
        raise FleetError("forbidden", error.message, client.server_name, hint) from None
    metadata = document.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    if not isinstance(uid, str) or not re.fullmatch(GUID, uid):
        raise ApiError("bad-answer", "the namespace kube-system has no UID", client.server_name)
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    words = annotations.get(ANNOTATION) if isinstance(annotations, dict) else None
    return uid, words if isinstance(words, str) else ""


def _kube_system(client: KubeClient) -> dict[str, t.Any]:
    """The namespace; one that is not there is asked for again for STARTING_SECONDS: an API server makes it a moment
    after it has started. ApiError of the request."""
    end = time.monotonic() + STARTING_SECONDS
    while True:
        try:
            return client.get(KUBE_SYSTEM)
        except ApiError as error:
            if error.code != "not-found" or time.monotonic() >= end:
                raise
        time.sleep(0.1)


@dataclass
class Identities:
    """Checks the cluster behind a name whenever ``admit`` is called for it. Safe to use from threads. With ``strict`` a
    cluster that may not be asked, or has two names, is refused; without, it is a note: for verbs that only read. By
    name, ``seen`` has the UIDs that were told, ``unknown`` says why others cannot be told, ``maintenance`` has the
    windows that were read from clusters, as text, empty for none."""

    members: t.Mapping[str, FleetMember]
    strict: bool = False
    seen: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, Problem] = field(default_factory=dict)
    maintenance: dict[str, str] = field(default_factory=dict)
    _names: dict[str, set[str]] = field(init=False, default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._note_names(recorded_uids(self.members) | self.seen)

    def welcome(self, members: t.Mapping[str, FleetMember]) -> None:
        """Adds members that have joined since, with their recorded UIDs. Nobody is asked, and nothing is refused
        here."""
        with self._lock:
            self.members = {**self.members, **members}
            self._note_names(recorded_uids(members))

    def _note_names(self, uids: t.Mapping[str, str]) -> None:
        """Notes that these are the clusters of members, by name."""
        for name, uid in uids.items():
            self._names.setdefault(uid, set()).add(name)

    def admit(self, name: str, client: KubeClient) -> None:
        """Asks which cluster the member ``name``, one of ``members``, is, and notes that. FleetError ``other-cluster``,
        what the request raises, and with ``strict`` ``double-member`` and ``forbidden``."""
        try:
            uid, words = cluster_words(client)
        except FleetError as error:
            if self.strict or error.code != "forbidden":
                raise
            with self._lock:
                self.unknown[name] = error.problems[0]
            return
        recorded = self.members[name].spec.cluster_uid
        if recorded and recorded != uid:
            raise _other_cluster(name, recorded, uid)
        with self._lock:
            self.maintenance[name] = words
        found = self._saw(name, uid)
        if found and self.strict:
            raise FleetError.of(found)

    def _saw(self, name: str, uid: str) -> tuple[Problem, ...]:
        """Notes which cluster it is; a problem ``double-member`` if it has other names, too."""
        with self._lock:
            self.seen[name] = uid
            same = self._names.setdefault(uid, set())
            same.add(name)
            return double_member_problems(dict.fromkeys(same, uid))

    def take_over(self, seen: t.Mapping[str, str], unknown: t.Mapping[str, Problem]) -> None:
        """Adds to ``seen`` and ``unknown`` what another process has found out; refuses nothing."""
        for name, uid in seen.items():
            self._saw(name, uid)
        with self._lock:
            self.unknown |= unknown

    def notes(self) -> tuple[Problem, ...]:
        """Why some clusters are not known for sure, by place: those of several names, and those that cannot be told."""
        with self._lock:
            found = {
                each.where: each for each in double_member_problems(recorded_uids(self.members) | self.seen)
            } | self.unknown
        return tuple(found[where] for where in sorted(found))


def _other_cluster(name: str, recorded: str, uid: str) -> FleetError:
    """The error ``other-cluster``, to be raised."""
    rebuilt = shlex.quote(json.dumps({"members": [{"name": name, "rebuilt": True}]}))
    return FleetError(
        OTHER_CLUSTER,
        f"another cluster answers: its namespace kube-system has the UID {uid}, that of the cluster which joined"
        f" {recorded}",
        name,
        "mend its connection; if the cluster was rebuilt, join it again with rebuilt: true, and with its connection"
        f" where that is new: ansible-playbook gitops.fleet.join -e {rebuilt}",
    )


def double_member_problems(uids: t.Mapping[str, str]) -> tuple[Problem, ...]:
    """A problem ``double-member`` for each cluster that has several names, as of ``several_names``."""
    hint = "keep one of them: member_cluster with state absent forgets the other, and touches nothing on the cluster"
    return tuple(
        Problem(
            DOUBLE_MEMBER,
            f"{' and '.join(same)} are one cluster: its namespace kube-system has the UID {uids[same[0]]}",
            ", ".join(same),
            hint,
        )
        for same in several_names(uids)
    )


def several_names(uids: t.Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """The names of each cluster that has more than one, sorted, clusters by their first name; ``uids`` by member, empty
    where none is known."""
    names: dict[str, list[str]] = {}
    for name in sorted(uids):
        if uids[name]:
            names.setdefault(uids[name], []).append(name)
    return tuple(tuple(same) for same in names.values() if len(same) > 1)


def recorded_uids(members: t.Mapping[str, FleetMember]) -> dict[str, str]:
    """The UIDs of clusters by member, as its spec says; empty where a member joined before UIDs were kept."""
    return {name: member.spec.cluster_uid for name, member in members.items()}


def record_uids(records: Records, members: t.Mapping[str, FleetMember], seen: t.Mapping[str, str]) -> None:
    """Records the UIDs that were ``seen``, by member, of those that joined before UIDs were kept; each is among
    ``members``. What another run records meanwhile stands. FleetError ``record-damaged``, and others of the records."""
    for name, uid in seen.items():
        document = None if members[name].spec.cluster_uid else records.get("FleetMember", name)
        if document is None or decoded(FleetMember, document).spec.cluster_uid:
            continue
        replace_unless_moved(records, {**document, "spec": {**(document.get("spec") or {}), "clusterUID": uid}})
