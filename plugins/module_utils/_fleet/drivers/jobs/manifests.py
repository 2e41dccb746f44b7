# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The Job of one operation, its settings (``deadline``, ``keep``), its name and the label of its member, and the Secret
that its pod reads: nothing that must not be seen stands in the Job."""

from __future__ import annotations

import hashlib
import re
import typing as t
from dataclasses import dataclass, field

from ...._core.objects.selectable import MANAGED, MEMBER
from ..contract import Work

OPERATION, RUN = "gitops.fleet/operation", "gitops.fleet/run"
INPUTS, SCRATCH = "/run/gitops-fleet/operation", "/tmp"
CONTAINER = "upgrade"
_LONGEST_LABEL = 63
_READABLE = 30
Document = dict[str, t.Any]


@dataclass(frozen=True, kw_only=True)
class JobSettings:
    """How Jobs are made: ``image`` and ``resources`` (requests, limits) are those of the container; ``deadline`` is
    seconds for the whole Job, ``keep`` seconds until it is removed after its end. Without ``service_account`` the pod
    has the default one of its namespace, and no token of it."""

    image: str
    namespace: str
    service_account: str = ""
    deadline: int = 7200
    keep: int = 86400
    resources: t.Mapping[str, t.Any] = field(default_factory=dict)


def job_name(operation: str) -> str:
    """The name of the Job of that operation, and of its Secret: the same for every conductor, and fit to be a label."""
    readable = re.sub(r"[^a-z0-9]+", "-", operation.lower())[:_READABLE].strip("-")
    return "-".join(filter(None, ("fleet", readable, hashlib.sha256(operation.encode()).hexdigest()[:20])))


def member_label(member: str) -> str:
    """What Jobs of the member are found by: its name, or a digest of one that is too long for a label."""
    return member if len(member) <= _LONGEST_LABEL else hashlib.sha256(member.encode()).hexdigest()[:40]


def job_manifest(work: Work, settings: JobSettings, command: t.Sequence[str]) -> Document:
    """The Job that runs ``command``: one pod that is tried once, under the profile ``restricted`` of the Pod Security
    Standards, and that waits until there is a Secret of the Job's name (``inputs_manifest``)."""
    labels = {**MANAGED, MEMBER: member_label(work.member)}
    annotations = {OPERATION: work.operation, RUN: work.run, MEMBER: work.member}
    pod: Document = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": bool(settings.service_account),
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(settings, command)],
        "volumes": [
            # The pod starts when its Secret is there, which is made after the Job that owns it.
            {"name": "inputs", "secret": {"secretName": job_name(work.operation), "defaultMode": 0o444}},
            {"name": "scratch", "emptyDir": {}},
        ],
    }
    if settings.service_account:
        pod["serviceAccountName"] = settings.service_account
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(work.operation),
            "namespace": settings.namespace,
            "labels": labels,
            "annotations": annotations,
        },
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 0,
            "activeDeadlineSeconds": settings.deadline,
            "ttlSecondsAfterFinished": settings.keep,
            "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
        },
    }


def inputs_manifest(job: t.Mapping[str, t.Any], files: t.Mapping[str, str]) -> Document:
    """The Secret, immutable, with these files by name, owned by the Job as it is on the server: it goes when the Job
    goes. KeyError for a Job that has no ``uid`` yet."""
    metadata = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": dict(metadata.get("labels") or {}),
            "ownerReferences": [owner],
        },
        "type": "Opaque",
        "immutable": True,
        "stringData": dict(files),
    }


def _container(settings: JobSettings, command: t.Sequence[str]) -> Document:
    """The one container of the pod, which writes to its scratch folder alone."""
    return {
        "name": CONTAINER,
        "image": settings.image,
        "command": list(command),
        "workingDir": SCRATCH,
        "env": [{"name": "HOME", "value": SCRATCH}],
        "resources": dict(settings.resources),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        # The end of what a role wrote comes with its failure, so that nobody needs the right to read logs.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "inputs", "mountPath": INPUTS, "readOnly": True},
            {"name": "scratch", "mountPath": SCRATCH},
        ],
    }
