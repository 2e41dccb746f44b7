# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The driver ``role`` by Kubernetes Jobs: the same play as in a process of ours, in a pod of a cluster of the user's
(``job-refused``, ``job-of-another``, ``begun-before``).

The name of a Job follows from its operation, so that whoever begins it again finds it. A pod starts once its Secret is
there, which is made after the Job and owned by it, so that it goes with the Job. What is gone is never begun again; the
member itself tells then.
"""

from __future__ import annotations

import contextlib
import json
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ...._core.errors import FleetError
from ...._core.objects.clusters.fleet_member import FleetMember
from ...._core.objects.selectable import MEMBER
from ...._core.values.parts import rows
from ...._kube.access import version
from ...._kube.client import KubeClient
from ...._kube.documents import unusable_answer
from ...._kube.errors import ApiError
from ...._kube.files import is_there
from ...._local.locks import make_folder, unwritable_as_error
from ...._local.private import write_private
from ...members.carried import carried_kubeconfig
from ...members.members import Clients
from ..contract import FAILED, IN_PROGRESS, NOT_BEGUN, UNKNOWN, Observation, OperationProgress, Work
from ..detached import folder_of
from ..host import BEGUN, folder_number, intent_reference, is_intent, place_words
from ..role import inventory, playbook, variables
from ..unsafe import unsafe
from .manifests import (
    INPUTS,
    OPERATION,
    Document,
    JobSettings,
    inputs_manifest,
    job_manifest,
    job_name,
    member_label,
)
from .standing import check_event, check_job, check_pod, has_begun, has_pods, is_finished, standing

REFERENCE = "kubernetes-job:"
_JOBS, _PODS = "/apis/batch/v1/namespaces/{}/jobs", "/api/v1/namespaces/{}/pods"
_SECRETS, _EVENTS = "/api/v1/namespaces/{}/secrets", "/api/v1/namespaces/{}/events"
_PLAYBOOK, _INVENTORY, _VARS, _EXTRA = "playbook.yml", "inventory.yml", "vars.yml", "extra_vars.yml"
_PYTHON, _KUBECONFIG = "python.yml", "kubeconfig"
# Modules run with the Python of ansible-playbook. The one template here, and no word of it is from outside.
_SAME_PYTHON = 'all: {vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}}\n'
_MOST_EVENTS = 500
_LATER = (429, 503)
# Who answers so for another server does not know what that one has done.
_UNSURE = (502, 504)


@dataclass(frozen=True, kw_only=True)
class RoleJobDriver:
    """``role`` and ``inventories`` are found in the image. ``jobs`` is the cluster of the Jobs; ``operations`` is the
    folder in which this machine notes what it begins. Paths of kubeconfigs of members are read by ``environ``;
    ``extra_vars`` are the user's own, and cannot change ours."""

    clients: Clients
    operations: Path
    environ: t.Mapping[str, str] = field(repr=False)
    jobs: KubeClient
    settings: JobSettings
    role: str
    inventories: tuple[str, ...] = ()
    extra_vars: t.Mapping[str, t.Any] = field(default_factory=dict, repr=False)

    def observe(self, member: str) -> Observation:
        """The member's own ``/version``. FleetError of reaching it."""
        return Observation(version=version(self.clients.get(member)))

    def begin(self, work: Work) -> str:
        """Makes the Job and then its Secret, or what is missing of both, but not for a Job that has ended; a reference
        to the Job. FleetError ``operation-in-progress`` if a Job of another operation is at work on the member,
        ``begun-before`` if the Job was begun here and is gone, ``job-of-another``, ``unwritable-folder``, as of
        ``carried_kubeconfig``, and of the cluster of the Jobs. Where that refuses the Job, or the Secret of one just
        made: ``busy`` for a status 429 or 503, ``job-refused`` for other statuses above 429 but 502 and 504, after
        which it may have been begun, and the server's own error else."""
        job = self._found(work)
        if job is None:
            files = self._files(work)
            job, made_now = self._make_job(work)
            self._hand_over(work, job, files, made_now=made_now)
        elif not is_finished(job):
            self._hand_over(work, job, self._files(work), made_now=False)
        return self._reference(job)

    def poll(self, work: Work) -> OperationProgress:
        """How the Job stands. Where there is none: NOT_BEGUN if this machine would have noted that it began it, else
        UNKNOWN; a Job of its name that others made is UNKNOWN, too. NOT_BEGUN is also one that may lack its Secret, for
        to begin it again hands that over. ApiError of the cluster of the Jobs."""
        try:
            job = self._found(work)
        except FleetError as error:
            if error.code != "job-of-another":
                raise
            return OperationProgress(state=UNKNOWN, message=error.message)
        if job is None:
            return self._not_there(work)
        if work.reference.startswith(REFERENCE) and work.reference != self._reference(job):
            return OperationProgress(state=UNKNOWN, message=f"its Job {self._place(work)} was made again by others")
        if is_intent(work.reference) and not is_finished(job) and not has_begun(job):
            # Whether its Secret is there is not known: to begin it once more finds this Job, and sees to that.
            return OperationProgress(state=NOT_BEGUN, message=f"its Job {self._place(work)} may lack its inputs")
        progress = standing(job)
        if progress.state == FAILED or (progress.state == IN_PROGRESS and not has_begun(job)):
            progress = standing(job, self._pods(job), self._warnings(job))
        words = f"{progress.message} (Job {self._place(work)})" if progress.message else ""
        return OperationProgress(state=progress.state, message=self.jobs.hide(words), reference=self._reference(job))

    def _place(self, work: Work) -> str:
        """``namespace/name`` of the Job."""
        return f"{self.settings.namespace}/{job_name(work.operation)}"

    def _reference(self, job: Document) -> str:
        """What finds this very Job again, by namespace, name and uid."""
        metadata = job["metadata"]
        return f"{REFERENCE}{metadata['namespace']}/{metadata['name']}/{metadata['uid']}"

    def _path(self, template: str, name: str = "") -> str:
        """The path of one object in the namespace of Jobs, or of all without a name."""
        return template.format(self.settings.namespace) + (f"/{name}" if name else "")

    def _found(self, work: Work) -> Document | None:
        """The Job of the operation; None if it is not there. FleetError ``job-of-another`` if there is one of that name
        which was made for something else; ApiError ``bad-answer`` for what is no Job, and of the request."""
        path = self._path(_JOBS, job_name(work.operation))
        try:
            job = self._checked(self.jobs.get(path), f"GET {path}")
        except ApiError as error:
            if error.code != "not-found":
                raise
            return None
        if (job["metadata"].get("annotations") or {}).get(OPERATION) != work.operation:
            message = f"the Job {self._place(work)} was not made for {work.operation}"
            raise FleetError("job-of-another", message, work.member, "see who makes Jobs in that namespace")
        return job

    def _make_job(self, work: Work) -> tuple[Document, bool]:
        """Notes that it is begun here, and makes the Job, or finds that somebody else just did (False). FleetError as
        of ``_refuse_twice`` and ``begin``."""
        self._refuse_twice(work)
        self._note(work)
        try:
            made = self.jobs.post(self._path(_JOBS), job_manifest(work, self.settings, self._command()))
            return self._checked(made, f"POST {self._path(_JOBS)}"), True
        except ApiError as error:
            found = self._found(work) if error.status else None
            if found is None:
                raise error if error.status in _UNSURE else self._refused(work, error) from None
            return found, False

    def _refuse_twice(self, work: Work) -> None:
        """FleetError ``begun-before``, for a Job that this machine has begun and that is gone,
        ``operation-in-progress``, for another one on the member that has not ended, or has pods yet; ApiError of the
        request."""
        if self._was_begun_here(work):
            hint = "look at the member; another attempt, or another run, has another name"
            raise FleetError("begun-before", f"the Job {self._place(work)} was begun, and is gone", work.member, hint)
        query = {"labelSelector": f"{MEMBER}={member_label(work.member)}"}
        for each in self._jobs(query):
            name = each["metadata"]["name"]
            if name != job_name(work.operation) and (has_pods(each) or not is_finished(each)):
                words = f"the Job {self.settings.namespace}/{name} is under way"
                raise FleetError("operation-in-progress", words, work.member)

    def _jobs(self, query: t.Mapping[str, t.Any]) -> list[Document]:
        """The Jobs in the namespace that the query selects. ApiError ``bad-answer`` for what are no Jobs, and of the
        request."""
        path = self._path(_JOBS)
        found = self.jobs.get(path, query)
        try:
            items = rows(found, "items")
        except ValueError as error:
            raise unusable_answer(f"GET {path}", str(error), self.jobs) from None
        return [self._checked(dict(each), f"GET {path}") for each in items]

    def _checked(self, job: Document, request: str) -> Document:
        """The Job itself. ApiError ``bad-answer`` if it is none."""
        try:
            check_job(job)
        except ValueError as error:
            raise unusable_answer(request, str(error), self.jobs) from None
        return job

    def _hand_over(self, work: Work, job: Document, files: t.Mapping[str, str], made_now: bool) -> None:
        """Makes the Secret, unless it is there. A Job whose inputs the server refuses is taken back, by whoever has
        just made it. FleetError as of ``_refused``, or of the request."""
        try:
            self.jobs.post(self._path(_SECRETS), inputs_manifest(job, files))
        except ApiError as error:
            if error.code == "already-exists":
                return
            if made_now and error.status and error.status not in _UNSURE:
                self._take_back(job)
                raise self._refused(work, error) from None
            raise

    def _take_back(self, job: Document) -> None:
        """Deletes this very Job and its pod; if that cannot be, nothing is raised: its deadline ends it."""
        metadata = job["metadata"]
        body = {"propagationPolicy": "Background", "preconditions": {"uid": metadata["uid"]}}
        with contextlib.suppress(FleetError):
            self.jobs.delete(self._path(_JOBS, metadata["name"]), body)

    def _refused(self, work: Work, error: ApiError) -> FleetError:
        """In place of an error of status 429 or higher, to be raised: a server that answered so has made nothing.
        ``busy`` where it does so for the moment, and it counts as not begun here; else ``job-refused``. Others as they
        are; without an answer nobody knows."""
        if error.status in _LATER:
            with contextlib.suppress(OSError):  # it is refused as begun before then
                self._noted(work).unlink(missing_ok=True)
            return FleetError("busy", error.message, error.where, "it is tried again")
        return FleetError("job-refused", error.message, error.where, error.hint) if error.status >= 429 else error

    def _not_there(self, work: Work) -> OperationProgress:
        """Of an operation without a Job: NOT_BEGUN if this machine was to begin it and has not noted that it did, else
        UNKNOWN."""
        place, reference = self._place(work), work.reference
        ours = folder_number(self.operations) and reference == intent_reference(self.operations)
        if ours and not self._was_begun_here(work):
            return OperationProgress(state=NOT_BEGUN, message=f"the Job {place} was not begun")
        where = f"; the operation may have been begun {place_words(reference)}" if place_words(reference) else ""
        return OperationProgress(state=UNKNOWN, message=f"there is no Job {place}, or not any more{where}")

    def _noted(self, work: Work) -> Path:
        """The file that says that this machine has begun it."""
        return self.operations / BEGUN / folder_of(self.operations, work.operation).name

    def _note(self, work: Work) -> None:
        """Notes that this machine begins it. FleetError ``unwritable-folder``."""
        intent_reference(self.operations)
        folder = make_folder(self.operations / BEGUN, 0o700)
        with unwritable_as_error(folder):
            write_private(self._noted(work), b"")

    def _was_begun_here(self, work: Work) -> bool:
        """Whether this machine has noted that it began it."""
        return is_there(self._noted(work))

    def _pods(self, job: Document) -> list[Document]:
        """The pods of the Job, the newest last; none where they cannot be read."""
        query = {"labelSelector": f"batch.kubernetes.io/job-name={job['metadata']['name']}"}
        found = self._listed_or_none(self._path(_PODS), query, check_pod)
        return sorted(found, key=lambda each: str(each["metadata"].get("creationTimestamp")))

    def _warnings(self, job: Document) -> list[Document]:
        """Warnings about the Job, and about objects whose names begin with its name, the newest last, out of 500 in the
        namespace at most; none where they cannot be read."""
        name = job["metadata"]["name"]
        found = self._listed_or_none(
            self._path(_EVENTS), {"fieldSelector": "type=Warning", "limit": _MOST_EVENTS}, check_event
        )
        ours = [each for each in found if str((each.get("involvedObject") or {}).get("name")).startswith(name)]
        return sorted(ours, key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime") or ""))

    def _listed_or_none(
        self, path: str, query: t.Mapping[str, t.Any], check: t.Callable[[Document], None]
    ) -> list[Document]:
        """The objects there; none where they cannot be read, or one is none of the kind. For words alone: an account
        that may not read this still conducts."""
        try:
            found = [dict(each) for each in rows(self.jobs.get(path, query), "items")]
            for each in found:
                check(each)
        except (ApiError, ValueError):
            return []
        return found

    def _command(self) -> tuple[str, ...]:
        """The command of the play in the pod. Of two inventories the later one wins, so ours are first."""
        inventories = [f"{INPUTS}/{_PYTHON}", f"{INPUTS}/{_INVENTORY}", *self.inventories]
        options = [argument for each in inventories for argument in ("-i", each)]
        return (
            "ansible-playbook",
            *options,
            *("-e", f"@{INPUTS}/{_EXTRA}", "-e", f"@{INPUTS}/{_VARS}", f"{INPUTS}/{_PLAYBOOK}"),
        )

    def _files(self, work: Work) -> dict[str, str]:
        """The files of the play by name, with the kubeconfig of the member if it needs one. FleetError as of
        ``carried_kubeconfig``."""
        member = self.clients.members.get(work.member)
        kubeconfig = carried_kubeconfig(member, self.clients.hub, self.environ) if member else None
        documents = {
            _PLAYBOOK: playbook(work, self.role),
            _INVENTORY: inventory(work.member, {}),
            _VARS: _told_of(work, member, kubeconfig),
            _EXTRA: dict(self.extra_vars),
        }
        files = {name: unsafe(document) for name, document in documents.items()} | {_PYTHON: _SAME_PYTHON}
        return files | ({_KUBECONFIG: json.dumps(kubeconfig)} if kubeconfig else {})


def _told_of(work: Work, member: FleetMember | None, kubeconfig: Document | None) -> Document:
    """As a role is told on our machine, but that the kubeconfig is a file beside what it is told."""
    found = variables(work, member, {})
    return found | {
        "cluster_upgrade_kubeconfig": f"{INPUTS}/{_KUBECONFIG}" if kubeconfig else "",
        "cluster_upgrade_context": str(kubeconfig["current-context"]) if kubeconfig else "",
        "cluster_upgrade_secret": {},
    }
