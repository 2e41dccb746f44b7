# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Joining members (``duplicate-member``), listed or as the contexts of a kubeconfig (``no-context-matches``), or
changing them: who is new, rebuilt or connected anew is reached before anything is recorded (``no-connection``), and
told from all others; labels that its nodes tell."""

from __future__ import annotations

import fnmatch
import typing as t
from dataclasses import dataclass, replace

from ..._core.cluster.facts.cloud_labels import KEYS, cloud_labels
from ..._core.cluster.minimum_version import too_old_problem
from ..._core.errors import FleetError, Problem
from ..._core.objects.api_groups import CLUSTER_API, FLEET_API
from ..._core.objects.audit.audit_entry import JOINED, MEMBER_CHANGED
from ..._core.objects.clusters.evacuation import EVACUATED
from ..._core.objects.clusters.fleet_maintenance import ClusterMaintenance
from ..._core.objects.clusters.fleet_member import ClusterConnection, FleetMember
from ..._core.objects.clusters.member_cluster import MemberCluster
from ..._core.objects.reading import read
from ..._core.overview.member_changes import member_changes
from ..._core.schema.codec import encode
from ..._kube.access import version
from ..._kube.client import KubeClient
from ..._kube.files import real_path
from ..._kube.lists import list_pages
from ..._kube.login.credentials import contexts
from ..._kube.login.kubeconfig import local_path
from ..._kube.parallel import in_parallel
from ..._store.digest_key import digest_key
from ..._store.records import Records
from ..audit.evidence import Deed, testify
from ..leases import changing_member
from ..recorded import decoded
from ..session import Session
from .identity import DOUBLE_MEMBER, double_member_problems, recorded_uids
from .member_lease import records_id
from .members import Clients, Member, identified_members, open_clients
from .own_maintenance import annotated

IDENTITY = {"kind": "User", "name": "gitops-fleet", "apiGroup": "rbac.authorization.k8s.io"}
NODES_ASKED = 100

Document = dict[str, t.Any]


@dataclass(frozen=True, kw_only=True)
class MemberSpec:
    """What is wanted of one member. None leaves what is recorded as it is. ``labels`` and ``taints`` replace all
    recorded ones but labels of the cloud and the mark of an evacuation, ``connection`` the whole recorded one,
    ``fields`` only those of their names; the last two are named as in the spec of its FleetMember. ``rebuilt``: its
    cluster may be another one than the one that joined."""

    name: str
    connection: t.Mapping[str, t.Any] | None = None
    labels: t.Mapping[str, str] | None = None
    taints: t.Sequence[t.Mapping[str, str]] | None = None
    fields: t.Mapping[str, str] | None = None
    rebuilt: bool = False


@dataclass(frozen=True, kw_only=True)
class _Told:
    """What a member said as it was asked; ``labels`` are those of the cloud that it runs in, ``maintenance`` the
    windows that live on it."""

    version: str
    labels: t.Mapping[str, str]
    maintenance: ClusterMaintenance | None = None


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Names by what happened, or would happen, and of members that are ``without_driver`` then, in the order of the
    wishes; ``versions`` by name of the members that were asked; ``diff`` of each record that is new or changes, as
    Ansible shows differences."""

    joined: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    without_driver: tuple[str, ...] = ()
    versions: t.Mapping[str, str] | None = None
    diff: tuple[t.Mapping[str, t.Any], ...] = ()


def specs_of_contexts(kubeconfig: str, pattern: str) -> tuple[MemberSpec, ...]:
    """A ``MemberSpec`` for every context of the kubeconfig (a path) that matches the shell pattern, case mattering,
    sorted by the contexts' names, which they bear. FleetError ``no-context-matches`` (with those there are), and those
    of the kubeconfig."""
    found = contexts(kubeconfig)
    names = [each for each in found if fnmatch.fnmatchcase(each, pattern)]
    if not names:
        raise FleetError(
            "no-context-matches",
            f"no context matches {pattern!r}",
            kubeconfig,
            f"it has {', '.join(found) or 'none'}",
        )
    return tuple(MemberSpec(name=name, connection={"kubeconfig": kubeconfig, "context": name}) for name in names)


def join(session: Session, wishes: t.Sequence[MemberSpec], write: bool) -> Joined:
    """Joins new members and changes known ones, with evidence, or says without ``write`` what that would be. Members
    that are new or rebuilt, or have a new connection, are reached first; if one of them cannot be, if it is a member
    under another name, or if a wish is malformed, no member is recorded.

    FleetError ``duplicate-member``, ``no-connection``, ``double-member``, ``server-too-old``, ``record-damaged``,
    ``no-workers``, those of connections, of the records and of windows on the cluster, and as of ``read`` for a
    malformed wish or record; ``lease-held``, ``lease-lost``, ``already-exists`` and ``conflict`` leave members before
    that one recorded.
    """
    records = session.records
    _refuse_repeated(wishes)
    wanted = {wish.name: _documents(records, wish) for wish in wishes}
    _check(wanted)
    known = identified_members(session, write)
    _refuse_same_connections(wanted, known, session.environ)
    rebuilt = {wish.name for wish in wishes if wish.rebuilt}
    told = _reach(session, wanted, known, rebuilt)
    _add_labels(wanted, told, {wish.name for wish in wishes if wish.rebuilt and wish.labels is None})
    _add_windows(wanted, told, rebuilt)
    versions = {name: each.version for name, each in told.items()}
    if write:
        digest_key(records)  # before the first plan, so that plan and apply seal Secrets alike
        records_id(records)  # whoever conducts upgrades may read it, and make no Secrets
    joined: list[str] = []
    changed: list[str] = []
    unchanged: list[str] = []
    diff: list[dict[str, t.Any]] = []
    for name, documents in wanted.items():
        old = {kind: records.get(kind, name) for kind in documents}
        moved = {kind: document for kind, document in documents.items() if not _same(old[kind], document)}
        if not moved:
            unchanged.append(name)
            continue
        (joined if old["FleetMember"] is None else changed).append(name)
        diff += [
            {"before": old[kind] or {}, "after": document, "before_header": name} for kind, document in moved.items()
        ]
        if write:
            _write(session, name, old, moved)
    return Joined(
        joined=tuple(joined),
        changed=tuple(changed),
        unchanged=tuple(unchanged),
        without_driver=tuple(name for name, each in wanted.items() if not _fleet_member(each).spec.driver),
        versions=versions,
        diff=tuple(diff),
    )


def _refuse_repeated(wishes: t.Sequence[MemberSpec]) -> None:
    """FleetError ``duplicate-member`` for names that are there twice; those that differ in case only are one, for
    files, hosts and people take them for one."""
    names = [wish.name.casefold() for wish in wishes]
    repeated = sorted({wish.name for wish in wishes if names.count(wish.name.casefold()) > 1})
    if repeated:
        raise FleetError("duplicate-member", f"named more than once: {', '.join(repeated)}", "members")


def _refuse_same_connections(
    wanted: t.Mapping[str, t.Mapping[str, Document]], known: t.Mapping[str, Member], environ: t.Mapping[str, str]
) -> None:
    """FleetError ``double-member``: two names with one connection are one cluster, whether it answers or not."""
    connections = {name: each.fleet.spec.connection for name, each in known.items()}
    connections |= {name: _fleet_member(documents).spec.connection for name, documents in wanted.items()}
    names: dict[ClusterConnection, list[str]] = {}
    for name, connection in connections.items():
        path = real_path(local_path(connection.kubeconfig, environ))
        names.setdefault(replace(connection, kubeconfig=path if connection.kubeconfig else ""), []).append(name)
    same = [sorted(each) for each in names.values() if len(each) > 1 and wanted.keys() & set(each)]
    if same:
        text = "these members have one and the same connection, so they are one cluster"
        hint = "give each a connection of its own, or keep one of them"
        raise FleetError.of(Problem("double-member", text, ", ".join(each), hint) for each in sorted(same))


def _refuse_damaged(cluster: Document | None, fleet: Document | None) -> None:
    """FleetError ``record-damaged``: what is recorded of a member is kept, and has to be understood for that."""
    if cluster is not None:
        decoded(MemberCluster, cluster)
    if fleet is not None:
        decoded(FleetMember, fleet)


def _documents(records: Records, wish: MemberSpec) -> dict[str, Document]:
    """Both records of the member as they are wanted, by kind: what is recorded, with what the wish gives. Labels of the
    cloud stay, but where a rebuilt cluster gets labels, and so does the mark of an evacuation. FleetError
    ``record-damaged``."""
    cluster = records.get("MemberCluster", wish.name)
    fleet = records.get("FleetMember", wish.name)
    _refuse_damaged(cluster, fleet)
    spec = dict((cluster or {}).get("spec") or {"identity": IDENTITY})
    if wish.taints is not None:
        # Who is evacuated stays so until it is readmitted, whatever taints people list.
        mark = [each for each in spec.get("taints") or () if each.get("key") == EVACUATED]
        given = [{key: value for key, value in taint.items() if value} for taint in wish.taints]
        spec["taints"] = [*given, *(each for each in mark if each not in given)]
    metadata = dict((cluster or {}).get("metadata") or {"name": wish.name})
    if wish.labels is not None:
        before = {} if wish.rebuilt else metadata.get("labels") or {}
        told = {key: value for key, value in before.items() if key in KEYS}
        metadata["labels"] = {**told, **wish.labels}
    fleet_spec = dict((fleet or {}).get("spec") or {})
    if wish.connection is not None:
        fleet_spec["connection"] = {key: value for key, value in wish.connection.items() if value}
    fleet_spec |= {key: value for key, value in (wish.fields or {}).items() if value is not None}
    return {
        "MemberCluster": {"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": metadata, "spec": spec},
        "FleetMember": {
            "apiVersion": FLEET_API,
            "kind": "FleetMember",
            "metadata": dict((fleet or {}).get("metadata") or {"name": wish.name}),
            "spec": fleet_spec,
        },
    }


def _check(wanted: t.Mapping[str, t.Mapping[str, Document]]) -> None:
    """FleetError with all problems of all wishes at once: ``no-connection``, and those of the rules for manifests."""
    problems: list[Problem] = []
    for name, documents in wanted.items():
        if not documents["FleetMember"]["spec"].get("connection"):
            hint = "give kubeconfig, context, secret_ref or in_cluster, or is the name misspelt?"
            problems.append(Problem("no-connection", "a new member needs a connection", f"member {name}", hint))
            stand_in = {**documents["FleetMember"]["spec"], "connection": {"inCluster": True}}
            documents = {**documents, "FleetMember": {**documents["FleetMember"], "spec": stand_in}}
        for document in documents.values():
            shown = {**document, "metadata": {k: v for k, v in document["metadata"].items() if k in ("name", "labels")}}
            try:
                read(shown, f"member {name}", strict=True)
            except FleetError as error:
                problems.extend(error.problems)
    if problems:
        raise FleetError.of(list(dict.fromkeys(problems)))


def _reach(
    session: Session,
    wanted: t.Mapping[str, t.Mapping[str, Document]],
    known: t.Mapping[str, Member],
    rebuilt: t.Container[str],
) -> dict[str, _Told]:
    """What those say that are new, have a new connection or a rebuilt cluster. All UIDs that are known go into
    ``wanted``. FleetError with all problems: one cannot be reached, is too old, or is a member under another name."""
    recorded = recorded_uids({name: each.fleet for name, each in known.items()})
    members: dict[str, FleetMember] = {}
    for name, documents in wanted.items():
        new = _fleet_member(documents)
        if name in rebuilt or name not in known or known[name].fleet.spec.connection != new.spec.connection:
            uid = "" if name in rebuilt else recorded.get(name, "")
            members[name] = replace(new, spec=replace(new.spec, cluster_uid=uid))
    with open_clients(session, members, strict=True) as clients:
        answers = in_parallel({name: _asked(clients, name) for name in members})
        seen = clients.identities.seen
    uids = recorded | seen
    told = {name: answer for name, answer in answers.items() if isinstance(answer, _Told)}
    problems = _strange(answers, told)
    problems += [each for each in double_member_problems(uids) if seen.keys() & set(each.where.split(", "))]
    if problems:
        raise FleetError.of(problems)
    for name in wanted.keys() & {name for name, uid in uids.items() if uid}:
        wanted[name]["FleetMember"]["spec"]["clusterUID"] = uids[name]
    return told


def _strange(answers: t.Mapping[str, _Told | FleetError], told: t.Mapping[str, _Told]) -> list[Problem]:
    """Why members cannot join: they did not answer, or are no API servers that we can work with; ``double-member`` is
    left out."""
    errors = [each for answer in answers.values() if isinstance(answer, FleetError) for each in answer.problems]
    problems = [each for each in errors if each.code != DOUBLE_MEMBER]  # told once, with every name of the cluster
    return problems + list(
        filter(None, (too_old_problem(each.version, f"member {name}") for name, each in told.items()))
    )


def _asked(clients: Clients, name: str) -> t.Callable[[], _Told]:
    """What asks the member when it is called, in a thread, and raises FleetError where it does not tell."""

    def ask() -> _Told:
        """Version, labels and windows that the member tells. FleetError of its connection, or where its windows are
        damaged."""
        client = clients.get(name)
        own = annotated(name, clients) if name in clients.identities.maintenance else None
        return _Told(version=version(client), labels=told_labels(client), maintenance=own)

    return ask


def told_labels(client: KubeClient) -> dict[str, str]:
    """Labels for the cluster (region, provider and so on) that its first nodes tell; without those in which a
    credential of ours stands. Empty where nodes cannot be read, which a member need not permit to join."""
    try:
        nodes = next(list_pages(client, "/api/v1/nodes", limit=NODES_ASKED, kind="Node"), [])
        return {key: value for key, value in cloud_labels(nodes).items() if client.hide(value) == value}
    except (FleetError, ValueError):
        return {}


def _add_labels(
    wanted: t.Mapping[str, t.Mapping[str, Document]], told: t.Mapping[str, _Told], anew: t.Container[str]
) -> None:
    """Puts labels of the cloud into ``wanted``, below what people gave. For members in ``anew``, which were rebuilt,
    and get no labels now, those of the former cluster's cloud go."""
    for name, each in told.items():
        metadata = wanted[name]["MemberCluster"]["metadata"]
        if each.labels:
            stay = metadata.get("labels") or {}
            stay = {key: value for key, value in stay.items() if not (name in anew and key in KEYS)}
            metadata["labels"] = {**each.labels, **stay}


def _add_windows(
    wanted: t.Mapping[str, t.Mapping[str, Document]], told: t.Mapping[str, _Told], rebuilt: t.Container[str]
) -> None:
    """Puts windows of the clusters' own into the status in ``wanted``; None for a member in ``rebuilt`` whose cluster
    has none, for those of the former one go."""
    for name, each in told.items():
        if each.maintenance or name in rebuilt:
            windows = encode(each.maintenance) if each.maintenance else None
            wanted[name]["FleetMember"]["status"] = {"maintenance": windows}


def _fleet_member(documents: t.Mapping[str, Document]) -> FleetMember:
    """The FleetMember in the documents. FleetError as of ``read`` if it is malformed."""
    found = read(documents["FleetMember"], "").object
    if not isinstance(found, FleetMember):
        raise AssertionError("a document of kind FleetMember is one")
    return found


def _same(old: Document | None, new: Document) -> bool:
    """Whether spec and labels are as recorded; False without a record. FleetError as of ``_canonical``."""
    if old is None:
        return False
    labels = (old["metadata"].get("labels") or {}) == (new["metadata"].get("labels") or {})
    return labels and _canonical(old) == _canonical(new)


def _canonical(document: Document) -> t.Any:
    """The spec with its defaults, so that what an API server filled in is no difference. FleetError as of ``read`` for
    one that the rules for manifests refuse."""
    metadata = {"name": document["metadata"]["name"]}
    return encode(read({**document, "metadata": metadata, "status": None}, "").object)["spec"]


def _changes(old: t.Mapping[str, Document | None], moved: t.Mapping[str, Document]) -> str:
    """What is other in the documents than in the ``old`` ones of their kinds, as of ``member_changes``. FleetError as
    of ``_canonical``."""
    both = ([old[kind] for kind in moved], moved.values())
    before, after = ([{**each, "spec": _canonical(each)} for each in these if each] for these in both)
    return member_changes(before, after)


def _write(session: Session, name: str, old: t.Mapping[str, Document | None], moved: t.Mapping[str, Document]) -> None:
    """Writes those records that change, under the lease of the member, and evidence of it. FleetError ``lease-held``,
    ``conflict``, ``already-exists`` where somebody else has just joined it, ``lease-lost``."""
    records = session.records
    action = JOINED if old["FleetMember"] is None else MEMBER_CHANGED
    with changing_member(records, name, session.holder) as lease:
        for kind, document in moved.items():
            before = old[kind] or {}
            told = {**(before.get("status") or {}), **(document.get("status") or {})}
            status = {key: value for key, value in told.items() if value is not None}
            wanted = {key: value for key, value in {**before, **document}.items() if key != "status"}
            (records.replace if before else records.create)({**wanted, **({"status": status} if status else {})}, lease)
        words = "" if action == JOINED else _changes(old, moved)
        testify(session, Deed(action=action, kind="MemberCluster", name=name, members=(name,), message=words))
