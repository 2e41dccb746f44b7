# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How a Job stands, in words: by its conditions (batch/v1), and by its pod and events where these do not say why
(evicted, no node, an image that cannot be pulled, its deadline); what is no Job, Pod or event.

What a cluster says is foreign: each text of it is cleaned here.
"""

from __future__ import annotations

import typing as t

from ...._core.foreign import in_line, in_lines
from ...._core.values.parts import Part, mapping, name, number, rows, text, texts
from ..contract import FAILED, IN_PROGRESS, SUCCEEDED, OperationProgress

Document = t.Mapping[str, t.Any]
_TAIL = 8
_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
# What a Job says of its own end, which its conditions say too.
_ENDS = ("DeadlineExceeded", "BackoffLimitExceeded")
_BEING_MADE = ("ContainerCreating", "PodInitializing", "")


def check_job(job: Part) -> None:
    """ValueError for what is no Job of an API server, as all here and the driver rely on it."""
    metadata, status = mapping(job, "metadata"), mapping(job, "status")
    for key in ("name", "namespace", "uid"):
        name(metadata, key)
    texts(metadata, "annotations")
    for key in ("ready", "succeeded", "failed"):
        number(status, key)
    _check_conditions(status)
    number(mapping(job, "spec"), "activeDeadlineSeconds")


def check_pod(pod: Part) -> None:
    """ValueError for what is no Pod, as far as this file and the driver rely on it."""
    status = mapping(pod, "status")
    text(mapping(pod, "metadata"), "creationTimestamp")
    _check_conditions(status)
    for each in rows(status, "containerStatuses"):
        for kind in ("waiting", "terminated"):
            number(mapping(mapping(each, "state"), kind), "exitCode")


def check_event(event: Part) -> None:
    """ValueError if ``involvedObject`` is no map or its name no text; reason and message may be anything."""
    text(mapping(event, "involvedObject"), "name")


def _check_conditions(status: Part) -> None:
    """ValueError for conditions that are no list of such, as far as they are read here."""
    for each in rows(status, "conditions"):
        for key in ("type", "status", "reason", "message"):
            text(each, key)


def condition(document: Document, kind: str) -> Document:
    """The condition of that type if its ``status`` is True, else an empty mapping; of a checked Job or Pod."""
    found = (document.get("status") or {}).get("conditions") or ()
    return next((each for each in found if each.get("type") == kind and each.get("status") == "True"), {})


def is_finished(job: Document) -> bool:
    """Whether the Job is complete or has failed: nothing of it will begin; a pod may still be being ended where the API
    server is older than Kubernetes 1.31."""
    return bool(condition(job, "Complete") or condition(job, "Failed"))


def has_pods(job: Document) -> bool:
    """Whether pods of it are counted that have not ended, those that are being ended among them."""
    status = job.get("status") or {}
    return bool(status.get("active") or status.get("terminating"))


def has_begun(job: Document) -> bool:
    """Whether its pod is known to have begun, ended or not; where it is False it may have."""
    status = job.get("status") or {}
    return bool(status.get("ready") or status.get("succeeded") or status.get("failed"))


def standing(job: Document, pods: t.Sequence[Document] = (), events: t.Sequence[Document] = ()) -> OperationProgress:
    """IN_PROGRESS with what it waits for, SUCCEEDED, or FAILED with why; ``pods`` are oldest first, ``events`` warnings
    about the Job and its pods. All must have passed ``check_job``, ``check_pod`` and ``check_event``."""
    if condition(job, "Complete"):
        return OperationProgress(state=SUCCEEDED)
    failed = condition(job, "Failed")
    if failed:
        return OperationProgress(state=FAILED, message=_why(job, failed, pods, events))
    return OperationProgress(state=IN_PROGRESS, message=_waits_for(job, pods, events))


def _why(job: Document, failed: Document, pods: t.Sequence[Document], events: t.Sequence[Document]) -> str:
    """Why the Job has failed: its deadline, its newest pod, or what the Job says. Pods and events come oldest first."""
    reason = failed.get("reason") or ""
    if reason == "DeadlineExceeded":
        seconds = (job.get("spec") or {}).get("activeDeadlineSeconds")
        words = f"its Job was ended after {seconds} s, which is its deadline"
        last = next((_said(each) for each in reversed(events) if each.get("reason") not in _ENDS), "")
        return f"{words}; the last warning: {last}" if last else words
    if reason in ("BackoffLimitExceeded", "PodFailurePolicy"):
        return _pod_failure(pods[-1]) if pods else "its pod was deleted, or lost with its node, before it had ended"
    return f"its Job failed: {_clean(reason)}: {_clean(failed.get('message'))}"


def _pod_failure(pod: Document) -> str:
    """Why the pod has failed: evicted, taken from its node, or its exit code with its last 8 lines."""
    status = pod.get("status") or {}
    disrupted = condition(pod, "DisruptionTarget")
    if status.get("reason") == "Evicted":
        return f"its pod was evicted: {_clean(status.get('message'))}"
    if disrupted:
        return f"its pod was taken from its node: {_clean(disrupted.get('reason'))}: {_clean(disrupted.get('message'))}"
    ended = next((state for state in _states(pod, "terminated") if state.get("exitCode")), {})
    if not ended:
        return f"its pod failed: {_clean(status.get('reason'))}: {_clean(status.get('message'))}"
    words = f"ended with exit code {ended['exitCode']}"
    if ended.get("reason") == "OOMKilled":
        words = "ended, for it needed more memory than its limit"
    lines = str(ended.get("message") or "").strip().splitlines()[-_TAIL:]
    return in_lines("\n".join([words, *lines]))


def _waits_for(job: Document, pods: t.Sequence[Document], events: t.Sequence[Document]) -> str:
    """What the Job waits for, or that its newest pod runs. Pods and events come oldest first."""
    if condition(job, "Suspended"):
        return "its Job is suspended"
    if has_begun(job):
        return "its pod runs"
    if not pods:
        refused = [each for each in events if each.get("reason") == "FailedCreate"]
        return f"its pod cannot be made: {_said(refused[-1])}" if refused else "its pod is not there yet"
    pod = pods[-1]
    conditions = (pod.get("status") or {}).get("conditions") or ()
    held = next((each for each in conditions if each.get("reason") == "Unschedulable"), None)
    if held:
        return f"its pod has no node: {_clean(held.get('message'))}"
    waiting = next((state for state in _states(pod, "waiting")), {})
    reason = str(waiting.get("reason") or "")
    if reason in _IMAGE:
        return f"its image cannot be pulled: {_clean(reason)}: {_clean(waiting.get('message'))}"
    if reason not in _BEING_MADE:
        return f"its container cannot start: {_clean(reason)}: {_clean(waiting.get('message'))}"
    unmade = [each for each in events if each.get("reason") in ("FailedMount", "FailedCreatePodSandBox")]
    return f"its container cannot start: {_said(unmade[-1])}" if unmade else "its container is being made"


def _states(pod: Document, kind: str) -> t.Iterator[Document]:
    """The states of its containers that are of that kind, ``waiting`` or ``terminated``."""
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        found = (each.get("state") or {}).get(kind)
        if found:
            yield found


def _said(event: Document) -> str:
    """Reason and message of the event."""
    return f"{_clean(event.get('reason'))}: {_clean(event.get('message'))}"


def _clean(text: t.Any) -> str:
    """The text as a part of a line; ``nothing is said`` for an empty one."""
    return in_line(str(text or "nothing is said"))
