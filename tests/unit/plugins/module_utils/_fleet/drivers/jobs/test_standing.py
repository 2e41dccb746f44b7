# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a Job says of itself, in words; recorded forms of batch/v1 and core/v1 as the controllers write them."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import FAILED, IN_PROGRESS, SUCCEEDED
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.jobs.standing import (
    has_begun,
    is_finished,
    standing,
)

Document = dict[str, t.Any]


def job(*conditions: tuple[str, str, str], **status: t.Any) -> Document:
    found = [{"type": kind, "status": "True", "reason": reason, "message": text} for kind, reason, text in conditions]
    return {"spec": {"activeDeadlineSeconds": 60}, "status": {"conditions": found, **status}}


def pod(state: Document | None = None, *conditions: Document, **status: t.Any) -> Document:
    return {"status": {"containerStatuses": [{"state": state or {}}], "conditions": list(conditions), **status}}


def event(reason: str, message: str) -> Document:
    return {"reason": reason, "message": message}


LOST = job(("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"))
LATE = job(("Failed", "DeadlineExceeded", "Job was active longer than specified deadline"))


def test_an_end_counts_when_it_is_complete():
    assert standing(job(("Complete", "CompletionsReached", ""))).state == SUCCEEDED
    assert standing(job(("SuccessCriteriaMet", "CompletionsReached", ""), ready=0)).state == IN_PROGRESS
    assert standing(job(("FailureTarget", "BackoffLimitExceeded", ""))).state == IN_PROGRESS
    assert is_finished(LOST) and not is_finished(job()) and has_begun(job(ready=1)) and not has_begun(job(active=1))


@pytest.mark.parametrize(
    "found, pods, events, words",
    [
        (LATE, (), (), "ended after 60 s, which is its deadline"),
        (
            LATE,
            (),
            (event("Failed", "no image"), event("DeadlineExceeded", "late")),
            "the last warning: Failed: no image",
        ),
        (LOST, (), (), "its pod was deleted, or lost with its node"),
        (LOST, (pod({"terminated": {"exitCode": 2, "message": "one\ntwo"}}),), (), "exit code 2\n  | one\n  | two"),
        (LOST, (pod({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),), (), "more memory than its limit"),
        (LOST, (pod(reason="Evicted", message="low on memory"),), (), "its pod was evicted: low on memory"),
        (
            LOST,
            (pod({}, {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}),),
            (),
            "taken from its node: PreemptionByScheduler",
        ),
        (LOST, (pod(reason="NodeLost"),), (), "its pod failed: NodeLost"),
        (job(("Failed", "Other", "words")), (), (), "its Job failed: Other: words"),
    ],
)
def test_failures_say_why(found: Document, pods: t.Any, events: t.Any, words: str):
    told = standing(found, pods, events)
    assert told.state == FAILED and words in told.message


@pytest.mark.parametrize(
    "found, pods, events, words",
    [
        (job(), (), (), "its pod is not there yet"),
        (job(), (), (event("FailedCreate", "exceeded quota: small"),), "cannot be made: FailedCreate: exceeded quota"),
        (job(), (pod({"waiting": {"reason": "ImagePullBackOff"}}),), (), "its image cannot be pulled"),
        (job(), (pod({"waiting": {"reason": "CreateContainerConfigError", "message": "root"}}),), (), "Error: root"),
        (job(), (pod({"waiting": {"reason": "ContainerCreating"}}),), (), "its container is being made"),
        (job(), (pod(),), (event("FailedMount", "secret not found"),), "cannot start: FailedMount: secret"),
        (
            job(),
            (pod({}, {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}),),
            (),
            "its pod has no node: 0/3 nodes",
        ),
        (job(("Suspended", "JobSuspended", "")), (), (), "its Job is suspended"),
        (job(ready=1), (), (), "its pod runs"),
    ],
)
def test_what_is_waited_for_is_told(found: Document, pods: t.Any, events: t.Any, words: str):
    told = standing(found, pods, events)
    assert told.state == IN_PROGRESS and words in told.message


def test_foreign_words_steer_nothing():
    """No terminal, and no CI runner; and of long output the end is told."""
    text = "\n".join(["first", *(["xxx"] * 20), "::error::mine\x1b[2J"])
    told = standing(LOST, (pod({"terminated": {"exitCode": 1, "message": text}}),)).message
    assert "\x1b" not in told and "\n::error::" not in told and "first" not in told and ": :error::mine" in told
    assert "\x1b" not in standing(job(), (pod({"waiting": {"reason": "A\x1b[2J", "message": "\x1b"}}),)).message
