# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded objects as our dataclasses, unchecked: recordings hold on purpose what a schema refuses."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from datetime import datetime
from functools import cache

from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import LabelSelector, label_selector

_hints = cache(t.get_type_hints)


def read(kind: t.Any, raw: t.Any) -> t.Any:
    """``raw`` as ``kind``, a dataclass of ``_core/objects`` or the type of a field of one; lacking parts are None."""
    if raw is None or kind in (str, int, bool):
        return raw
    if kind is LabelSelector:
        return label_selector(raw)
    if kind is datetime:
        return datetime.fromisoformat(raw)
    if dataclasses.is_dataclass(kind):
        return _object(kind, raw)
    inner = [each for each in t.get_args(kind) if each not in (type(None), ...)]
    if isinstance(raw, list):
        return tuple(read(_plain(inner[0]), each) for each in raw)
    if len(inner) == 1:
        return read(inner[0], raw)
    return {key: read(inner[1], value) for key, value in raw.items()}


def _object(kind: t.Any, raw: dict[str, t.Any]) -> t.Any:
    fields = dataclasses.fields(kind)
    lacking = {each.name: None for each in fields if each.default is dataclasses.MISSING}
    names = {each.metadata["prop"].json or camel(each.name): each.name for each in fields}
    known = {name: _hints(kind)[name] for name in names.values()}
    given = {names[key]: read(known[names[key]], value) for key, value in raw.items() if key in names}
    return kind(**lacking | given)


def _plain(kind: t.Any) -> t.Any:
    """The element type behind the annotation of a list, where ``list | None`` stands one level deeper."""
    return t.get_args(kind)[0] if t.get_origin(kind) is tuple else kind


def camel(name: str) -> str:
    """``a_b`` and ``a-b`` as ``aB``."""
    return re.sub("[_-](.)", lambda found: found[1].upper(), name)
