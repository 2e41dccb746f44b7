# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file with a text as a resource; a text ``wait`` is never written, for a run that is to be killed."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, ReadResult, Resource, ResourceProvider, UpdateResult

Properties = dict[str, t.Any]


class TextFileProvider(ResourceProvider):
    serialize_as_secret_always = False

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        changed = [key for key in ("path", "text") if olds.get(key) != news.get(key)]
        return DiffResult(changes=bool(changed), replaces=[key for key in changed if key == "path"])

    def create(self, props: Properties) -> CreateResult:
        return CreateResult(props["path"], _written(props))

    def update(self, _id: str, _olds: Properties, news: Properties) -> UpdateResult:
        return UpdateResult(_written(news))

    def read(self, id_: str, props: Properties) -> ReadResult:
        path = Path(props["path"])
        if not path.exists():
            return ReadResult("", props)
        return ReadResult(id_, {**props, "text": path.read_text()})

    def delete(self, _id: str, props: Properties) -> None:
        Path(props["path"]).unlink(missing_ok=True)


class TextFile(Resource, module="small", name="TextFile"):
    def __init__(self, name: str, path: str, text: pulumi.Input[str]) -> None:
        super().__init__(TextFileProvider(), name, {"path": path, "text": text})


def _written(props: Properties) -> Properties:
    while props["text"] == "wait":
        time.sleep(0.1)
    Path(props["path"]).write_text(props["text"])
    return {key: props[key] for key in ("path", "text")}
