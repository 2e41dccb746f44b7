# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for Pulumi's Kubernetes plugin in tests: the provider protocol for every type ``kubernetes:...``.

The official one cannot be had where this project is tested. What a program depends on is as there: an object that is
there already is an error unless ``upsertExistingObjects``; ``clusterIdentifier`` alone replaces a provider; a
definition is ready when it is established; a cluster that does not answer fails, unless ``skipUpdateUnreachable``. A
difference is one of inputs; what others changed is found by ``refresh``. Charts, YAML files and waiting for workloads
are not here, and said to be so.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / ".cache" / "collections"), str(Path(__file__).parent)]

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError  # noqa: E402
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient  # noqa: E402
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import (  # noqa: E402
    connection_from_kubeconfig,
)
from objects import IDENTITY, Document, Objects, identity, shaped  # noqa: E402
from wire import changed, struct, unknown, values  # noqa: E402

VERSION = "4.32.0"
_MOST = 400 * 1024 * 1024
_UNREACHABLE = ("unreachable", "timeout", "server-error", "kubeconfig-missing", "kubeconfig-invalid")
_NOT_HERE = ("kubernetes:helm.sh/", "kubernetes:yaml", "kubernetes:kustomize")
Call = t.Callable[..., t.Any]


def told(call: Call) -> Call:
    """A refusal is one sentence, and no traceback."""

    @functools.wraps(call)
    def wrapped(self: Plugin, request: t.Any, context: grpc.ServicerContext) -> t.Any:
        try:
            return call(self, request, context)
        except FleetError as error:
            context.abort(grpc.StatusCode.INTERNAL, str(error))

    return wrapped


class Plugin(provider_pb2_grpc.ResourceProviderServicer):
    """One cluster, as long as its provider says; names of methods are the protocol's."""

    def __init__(self) -> None:
        self.settings: Document = {}

    @functools.cached_property
    def objects(self) -> Objects:
        path = str(self.settings.get("kubeconfig", ""))
        connection = connection_from_kubeconfig(path, str(self.settings.get("context", "")))
        return Objects(KubeClient(connection), upsert=bool(self.settings.get("upsertExistingObjects")))

    def GetPluginInfo(self, _request: t.Any, _context: t.Any) -> t.Any:
        return plugin_pb2.PluginInfo(version=VERSION)

    def CheckConfig(self, request: t.Any, _context: t.Any) -> t.Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: t.Any, _context: t.Any) -> t.Any:
        olds, news = values(request.old_inputs) or values(request.olds), values(request.news)
        return _difference(changed(olds, news), lambda path: path == "clusterIdentifier")

    def Configure(self, request: t.Any, _context: t.Any) -> t.Any:
        texts = values(request.args)
        self.settings = {key: _setting(value) for key, value in texts.items()}
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    def Check(self, request: t.Any, _context: t.Any) -> t.Any:
        news, failures = values(request.news), []
        if request.type.startswith(_NOT_HERE):
            failures.append(("", f"{request.type} is not among what the stand-in for the plugin knows"))
        elif not (news.get("metadata") or {}).get("name"):
            failures.append(("metadata.name", "the stand-in for the plugin gives no names"))
        return provider_pb2.CheckResponse(
            inputs=request.news,
            failures=[provider_pb2.CheckFailure(property=name, reason=reason) for name, reason in failures],
        )

    @told
    def Diff(self, request: t.Any, _context: t.Any) -> t.Any:
        olds, news = values(request.old_inputs), values(request.news)
        paths = changed(olds, news)
        other = bool(paths) and not unknown(news) and not set(paths) & set(IDENTITY) and self._replaced(news)
        return _difference(paths, lambda path: other or path in IDENTITY)

    @told
    def Create(self, request: t.Any, _context: t.Any) -> t.Any:
        document = values(request.properties)
        if request.preview and unknown(document):
            return provider_pb2.CreateResponse(properties=request.properties)
        made = self.objects.create(document, request.preview)
        return provider_pb2.CreateResponse(
            id="" if request.preview else identity(document), properties=struct(_told(made))
        )

    @told
    def Update(self, request: t.Any, context: t.Any) -> t.Any:
        document = values(request.news)
        if request.preview and unknown(document):
            return provider_pb2.UpdateResponse(properties=request.news)
        try:
            made = self.objects.update(document, request.preview)
        except FleetError as error:
            if self._skipped(error):
                return provider_pb2.UpdateResponse(properties=request.olds)
            raise
        return provider_pb2.UpdateResponse(properties=struct(_told(made)))

    @told
    def Read(self, request: t.Any, _context: t.Any) -> t.Any:
        asked = values(request.inputs) or values(request.properties)
        try:
            live = self.objects.live(asked)
            drifted = live is not None and self.objects.drifted(asked, live)
        except FleetError as error:
            if self._skipped(error):
                return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)
            raise
        if live is None:
            return provider_pb2.ReadResponse(id="")
        inputs = struct(shaped(live, asked)) if drifted else request.inputs
        return provider_pb2.ReadResponse(id=request.id, properties=struct(_told(live)), inputs=inputs)

    @told
    def Delete(self, request: t.Any, _context: t.Any) -> t.Any:
        self.objects.delete(values(request.old_inputs) or values(request.properties))
        return Empty()

    def Cancel(self, _request: t.Any, _context: t.Any) -> t.Any:
        return Empty()

    def _replaced(self, news: Document) -> bool:
        try:
            return self.objects.replaced(news)
        except FleetError as error:
            if error.code in _UNREACHABLE:
                return False
            raise

    def _skipped(self, error: FleetError) -> bool:
        return error.code in _UNREACHABLE and bool(self.settings.get("skipUpdateUnreachable"))


def _difference(paths: t.Sequence[str], replacing: t.Callable[[str], bool]) -> t.Any:
    roots = sorted({path.partition(".")[0] for path in paths})
    replaces = sorted({path.partition(".")[0] for path in paths if replacing(path)})
    some = provider_pb2.DiffResponse.DIFF_SOME if paths else provider_pb2.DiffResponse.DIFF_NONE
    return provider_pb2.DiffResponse(changes=some, diffs=roots, replaces=replaces, deleteBeforeReplace=bool(replaces))


def _setting(value: t.Any) -> t.Any:
    """A provider's settings that are no texts come as JSON in a text."""
    if value in ("true", "false"):
        return json.loads(value)
    return value


def _told(document: Document) -> Document:
    """Without the owners of fields, which change with every writer."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    return {**document, "metadata": metadata}


def main() -> None:
    """Serves until the engine that started it is gone; the port is told on standard output."""
    parent = os.getppid()
    sizes = [("grpc.max_receive_message_length", _MOST), ("grpc.max_send_message_length", _MOST)]
    server = grpc.server(ThreadPoolExecutor(max_workers=8), options=sizes)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Plugin(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    while os.getppid() == parent:
        time.sleep(0.5)


if __name__ == "__main__":
    main()
