# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of a fleet of any size, in all states that a report shows, without a server: nothing was ever read."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.course import Course, Plan
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import policy_snapshot_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.index import FleetIndex
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import SkipTarget, skip, start
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import run_of, status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import write_time
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.overview.gathering import (
    Overview,
    OverviewRequest,
    gather,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.constraints import StartConstraints
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

Document = dict[str, t.Any]
NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
REGIONS = ("westeurope", "northeurope", "eastus", "southindia")
STAGES = ("canary", "pilot", "prod")
PLACES = "kubernetes-fleet.io"
# What others may write, in each place that takes a text.
MARKUP = "</script><img src=x onerror=\"document.title='run'\">&amp;<b>bold</b>"
# Minors of the few that are too old and too new.
KUBELETS = {0: 30, 6: 36}
NAMES = ("web", "payments", "ingress", "monitoring", "cert-manager", "logging", "search", "batch", "docs", "mail")


@dataclass
class Sample:
    """The records, and what a report is made from beside them."""

    records: SqliteRecords
    folder: Path

    def overview(self, **asked: t.Any) -> Overview:
        session = Session(records=self.records, holder="test", clock=lambda: NOW)
        return gather(session, OverviewRequest(title="Production fleet", **asked))

    def file(self, name: str, *documents: Document) -> str:
        path = self.folder / name
        path.write_text("\n---\n".join(json.dumps(each) for each in documents))
        return str(path)


def sample_fleet(folder: Path, clusters: int = 24, placements: int = 8, foreign: str = "") -> Sample:
    """``foreign`` is written wherever people and clusters write freely."""
    sample = Sample(SqliteRecords(folder / "records.db", lambda: NOW), folder)
    for number in range(clusters):
        for document in member(number, foreign):
            sample.records.create(document)
    fleet = [each.cluster for each in recorded_members(sample.records).values()]
    before = FleetIndex(tuple(each for at, each in enumerate(fleet) if at % 9 != 4), NOW)
    for number in range(placements):
        placed(sample.records, placement(number), before, foreign)
    return sample


def member(number: int, foreign: str) -> tuple[Document, Document]:
    stage = STAGES[0 if number % 12 == 0 else 1 if number % 4 == 1 else 2]
    region = REGIONS[number % len(REGIONS)]
    name = f"{stage}-{region}-{number + 1}"
    nodes = 4 + number * 7 % 29
    well, heard = number % 11 != 7, NOW - timedelta(minutes=2 + number % 5, hours=30 if number % 11 == 7 else 0)
    labels = {"stage": stage, "region": region, "tier": "gold" if number % 3 else "silver"}
    spec: Document = {"identity": {"kind": "User", "name": "fleet"}}
    if number % 10 == 3:
        spec["taints"] = [{"key": "maintenance", "value": "planned", "effect": "NoSchedule"}]
    cores, memory = nodes * 8, nodes * 32
    free = (number * 37 % 90 + 4) / 100
    status = {
        "properties": {
            "k8s.io/k8s-version": {"value": f"v1.{34 + (number % 5 > 1)}.{number % 3}"},
            f"{PLACES}/node-count": {"value": str(nodes)},
        },
        "resourceUsage": {
            "capacity": {"cpu": str(cores), "memory": f"{memory}Gi"},
            "allocatable": {"cpu": str(cores), "memory": f"{memory}Gi"},
            "available": {"cpu": f"{int(cores * free * 1000)}m", "memory": f"{int(memory * min(1, free + 0.1))}Gi"},
        },
        "agentStatus": [
            {
                "type": "MemberAgent",
                "lastReceivedHeartbeat": write_time(heard),
                "conditions": [
                    condition("Joined", True),
                    condition("Healthy", well, f"the API server does not answer {foreign}".strip()),
                ],
            }
        ],
    }
    cluster = {
        "apiVersion": "cluster.kubernetes-fleet.io/v1",
        "kind": "MemberCluster",
        "metadata": {"name": name, "labels": labels, "annotations": {"note": foreign}},
        "spec": spec,
        "status": status,
    }
    fleet = {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "FleetMember",
        "metadata": {"name": name},
        "spec": {
            "connection": {"kubeconfig": "~/.kube/config", "context": name},
            "group": stage,
            "location": f"{region} {foreign}".strip(),
        },
        "status": {
            "version": status["properties"]["k8s.io/k8s-version"]["value"],
            "nodePools": [
                {
                    "name": "default",
                    "count": 10 if number % 2 else 40,
                    "version": f"v1.{KUBELETS.get(number % 7, 34)}.1",
                    "image": f"Linux {'1.1' if number % 3 else '1.0'} {foreign}".strip(),
                }
            ],
            "certificates": {"server": write_time(NOW + timedelta(days=(number * 31 + 400) % 390 - 2))},
        },
    }
    return cluster, fleet


def condition(kind: str, holds: bool, message: str = "") -> Document:
    """One of a member or a placement."""
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": "Read" if holds else "Failed",
        "message": "" if holds else message,
        "lastTransitionTime": write_time(NOW - timedelta(days=2)),
    }


def placement(number: int) -> Document:
    """Of all three types, some with a rule that keeps clusters out."""
    name = f"{NAMES[number % len(NAMES)]}{number // len(NAMES) or ''}"
    term = {"labelSelector": {"matchLabels": {"stage": "prod"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [term]}}
    tolerates = [{"key": "maintenance", "operator": "Exists"}]
    policies: list[Document] = [
        {"placementType": "PickAll", "affinity": {"clusterAffinity": required}},
        {"placementType": "PickN", "numberOfClusters": 5, "tolerations": tolerates},
        {"placementType": "PickAll", "tolerations": tolerates},
        {"placementType": "PickN", "numberOfClusters": 9, "affinity": {"clusterAffinity": required}},
        {"placementType": "PickFixed", "clusterNames": ["canary-westeurope-1", "prod-eastus-3", "prod-nowhere-9"]},
    ]
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": name}],
            "policy": policies[number % len(policies)],
        },
    }


def placed(records: SqliteRecords, document: Document, before: FleetIndex, foreign: str) -> None:
    """The placement as it was applied when the fleet was ``before``, with what was seen of it since."""
    wanted = decode(ClusterResourcePlacement, document)
    snapshot, _new = policy_snapshot_of(wanted, None)
    outcome = schedule(wanted, snapshot, before, ())
    held = sorted(outcome.holders)
    records.create({**document, "status": standing(document["metadata"]["name"], held, foreign)})
    labels = {"kubernetes-fleet.io/parent-CRP": wanted.name}
    index = {**labels, f"{PLACES}/policy-index": "0", f"{PLACES}/is-latest-snapshot": "true"}
    kept = encode(snapshot)
    records.create({**kept, "metadata": {"name": snapshot.name, "labels": index}})
    content = f"{wanted.name}-0-snapshot"
    records.create(
        {
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
            "kind": "ClusterResourceSnapshot",
            "metadata": {
                "name": content,
                "labels": {**labels, f"{PLACES}/resource-index": "0", f"{PLACES}/is-latest-snapshot": "true"},
                "annotations": {f"{PLACES}/resource-hash": "0" * 64},
            },
            "spec": {
                "selectedResources": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": wanted.name}}]
            },
        }
    )
    for each in outcome.bindings:
        body = encode(each)
        spec = {**body["spec"], "state": "Bound", "resourceSnapshotName": content}
        records.create({**body, "metadata": {"name": each.name, "labels": labels}, "spec": spec})


def standing(name: str, held: t.Sequence[str], foreign: str) -> Document:
    """A few clusters are not available, and on a few somebody has changed something."""
    rows = []
    for at, cluster in enumerate(held):
        late = (at + len(name)) % 13 == 5
        row: Document = {
            "clusterName": cluster,
            "conditions": [
                condition("Scheduled", True),
                condition("Applied", True),
                condition("Available", not late, f"Deployment {name}/{name} has 1 of 3 replicas {foreign}".strip()),
            ],
        }
        if (at * 3 + len(name)) % 16 == 2:
            detail = {"path": "/spec/replicas", "valueInMember": "1", "valueInHub": f"3 {foreign}".strip()}
            image = {
                "path": "/spec/template/spec/containers/0/image",
                "valueInMember": f"{name}:edge",
                "valueInHub": f"{name}:2.4",
            }
            row["driftedPlacements"] = [
                {
                    "group": "apps", "version": "v1", "kind": "Deployment", "name": name, "namespace": name,
                    "firstDriftedObservedTime": write_time(NOW - timedelta(hours=5 + at)),
                    "observedDrifts": [detail, image][: 1 + at % 2],
                }
            ]  # fmt: skip
        rows.append(row)
    chosen = [{"group": "", "version": "v1", "kind": "Namespace", "name": name}]
    return {"placementStatuses": rows, "selectedResources": chosen, "conditions": []}


def update_run(sample: Sample, foreign: str = "") -> None:
    """A run half way: a stage done, one going on, one behind a gate; members have windows."""
    groups = {stage: [{"name": stage, "maxConcurrency": "20%"}] for stage in STAGES}
    gate = {"displayName": f"Sign off {foreign}".strip()[:100], "type": "Approval"}
    stages: list[Document] = [
        {"name": "canary", "groups": groups["canary"], "afterStageWaitInSeconds": 3600},
        {"name": "pilot", "groups": groups["pilot"], "afterGates": [gate]},
        {"name": "prod", "groups": groups["prod"]},
    ]
    strategy = {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "UpdateStrategy",
        "metadata": {"name": "rings"},
        "spec": {"strategy": {"stages": stages}},
    }
    upgrade = {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.1"}
    run = {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "UpdateRun",
        "metadata": {"name": "to-1-36"},
        "spec": {"updateStrategyId": "rings", "managedClusterUpdate": {"upgrade": upgrade}},
    }
    given = update_manifests([sample.file("update.json", strategy, run)], (), False)
    made = define_run(sample.records, "to-1-36", given, write=True).run
    sample.records.create(maintenance())
    begun = NOW - timedelta(hours=7)
    members = sample.records.list("FleetMember")
    views = StartConstraints(sample.records, "ControlPlaneOnly", "1.36.1").views(members, begun)
    last = made.status.members[-1].name
    state = skip(start(run_of(made), begun), [SkipTarget(type="Member", name=last)], begun)
    so_far = Plan(
        upgrade=lambda name: timedelta(minutes=30 + len(name) * 2), approval=lambda _gate: timedelta(hours=1), until=NOW
    )
    state = Course(run=state, views=dict(views), now=begun, plan=so_far).play().run
    document = sample.records.get("UpdateRun", "to-1-36")
    assert document is not None
    status = encode(status_of(state, derive(state), made.status))
    for group in (group for stage in status["stages"] for group in stage["groups"]):
        for row in group["members"]:
            row["message"] = f"{row.get('message', '')} {foreign}".strip()
    for gate in status["stages"][1]["afterGates"]:
        gate["by"] = "ana@example.com" if gate["status"]["state"] == "Completed" else ""
    sample.records.replace({**document, "status": status})


def maintenance() -> Document:
    """Windows at night for the members of prod."""
    schedule = {
        "schedule": {"daily": {"intervalDays": 1}},
        "startDate": "2026-01-03",
        "startTime": "22:00",
        "durationHours": 6,
    }
    window = {"name": "kubernetes", "memberSelector": {"byLabel": "stage=prod"}, "maintenanceWindow": schedule}
    metadata = {"name": "nights"}
    return {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "FleetMaintenance",
        "metadata": metadata,
        "spec": {"windows": [window]},
    }


def pools(sample: Sample, foreign: str = "") -> str:
    """Budgets of which one closes working hours, one is for weekends alone, and one never opens."""
    hours = {"nodes": "0", "schedule": "0 7 * * mon-fri", "duration": "11h"}
    return sample.file(
        "pools.json",
        pool("default", [{"nodes": "10%"}, hours, {"nodes": "2", "reasons": ["Drifted"]}], foreign),
        pool("stateful", [{"nodes": "0", "schedule": "0 0 * * mon", "duration": "120h"}, {"nodes": "1"}]),
        pool("frozen", [{"nodes": "0"}]),
    )


def pool(name: str, budgets: list[Document], foreign: str = "") -> Document:
    """A NodePool that an API server would take."""
    node_class = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    disruption = {"consolidateAfter": "30s", "consolidationPolicy": "WhenEmptyOrUnderutilized", "budgets": budgets}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name, "annotations": {"note": foreign}},
        "spec": {"template": {"spec": {"nodeClassRef": node_class, "requirements": []}}, "disruption": disruption},
    }
