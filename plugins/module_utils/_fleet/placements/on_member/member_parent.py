# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The parent of a placement's ApplySet on a member, and our namespace with it: written and deleted, but not over what
another run wrote there since (``member-moved``)."""

from __future__ import annotations

import typing as t

from ...._core.errors import FleetError
from ...._core.resources.applyset import MANAGER, ApplySet, parent_manifest, parent_name
from ...._kube.apply import apply_object, delete_object
from ...._kube.client import KubeClient
from ...._kube.documents import checked_object
from ...._kube.errors import ApiError
from ...members.home import removable_home, remove_home, with_home_made
from .observe import PARENTS

T = t.TypeVar("T")


class Parent:
    """The parent as it was seen: its content, None if there was none, and its resourceVersion.

    FleetError ``member-moved`` when one that was seen is not as it was any more: two runs would write over each other.
    One that has come where none was seen is written over, or deleted: the lease on the member keeps runs apart.
    """

    def __init__(self, client: KubeClient, seen: ApplySet | None, version: str) -> None:
        self._client = client
        self._seen = seen
        self._version = version

    def write(self, applyset: ApplySet, permit: t.Callable[[], None]) -> None:
        """Writes the parent, unless its content is there already, and goes on from what the server answered; our
        namespace is made if it is missing. FleetError ``member-moved``, of ``permit``, which is called before, and
        ApiError of the requests."""
        if applyset.same_content(self._seen):
            return
        permit()
        manifest = parent_manifest(applyset)
        if self._version:
            manifest["metadata"]["resourceVersion"] = self._version
        answer = self._unmoved(
            lambda: with_home_made(self._client, lambda: apply_object(self._client, manifest, MANAGER, force=True))
        )
        written = checked_object(answer, f"PATCH {PARENTS}/{manifest['metadata']['name']}", self._client)
        self._seen, self._version = applyset, str(written["metadata"]["resourceVersion"])

    def delete(self, placement: str) -> bool:
        """Deletes the parent, if it is there, and our namespace if nothing else is in it; whether the namespace went
        too. FleetError ``member-moved``, and ApiError of the requests."""
        path = f"{PARENTS}/{parent_name(placement)}"
        self._unmoved(lambda: delete_object(self._client, path, resource_version=self._version))
        namespace = removable_home(self._client, (placement,))
        return namespace is not None and remove_home(self._client, namespace)

    def _unmoved(self, write: t.Callable[[], T]) -> T:
        """What ``write`` gives. FleetError ``member-moved`` where it meets a conflict or nothing; other ApiErrors are
        raised on."""
        try:
            return write()
        except ApiError as error:
            if error.code not in ("conflict", "not-found"):
                raise
        raise FleetError(
            "member-moved",
            "another run has changed what the placement has here since it was looked at",
            self._client.server_name,
            "run again",
        )
