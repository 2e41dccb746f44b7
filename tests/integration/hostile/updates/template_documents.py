# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A template in every text of every kind: the kinds and their fields are walked, nothing is listed here.

The template runs a command that makes the file ``$CANARY``, as soon as anything takes such a text for a template.
"""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KINDS, Kind
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.fields import (
    ANY,
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    OBJECT,
    RAW,
    TEXT,
    TIME,
    Field,
    Shape,
    fields_of,
)

Document = dict[str, t.Any]
PLACEHOLDER = "TEMPLATE"
_DEPTH = 9


# Without a slash, so that it can stand in the name of a file too.
TEMPLATE = "{{ lookup('ansible.builtin.pipe', 'touch $CANARY') }}"


def all_at_once(kind: Kind, text: str, name: str = "") -> Document:
    """A document of the kind in which every text is the template, what has another form excepted."""
    return _identified(kind, _whole(kind.cls, text, _DEPTH), name or "hostile")


def one_by_one(kind: Kind, text: str) -> t.Iterator[Document]:
    """Documents of the kind with one template each, at every place that holds a text, of whatever form."""
    whole = _whole(kind.cls, PLACEHOLDER, _DEPTH, forms=False)
    for path in _texts(whole):
        yield (
            _identified(kind, _only(whole, path, text), "hostile")
            if path[0] != "metadata"
            else _only(_identified(kind, whole, "hostile"), path, text)
        )


def _identified(kind: Kind, document: Document, name: str) -> Document:
    metadata = {**document.get("metadata", {}), "name": name}
    metadata = {key: each for key, each in metadata.items() if key in ("name", "labels", "annotations")}
    if kind.namespaced:
        metadata["namespace"] = "hostile"
    return {**document, "apiVersion": kind.api_versions[0], "kind": kind.kind, "metadata": metadata}


def _whole(cls: type, text: str, depth: int, forms: bool = True) -> Document:
    return {each.json: _value(each, each.shape, text, depth, forms) for each in fields_of(cls)}


def _value(field: Field, shape: Shape, text: str, depth: int, forms: bool) -> t.Any:
    if shape.form == OBJECT:
        return _whole(shape.cls, text, depth - 1, forms) if depth else {}
    if shape.form == LIST:
        return [_value(field, shape.inner, text, depth, forms)] * max(1, field.prop.min_items or 0)
    if shape.form in (MAP, RAW):
        inner = text if shape.form == RAW else _value(field, shape.inner, text, depth, forms)
        return {text if shape.form == RAW else "key": inner}
    if shape.form == TEXT:
        return _text(field, text) if forms else text
    return {INTEGER: field.prop.minimum or 1, BOOLEAN: False, TIME: "2026-01-01T00:00:00Z", ANY: text}.get(
        shape.form, 1
    )


def _text(field: Field, text: str) -> str:
    """Of several words one that is allowed; the template where any text is."""
    return field.prop.enum[0] if field.prop.enum else text


def _texts(value: t.Any, path: tuple[t.Any, ...] = ()) -> t.Iterator[tuple[t.Any, ...]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value[:1]):
            yield from _texts(each, (*path, index))
    elif value == PLACEHOLDER:
        yield path


def _only(value: t.Any, path: tuple[t.Any, ...], text: str) -> t.Any:
    """What leads to that text, with the text; everything beside it is a harmless word."""
    if isinstance(value, dict):
        return {
            key: _only(each, path[1:], text) if path[:1] == (key,) else _harmless(each) for key, each in value.items()
        }
    if isinstance(value, list):
        return [
            _only(each, path[1:], text) if path[:1] == (index,) else _harmless(each) for index, each in enumerate(value)
        ]
    return text if not path else _harmless(value)


def _harmless(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {("key" if key == PLACEHOLDER else key): _harmless(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_harmless(each) for each in value]
    return "a" if value == PLACEHOLDER else value


def documents(text: str = TEMPLATE) -> list[Document]:
    """Of every kind: one with the text at all places, and one for each place."""
    return [each for kind in KINDS for each in (all_at_once(kind, text), *one_by_one(kind, text))]
