# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small kubelet, which is its own scheduler: the command of a container is a process of this machine.

The Secret of a pod lies in a folder; its mount path is replaced by that folder where the command and the files name it.
There is one image that can be pulled, ``IMAGE``; what is in it is this machine.
"""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import subprocess
import sys
import threading
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import SECONDS, write_time
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from conducting import ROOT
from update_fleet import MERGE, Document

IMAGE = "registry.example.com/fleet:1"
NODE = "small"
_TAIL = 2048  # bytes of output that come with a failure, as in the API's description


@dataclass
class PodRunner:
    """Runs pods of one namespace while entered. ``evict`` has what names of pods begin with that are thrown out."""

    client: KubeClient
    folder: Path
    namespace: str
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    evict: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.path = f"/api/v1/namespaces/{self.namespace}"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> PodRunner:
        self.folder.mkdir()
        with contextlib.suppress(ApiError):
            self.client.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()
        for process in self.running.values():
            self._end(process)

    def pods(self) -> list[Document]:
        return list(self.client.get(f"{self.path}/pods")["items"])

    def _work(self) -> None:
        while not self._stop.wait(0.1):
            for pod in self.pods():
                with contextlib.suppress(ApiError):  # gone, or changed meanwhile: looked at again
                    self._look(pod)

    def _look(self, pod: Document) -> None:
        name, phase = pod["metadata"]["name"], (pod.get("status") or {}).get("phase")
        process = self.running.get(name)
        if pod["metadata"].get("deletionTimestamp"):
            if process:
                self._end(self.running.pop(name))
            self.client.delete(f"{self.path}/pods/{name}", {"gracePeriodSeconds": 0})
        elif not pod["spec"].get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
            self.client.post(f"{self.path}/pods/{name}/binding", binding)
        elif process and name.startswith(tuple(self.evict)):
            self._end(self.running.pop(name))
            self._tell(
                name, {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
            )
        elif process is None and phase == "Pending":
            self._start(pod)
        elif process is not None and process.poll() is not None:
            del self.running[name]
            self._ended(pod, process.returncode)

    def _start(self, pod: Document) -> None:
        name, (container,) = pod["metadata"]["name"], pod["spec"]["containers"]
        if container["image"] != IMAGE:
            waiting = {"reason": "ErrImagePull", "message": f"{container['image']}: not found"}
            self._tell(name, {"containerStatuses": [self._container(container, {"waiting": waiting})]})
            self._warn(pod, "Failed", f"Failed to pull image {container['image']}: not found")
            return
        folder = self.folder / name
        scratch = folder / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        (volume,) = [each for each in pod["spec"]["volumes"] if "secret" in each]
        secret = self.client.get(f"{self.path}/secrets/{volume['secret']['secretName']}")
        inputs, at = folder / "inputs", mounts[volume["name"]]
        inputs.mkdir(exist_ok=True)
        for key, value in secret["data"].items():
            (inputs / key).write_bytes(base64.b64decode(value).replace(at.encode(), str(inputs).encode()))
        places = {mounts["scratch"]: str(scratch)}
        environ = {each["name"]: places.get(each["value"], each["value"]) for each in container.get("env", ())}
        with (folder / "log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                [each.replace(at, str(inputs)) for each in container["command"]],
                cwd=places[container["workingDir"]],
                env=_of_the_image() | environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.ran.append(name)
        ready = [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}]
        state = self._container(container, {"running": {}}) | {"ready": True, "started": True}
        self._tell(name, {"phase": "Running", "conditions": ready, "containerStatuses": [state]})

    def _ended(self, pod: Document, code: int) -> None:
        name, (container,) = pod["metadata"]["name"], pod["spec"]["containers"]
        ended = {"exitCode": code if code >= 0 else 128 - code, "reason": "Completed" if code == 0 else "Error"}
        if code and container["terminationMessagePolicy"] == "FallbackToLogsOnError":
            ended["message"] = (self.folder / name / "log").read_bytes()[-_TAIL:].decode("utf-8", "replace")
        state = self._container(container, {"terminated": ended})
        conditions = [{"type": "Ready", "status": "False"}]
        phase = "Succeeded" if code == 0 else "Failed"
        self._tell(name, {"phase": phase, "conditions": conditions, "containerStatuses": [state]})

    def _container(self, container: Document, state: Document) -> Document:
        facts = {"image": container["image"], "imageID": "", "ready": False, "restartCount": 0}
        return {"name": container["name"], "state": state, **facts}

    def _tell(self, name: str, status: Document) -> None:
        self.client.request("PATCH", f"{self.path}/pods/{name}/status", {"status": status}, None, MERGE)

    def _warn(self, pod: Document, reason: str, message: str) -> None:
        metadata = pod["metadata"]
        about = {"kind": "Pod", "namespace": self.namespace, "name": metadata["name"], "uid": metadata["uid"]}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.1"},
            "type": "Warning",
            "involvedObject": about,
            "lastTimestamp": write_time(datetime.now(UTC), SECONDS),
            "reason": reason,
            "message": message,
        }
        with contextlib.suppress(ApiError):
            self.client.post(f"{self.path}/events", event)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


def _of_the_image() -> dict[str, str]:
    """The environment that an image of an execution environment brings."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache" / "collections"),
        "ANSIBLE_NOCOLOR": "true",
        "XDG_CACHE_HOME": cache,
        "LC_ALL": "C.UTF-8",
    }


def as_text(document: t.Any) -> str:
    """All that stands in a document, to look for what must not be in it."""
    if isinstance(document, dict):
        return "\n".join(f"{key}\n{as_text(value)}" for key, value in document.items())
    return "\n".join(map(as_text, document)) if isinstance(document, list) else str(document)
