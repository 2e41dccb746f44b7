# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The driver ``cluster_api``: clusters with a managed topology, upgraded by the controllers of Cluster API, with pools
put off and let go one by one (``no-topology``, ``cluster-paused``, ``no-such-pool``); why a topology cannot have a
version.

The controllers bring everything to the version of the topology: the control plane, then each MachineDeployment and
MachinePool. Pools are put off by Cluster API's annotation, in the same write as the version, and let go one after
another by the steps of a whole upgrade. All there is to know of an operation stands in the Cluster, so that it is
followed from anywhere.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._core.errors import FleetError
from ..._core.objects.clusters.fleet_member import NodePoolStatus
from ..._core.updates.releases.versions import reached
from ..._core.values.kube_version import KubeVersion
from ..._core.values.parts import Part, mapping, name, number, rows, text, texts
from ..._kube.access import version
from ..._kube.client import KubeClient, Timeouts
from ..._kube.documents import unusable_answer
from ..._kube.errors import ApiError
from ..._kube.login.credentials import connection_from_kubeconfig
from ..members.members import Clients
from .contract import IN_PROGRESS, NOT_BEGUN, SUCCEEDED, Observation, OperationProgress, Work

API = "/apis/cluster.x-k8s.io/v1beta2"
REFERENCE = "cluster-api:"
DEFERRED = "topology.cluster.x-k8s.io/defer-upgrade"
PAUSED = "cluster.x-k8s.io/paused"
OF_CLUSTER = "cluster.x-k8s.io/cluster-name"
# What is put off or being rolled out, by the condition TopologyReconciled.
_PUT_OFF = ("MachineDeploymentsUpgradeDeferred", "MachinePoolsUpgradeDeferred")
_ROLLING = (
    "ClusterCreating",
    "ClusterUpgrading",
    "ControlPlaneUpgradePending",
    "LifecycleHookBlocking",
    "MachineDeploymentsUpgradePending",
    "MachinePoolsUpgradePending",
)
_COUNTS = ("replicas", "upToDateReplicas", "readyReplicas")
_ATTEMPTS = 10
Document = dict[str, t.Any]


@dataclass(frozen=True)
class PoolKind:
    """Pools of a topology: their list in it, the resource that is made of each, and its label with the pool's name."""

    field: str
    resource: str
    label: str


POOLS = (
    PoolKind("machineDeployments", "machinedeployments", "topology.cluster.x-k8s.io/deployment-name"),
    PoolKind("machinePools", "machinepools", "topology.cluster.x-k8s.io/pool-name"),
)


@dataclass(frozen=True, kw_only=True)
class ClusterApiDriver:
    """The member is the Cluster ``namespace/name`` of the management cluster that the kubeconfig leads to, by its
    current context if ``context`` is empty. ``clients`` are those of members; ``timeout`` is seconds to connect."""

    clients: Clients
    kubeconfig: str
    context: str
    namespace: str
    name: str
    timeout: float = 10.0

    def observe(self, member: str) -> Observation:
        """The member's own ``/version``; pools as the topology lists them, MachineDeployments first, each at the oldest
        version of its Machines and its template. FleetError ``no-topology``, ``cluster-paused``, ``pool-ambiguous``,
        and of both clusters."""
        with self._management() as client:
            cluster = self._cluster(client)
            _refuse_paused(cluster)
            rolling = _rolling(cluster)
            pools = [pool for kind in POOLS for pool in self._pools(client, cluster, kind)]
        return Observation(version=version(self.clients.get(member)), busy=rolling, pools=tuple(pools))

    def begin(self, work: Work) -> str:
        """Writes the version into the topology with all pools put off, unless it is at or above it; for a pool step,
        lets that pool go. Gives a reference to the Cluster, which may be paused. ValueError for a target that is no
        version; FleetError ``target-not-offered`` for a version of two parts, or a pool that is to stay at its version
        or go above the topology's, ``no-such-pool``, ``no-topology``, ``conflict``, and of the management cluster."""
        with self._management() as client:
            for _attempt in range(_ATTEMPTS):
                cluster = self._cluster(client)
                if work.pool_step:
                    _stop_deferring(cluster, work)
                else:
                    _set_version_deferring_pools(cluster, work.target)
                try:
                    client.put(self._path("clusters", self.name), cluster)
                    return f"{REFERENCE}{self.namespace}/{self.name}"
                except ApiError as error:
                    if error.code != "conflict":
                        raise
        raise FleetError("conflict", "the Cluster is being written all the time", work.member, "try again")

    def poll(self, work: Work) -> OperationProgress:
        """How the topology, or the pool of a pool step, comes on: NOT_BEGUN while it is below the target or put off,
        SUCCEEDED once all but pools that are put off are there, never FAILED. ValueError for a target that is no
        version. FleetError ``cluster-paused``, ``no-topology``, ``no-such-pool``, ``pool-ambiguous``, and of the
        management cluster."""
        with self._management() as client:
            cluster = self._cluster(client)
            _refuse_paused(cluster)
            return self._pool_progress(client, cluster, work) if work.pool_step else _progress(cluster, work.target)

    def _pool_progress(self, client: KubeClient, cluster: Document, work: Work) -> OperationProgress:
        """NOT_BEGUN while the pool is put off, SUCCEEDED once all of its machines are made by a template at the target
        and ready, else IN_PROGRESS. FleetError ``no-such-pool``, ``pool-ambiguous``, and of the management cluster."""
        kind, pool = _pool(cluster, work)
        if DEFERRED in _annotations(pool):
            return OperationProgress(state=NOT_BEGUN, message=f"{work.pool} is put off")
        found = self._made(client, kind).get(work.pool) or {}
        status, count = mapping(found, "status"), number(mapping(found, "spec"), "replicas")
        wanted = _template_version(found)
        fresh = number(status, "observedGeneration") >= (number(mapping(found, "metadata"), "generation") or 1)
        ready = [number(status, each) for each in _COUNTS]
        if wanted and work.target and reached(wanted, work.target) and fresh and ready == [count] * 3:
            return OperationProgress(state=SUCCEEDED)
        words = f"{ready[1]} of {count} machines of {work.pool} are up to date, {ready[2]} ready"
        return OperationProgress(state=IN_PROGRESS, message=words)

    def _pools(self, client: KubeClient, cluster: Document, kind: PoolKind) -> t.Iterator[NodePoolStatus]:
        """The pools of that kind, in the order of the topology, each at the version of its oldest Machine or of its
        template, if that is older; empty where none is told. FleetError as of ``_made``."""
        names = [each["name"] for each in _listed(cluster, kind)]
        if not names:
            return
        machines, made = self._list(client, "machines"), self._made(client, kind)
        for pool in names:
            found = made.get(pool) or {}
            mine = [each for each in machines if texts(mapping(each, "metadata"), "labels").get(kind.label) == pool]
            versions = [text(mapping(each, "spec"), "version") for each in mine] + [_template_version(found)]
            oldest = min(filter(None, versions), key=KubeVersion.parse, default="")
            yield NodePoolStatus(name=pool, count=number(mapping(found, "spec"), "replicas"), version=oldest)

    def _made(self, client: KubeClient, kind: PoolKind) -> dict[str, Part]:
        """What is made of the pools of a topology, by the name of the pool; without those that are being deleted.
        FleetError ``pool-ambiguous`` if two are of one pool, and as of ``_list``."""
        found: dict[str, Part] = {}
        for each in self._list(client, kind.resource):
            metadata = mapping(each, "metadata")
            pool = texts(metadata, "labels").get(kind.label)
            if not pool or text(metadata, "deletionTimestamp"):
                continue
            if pool in found:
                both = f"{name(mapping(found[pool], 'metadata'))} and {name(metadata)}"
                raise FleetError("pool-ambiguous", f"the {kind.resource} {both} are both of pool {pool}", self._where)
            found[pool] = each
        return found

    def _list(self, client: KubeClient, resource: str) -> list[Part]:
        """The objects of that resource that are of the Cluster. ApiError ``bad-answer`` for such that are none, and of
        the request."""
        path = self._path(resource)
        found = client.get(path, {"labelSelector": f"{OF_CLUSTER}={self.name}"})
        try:
            items = rows(found, "items")
            for each in items:
                _check_made(each)
        except ValueError as error:
            raise unusable_answer(f"GET {path}", str(error), client) from None
        return items

    def _cluster(self, client: KubeClient) -> Document:
        """The Cluster as it is. FleetError ``no-topology``; ApiError ``bad-answer`` for an object that is no Cluster,
        and of the request."""
        path = self._path("clusters", self.name)
        found = client.get(path)
        try:
            if not text(mapping(mapping(found, "spec"), "topology"), "version"):
                hint = "only clusters of a ClusterClass have one; use driver command or role for others"
                raise FleetError("no-topology", "the Cluster has no managed topology", self._where, hint)
            _check_cluster(found)
        except ValueError as error:
            raise unusable_answer(f"GET {path}", str(error), client) from None
        return found

    @property
    def _where(self) -> str:
        """How problems name the topology."""
        return f"Cluster/{self.namespace}/{self.name} spec.topology"

    def _path(self, resource: str, name: str = "") -> str:
        """The path of one object in our namespace, or of all of the resource without a name."""
        return f"{API}/namespaces/{self.namespace}/{resource}" + (f"/{name}" if name else "")

    def _management(self) -> KubeClient:
        """A client of the management cluster, for the caller to close. FleetError of the kubeconfig."""
        connection = connection_from_kubeconfig(self.kubeconfig, self.context)
        return KubeClient(connection, timeout=Timeouts.connecting(self.timeout))


def _check_cluster(cluster: Part) -> None:
    """ValueError for what is no Cluster with a topology, as all that is below relies on it."""
    metadata, topology = mapping(cluster, "metadata"), mapping(mapping(cluster, "spec"), "topology")
    name(metadata)
    number(metadata, "generation")
    texts(metadata, "annotations")
    KubeVersion.parse(text(topology, "version"))
    for pool in (pool for kind in POOLS for pool in rows(mapping(topology, "workers"), kind.field)):
        name(pool)
        texts(mapping(pool, "metadata"), "annotations")
    for condition in rows(mapping(cluster, "status"), "conditions"):
        number(condition, "observedGeneration")
        for key in ("type", "status", "reason", "message"):
            text(condition, key)


def _check_made(found: Part) -> None:
    """ValueError for what is no Machine, MachineDeployment or MachinePool, as far as it is read here."""
    metadata, spec, status = (mapping(found, key) for key in ("metadata", "spec", "status"))
    name(metadata)
    texts(metadata, "labels")
    text(metadata, "deletionTimestamp")
    for of, key in ((metadata, "generation"), (spec, "replicas"), (status, "observedGeneration")):
        number(of, key)
    for key in _COUNTS:
        number(status, key)
    for version_told in filter(None, (text(spec, "version"), _template_version(found))):
        KubeVersion.parse(version_told)


def _template_version(found: Part) -> str:
    """That of the Machines which a MachineDeployment or a MachinePool makes; empty if it is not told."""
    return text(mapping(mapping(mapping(found, "spec"), "template"), "spec"), "version")


def _refuse_paused(cluster: Document) -> None:
    """FleetError ``cluster-paused`` if spec or annotation say so: its controllers leave such a Cluster as it is."""
    by = ["spec.paused"] if (cluster.get("spec") or {}).get("paused") else []
    by += [f"annotation {PAUSED}"] if PAUSED in (cluster["metadata"].get("annotations") or {}) else []
    if by:
        metadata = cluster["metadata"]
        message = f"its Cluster is paused ({' and '.join(by)}), so that nothing is rolled out there"
        where = f"Cluster/{metadata.get('namespace', '')}/{metadata['name']}"
        raise FleetError("cluster-paused", message, where, "resume it, or skip the member")


def why_not_whole(target: str) -> str:
    """Why a topology cannot have a version of fewer than three parts; empty for others. Only the dots are counted."""
    if target.count(".") > 1:
        return ""
    return f"a topology has a whole version, and {target} is none; write kubernetesVersion such as 1.36.3"


def _set_version_deferring_pools(cluster: Document, target: str) -> None:
    """Sets the topology, in the document, to the target, and the mark on all pools that keeps them where they are; one
    at or above it is left as it is. FleetError ``target-not-offered``."""
    topology, wanted = cluster["spec"]["topology"], f"v{target.removeprefix('v')}"
    refused = why_not_whole(target)
    if refused:
        raise FleetError("target-not-offered", refused)
    if reached(topology["version"], target):
        return
    topology["version"] = wanted
    for kind in POOLS:
        for each in _listed(cluster, kind):
            metadata = each.get("metadata") or {}
            each["metadata"] = {**metadata, "annotations": {**(metadata.get("annotations") or {}), DEFERRED: ""}}


def _stop_deferring(cluster: Document, work: Work) -> None:
    """Takes the mark, in the document, off the pool that keeps it where it is. FleetError ``target-not-offered`` for a
    pool that stays at its version, or goes to one above the topology's; ``no-such-pool``."""
    at = cluster["spec"]["topology"]["version"]
    if not work.target or not reached(at, work.target):
        raise FleetError("target-not-offered", f"its topology is at {at}, which {work.pool} goes to", work.member)
    _kind, pool = _pool(cluster, work)
    _annotations(pool).pop(DEFERRED, None)
    if not _annotations(pool):
        (pool.get("metadata") or {}).pop("annotations", None)
    if not pool.get("metadata"):
        pool.pop("metadata", None)


def _progress(cluster: Document, target: str) -> OperationProgress:
    """NOT_BEGUN while the topology is below the target, SUCCEEDED once all but pools that are put off are at it, else
    IN_PROGRESS, with what the controllers say."""
    topology, condition = cluster["spec"]["topology"], _condition(cluster)
    if not reached(topology["version"], target):
        return OperationProgress(state=NOT_BEGUN, message=f"the topology is at {topology['version']}")
    seen = number(condition, "observedGeneration") >= (number(cluster["metadata"], "generation") or 1)
    settled = condition.get("status") == "True" or condition.get("reason") in _PUT_OFF
    words = f"{condition.get('reason') or 'not seen yet'}: {condition.get('message') or ''}".removesuffix(": ")
    return OperationProgress(state=SUCCEEDED if seen and settled else IN_PROGRESS, message=words)


def _rolling(cluster: Document) -> str:
    """What is being rolled out there, in words; empty if nothing is."""
    condition = _condition(cluster)
    return f"topology: {condition['reason']}" if condition.get("reason") in _ROLLING else ""


def _condition(cluster: Document) -> Document:
    """The condition ``TopologyReconciled``, empty without."""
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == "TopologyReconciled"), {})


def _listed(cluster: Document, kind: PoolKind) -> list[Document]:
    """The pools of that kind in the topology, themselves and no copies."""
    workers = cluster["spec"]["topology"].get("workers") or {}
    return t.cast(list[Document], workers.get(kind.field) or [])


def _pool(cluster: Document, work: Work) -> tuple[PoolKind, Document]:
    """The pool of that name in the topology, with its kind. FleetError ``no-such-pool``."""
    for kind in POOLS:
        for each in _listed(cluster, kind):
            if each["name"] == work.pool:
                return kind, each
    raise FleetError("no-such-pool", f"its topology has no pool {work.pool}", work.member)


def _annotations(pool: Document) -> Document:
    """The annotations of the pool themselves; an empty map that is not the pool's if it has none."""
    return t.cast(Document, (pool.get("metadata") or {}).get("annotations") or {})
