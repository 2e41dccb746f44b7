# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""As much of an API server as records on a hub need, in memory, on a virtual clock; each request that writes is seen.

``tests/records`` shows that the records themselves hold on real ones.
"""

from __future__ import annotations

import copy
import json
import typing as t
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime

from ansible_collections.gitops.fleet.plugins.module_utils._kube.answers import Answer
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection

Document = dict[str, t.Any]
Write = t.Callable[[str, t.Callable[[], Document]], Document]


@dataclass
class MemoryHub:
    """``objects`` are by path."""

    clock: t.Callable[[], datetime]
    objects: dict[str, Document] = field(default_factory=dict)
    version: int = 0

    def copied(self) -> MemoryHub:
        return MemoryHub(self.clock, copy.deepcopy(self.objects), self.version)

    def read(self, path: str) -> Document:
        if path in self.objects:
            return copy.deepcopy(self.objects[path])
        word = path.rpartition("/")[2]
        if word.endswith("s") and path.count("/") in (4, 6):
            items = [copy.deepcopy(each) for at, each in self.objects.items() if at.rpartition("/")[0] == path]
            return {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}
        raise _error("not-found", 404, path)

    def post(self, path: str, body: Document) -> Document:
        at = f"{path}/{body['metadata']['name']}"
        if at in self.objects:
            raise _error("already-exists", 409, at)
        return self._keep(at, {key: value for key, value in body.items() if key != "status"})

    def put(self, path: str, body: Document) -> Document:
        """Of the object, or of its status, which is a resource of its own."""
        at = path.removesuffix("/status")
        stored = self.read(at)
        if body["metadata"].get("resourceVersion") not in (None, stored["metadata"]["resourceVersion"]):
            raise _error("conflict", 409, at)
        if at != path:
            return self._keep(at, stored | {"status": body.get("status")})
        return self._keep(at, {**body, **({"status": stored["status"]} if "status" in stored else {})})

    def _keep(self, at: str, document: Document) -> Document:
        self.version += 1
        before = self.objects.get(at, {})
        metadata = before.get("metadata", {})
        changed = before.get("spec") != document.get("spec")
        own = {
            "resourceVersion": str(self.version),
            "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, at)),
            "generation": metadata.get("generation", 0) + changed,
            "creationTimestamp": metadata.get("creationTimestamp") or f"{self.clock():%Y-%m-%dT%H:%M:%SZ}",
        }
        self.objects[at] = copy.deepcopy(document) | {"metadata": document["metadata"] | own}
        return self.read(at)


class MemoryClient(KubeClient):
    """``write`` is told of each request that changes something, and carries it out."""

    def __init__(self, hub: MemoryHub, write: Write) -> None:
        super().__init__(Connection(server="http://hub"))
        self._hub, self._write = hub, write

    def send(self, method: str, path: str, body: t.Any = None, *_more: t.Any, **_options: t.Any) -> Answer:
        if method == "GET":
            document = {"version": "1.36"} if path == "/version" else self._hub.read(path)
        else:
            change = {"POST": self._hub.post, "PUT": self._hub.put}[method]
            document = self._write(f"{method} {path}", lambda: change(path, json.loads(json.dumps(body))))
        date = format_datetime(self._hub.clock(), usegmt=True)
        return Answer(200, "application/json", json.dumps(document).encode(), date)


def _error(code: str, status: int, path: str) -> ApiError:
    return ApiError(code, f"{path}: {code}", status=status, details={"name": path.rpartition("/")[2]})
