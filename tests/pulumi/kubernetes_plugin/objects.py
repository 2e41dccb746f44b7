# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects in a cluster as the stand-in plugin handles them: by server-side apply, in previews by dry run."""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object, delete_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.discovery import resource_for
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import object_path

Document = dict[str, t.Any]
MANAGER = "pulumi-kubernetes"
# What tells one object from another: a change of these is another object.
IDENTITY = ("apiVersion", "kind", "metadata.name", "metadata.namespace")
_SECONDS = 600.0


@dataclass(frozen=True)
class Objects:
    """Of one cluster. ``upsert`` takes over what is there; without it that is an error, as since plugin 4.29."""

    client: KubeClient
    upsert: bool = False

    def create(self, document: Document, preview: bool) -> Document:
        """The object made; in a preview as it would be, or as asked where its namespace or kind is not there yet."""
        if not self.upsert and self.live(document) is not None:
            raise FleetError("already-exists", f"{named(document)} is there already", self.client.server_name)
        if preview:
            try:
                return apply_object(self.client, document, MANAGER, dry_run=True)
            except FleetError as error:
                if _not_yet(error):
                    return document
                raise
        made = self._applied(document)
        return self._established(document, made) if document["kind"] == "CustomResourceDefinition" else made

    def update(self, document: Document, preview: bool) -> Document:
        return apply_object(self.client, document, MANAGER, dry_run=preview)

    def live(self, document: Document) -> Document | None:
        """The object as it is; None without it or its kind."""
        try:
            return self.client.get(self._path(document))
        except FleetError as error:
            if _not_yet(error):
                return None
            raise

    def drifted(self, document: Document, live: Document) -> bool:
        """Whether applying ``document`` again would change what is there; asked of the server."""
        try:
            again = apply_object(self.client, document, MANAGER, dry_run=True)
        except ApiError as error:
            if error.code in ("conflict", "invalid"):
                return True
            raise
        return _content(again) != _content(live)

    def replaced(self, document: Document) -> bool:
        """Whether the server refuses the change because a field is immutable."""
        try:
            apply_object(self.client, document, MANAGER, dry_run=True)
        except ApiError as error:
            return error.code == "invalid" and ("immutable" in error.message or "cannot change" in error.message)
        except FleetError:
            return False
        return False

    def delete(self, document: Document) -> None:
        """Gone when this returns."""
        try:
            path = self._path(document)
        except FleetError as error:
            if _not_yet(error):
                return
            raise
        delete_object(self.client, path, propagation="Background")
        end = time.monotonic() + _SECONDS
        while self.live(document) is not None:
            if time.monotonic() > end:
                raise FleetError("timeout", f"{named(document)} is not gone after {_SECONDS:.0f} s")
            time.sleep(0.2)

    def _applied(self, document: Document) -> Document:
        """A kind that was defined a moment ago may not be served yet."""
        end = time.monotonic() + _SECONDS
        while True:
            try:
                return apply_object(self.client, document, MANAGER)
            except FleetError as error:
                if not _unknown_kind(error) or time.monotonic() > end:
                    raise
            time.sleep(0.2)

    def _established(self, document: Document, made: Document) -> Document:
        end = time.monotonic() + _SECONDS
        while True:
            conditions = (made.get("status") or {}).get("conditions") or []
            if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
                return made
            if time.monotonic() > end:
                raise FleetError("timeout", f"{named(document)} is not established after {_SECONDS:.0f} s")
            time.sleep(0.1)
            made = self.client.get(self._path(document))

    def _path(self, document: Document) -> str:
        return object_path(resource_for(self.client, document["apiVersion"], document["kind"]), document)


def named(document: Document) -> str:
    metadata = document["metadata"]
    return f"{document['kind']} {'/'.join(filter(None, (metadata.get('namespace'), metadata['name'])))}"


def identity(document: Document) -> str:
    """The id of the resource, as the official plugin writes it."""
    metadata = document["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))


def shaped(live: t.Any, asked: t.Any) -> t.Any:
    """Of ``live`` what ``asked`` speaks of: the inputs that would have made it."""
    if isinstance(live, dict) and isinstance(asked, dict):
        return {key: shaped(live[key], value) for key, value in asked.items() if key in live}
    return live


def _content(document: Document) -> Document:
    """Without what a server writes on its own at every change."""
    metadata = {
        key: value
        for key, value in document["metadata"].items()
        if key not in ("managedFields", "resourceVersion", "generation")
    }
    return {**document, "metadata": metadata}


def _unknown_kind(error: FleetError) -> bool:
    """Not defined, or defined a moment ago and not served yet: then there is no name of an object in the answer."""
    unserved = isinstance(error, ApiError) and error.code == "not-found" and not error.details.get("name")
    return error.code == "unknown-kind" or unserved


def _not_yet(error: FleetError) -> bool:
    return error.code == "not-found" or _unknown_kind(error)
