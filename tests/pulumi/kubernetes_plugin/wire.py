# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes over the wire between engine and plugin, as values of Python and back."""

from __future__ import annotations

import typing as t

from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.rpc import UNKNOWN

Document = dict[str, t.Any]


def values(struct: Struct) -> Document:
    """Whole numbers are whole: protobuf's structures have floats only, and API servers refuse 2.0 for 2."""
    return t.cast(Document, _whole(MessageToDict(struct)))


def struct(document: Document) -> Struct:
    made = Struct()
    made.update(document)
    return made


def unknown(value: t.Any) -> bool:
    """Whether something in it is known only after something else is made."""
    if isinstance(value, dict):
        return any(map(unknown, value.values()))
    if isinstance(value, list):
        return any(map(unknown, value))
    return value == UNKNOWN


def changed(old: t.Any, new: t.Any, path: str = "") -> list[str]:
    """The paths at which two values differ, with dots; lists as a whole."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return [] if old == new else [path]
    keys = sorted({*old, *new})
    return [each for key in keys for each in changed(old.get(key), new.get(key), f"{path}.{key}" if path else key)]


def _whole(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
