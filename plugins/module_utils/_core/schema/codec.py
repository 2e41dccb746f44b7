# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Manifests to frozen dataclasses and back, and the defaults that an API server fills in. What people write is checked
first, by ``checking``."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache

from ..values.instants import parse_time, write_time
from .fields import (
    ANY,
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    OBJECT,
    QUANTITY,
    RAW,
    TEXT,
    TIME,
    Field,
    Shape,
    fields_of,
    is_empty,
)
from .meta import EMPTY

T = t.TypeVar("T")
# A value of a document as objects have it, or the other way round; who reads raises ValueError as of ``decode``.
Convert = Callable[[t.Any], t.Any]
_ABSENT = object()
# Nearly every object is a dict, and asking an abstract class costs ten times as much.
_OBJECTS = (dict, Mapping)


def decode(cls: type[T], document: t.Any) -> T:
    """The object of the dataclass ``cls`` that a manifest, or a part of one, describes.

    Unknown fields are ignored, ``null`` is absent (but not as an item of a list), defaults are filled in, and required
    fields that are missing are empty or None. Where text is wanted, numbers and truth values become text; a boolean is
    true for true and ``"true"`` only; whole numbers are read as ``int`` does; instants become aware UTC, None if
    unreadable; other leaves are shared with the document. ValueError for another structure (an object where a list or a
    text is wanted), and for a whole number that cannot be read.
    """
    kind: type = cls
    return t.cast(T, _decoder(kind)(document))


def encode(obj: t.Any) -> dict[str, t.Any]:
    """The manifest of an object as an API server with our CRDs stores it, defaults written out. Left out are None,
    zeros that are defaults, and of fields that are not required empty ones (but not of any value) and objects that come
    out empty (unless they may be None). Parts of any form are shared with the object."""
    out: dict[str, t.Any] = {}
    kind: type = type(obj)
    for attr, json, always, zero, write in _writers(kind):
        value = getattr(obj, attr)
        # Nearly every value says something; only of the others it matters why.
        if not value and (value is None or (not always and (is_empty(value) or (zero and value == 0)))):
            continue
        written = value if write is None else write(value)
        if written is not _ABSENT:
            out[json] = written
    return out


def with_defaults(cls: type, document: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What an API server stores for a manifest that ``check_object`` has returned: a copy with the defaults of the
    class where a field is absent, in its parts too. A field that was left out as wrong gets its default as well. An
    absent object without a default is not made for the defaults in it."""
    out = dict(document)
    for field in fields_of(cls):
        if field.json not in out:
            default = default_of(field)
            if default is not None:
                out[field.json] = default
        else:
            out[field.json] = _completed(field.shape, out[field.json])
    return out


def default_of(field: Field) -> t.Any:
    """What an API server fills in for a field that is absent; None if nothing, as for required fields, empty defaults,
    the whole number 0, ``apiVersion`` and ``kind``."""
    if field.required or is_empty(field.default) or field.json in ("apiVersion", "kind"):
        return None
    if field.shape.form == INTEGER and field.default == 0:
        return None
    write = _writer(field.shape)
    written = field.default if write is None else write(field.default)
    return None if is_empty(written) or written == {} else written


def _completed(shape: Shape, value: t.Any) -> t.Any:
    """A copy of the value with the defaults in the objects of known class in it; a value of another shape as it is."""
    if shape.form == OBJECT and isinstance(value, Mapping):
        return with_defaults(shape.cls, value)
    if shape.form == LIST and isinstance(value, (list, tuple)):
        return [_completed(shape.inner, each) for each in value]
    if shape.form == MAP and isinstance(value, Mapping):
        return {key: _completed(shape.inner, each) for key, each in value.items()}
    return value


@cache
def _decoder(cls: type) -> Convert:
    """A function that makes objects of the class as of ``decode``."""
    steps = tuple((field.json, field.attr, _reader(field.shape)) for field in fields_of(cls))
    missing = {field.attr: _empty_value(field) for field in fields_of(cls) if field.required}

    def build(document: t.Any) -> t.Any:
        """The object of the class; ValueError if the document is no mapping or a part of it cannot be read."""
        if not isinstance(document, _OBJECTS):
            raise ValueError(f"an object is wanted for {cls.__name__}, not {document!r:.60}")
        given = dict(missing)
        of = document.get
        for json, attr, convert in steps:
            value = of(json)
            if value is not None:
                given[attr] = convert(value)
        return cls(**given)

    return build


def _reader(shape: Shape) -> Convert:
    """A function that reads one value of this shape; it raises ValueError as of ``decode``."""
    if shape.form == OBJECT:
        return _decoder(shape.cls)
    if shape.form == LIST:
        return _list_reader(_reader(shape.inner))
    if shape.form == MAP:
        return _map_reader(_reader(shape.inner))
    return _LEAF_READERS.get(shape.form, _as_is)


def _list_reader(convert: Convert) -> Convert:
    """A function that reads the items of a list or tuple into a tuple, null as any other item, which most shapes
    refuse; ValueError for anything else."""

    def read(value: t.Any) -> tuple[t.Any, ...]:
        """The items as a tuple; ValueError for what is no list or tuple, or for an item."""
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"a list is wanted, not {value!r:.60}")
        return tuple([convert(each) for each in value])

    return read


def _map_reader(convert: Convert) -> Convert:
    """A function that reads the values of a mapping into a dict, keys as text and null left out; ValueError for
    others."""

    def read(value: t.Any) -> Mapping[str, t.Any]:
        """The entries as a dict; ValueError for what is no mapping, or for a value."""
        if not isinstance(value, _OBJECTS):
            raise ValueError(f"a map is wanted, not {value!r:.60}")
        return {str(key): convert(each) for key, each in value.items() if each is not None}

    return read


def _text(value: t.Any) -> str:
    """A text as it is, a number as Python writes it, ``true`` or ``false``; ValueError for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    raise ValueError(f"text is wanted, not {value!r:.60}")


def _is_true(value: t.Any) -> bool:
    """Whether the value is true or the text ``true``; False for anything else."""
    return value is True or value == "true"


def _integer(value: t.Any) -> int:
    """The whole number of a number or text, as ``int`` reads it (2.7 is 2, true is 1); ValueError for anything else."""
    try:
        return int(value)
    except (TypeError, OverflowError) as error:  # JSON readers take Infinity for a number
        raise ValueError(f"a whole number is wanted, not {value!r:.60}") from error


def _time(value: t.Any) -> datetime | None:
    """The instant as aware UTC; None for what cannot be read as one."""
    try:
        return parse_time(value)
    except (ValueError, TypeError):
        return None


def _as_is(value: t.Any) -> t.Any:
    return value


_LEAF_READERS: dict[str, Convert] = {TEXT: _text, QUANTITY: _text, INTEGER: _integer, BOOLEAN: _is_true, TIME: _time}


def _empty_value(field: Field) -> t.Any:
    """What a required field holds that is missing all the same: an empty value of its shape, or None where there is
    none."""
    if field.shape.form == OBJECT:
        return _decoder(field.shape.cls)({})
    return {LIST: (), MAP: EMPTY, TEXT: "", INTEGER: 0, BOOLEAN: False, RAW: EMPTY}.get(field.shape.form)


_Writer = tuple[str, str, bool, bool, "Convert | None"]


@cache
def _writers(cls: type) -> tuple[_Writer, ...]:
    """Of each field in order: attribute, name in manifests, whether it is written even if empty, whether a 0 is left
    out, and how it is written (None: as it is)."""
    return tuple(
        (
            field.attr,
            field.json,
            field.required or field.shape.form == ANY,
            field.default == 0 and field.shape.form == INTEGER,
            _field_writer(field),
        )
        for field in fields_of(cls)
    )


def _field_writer(field: Field) -> Convert | None:
    """How a field is written; None where its value is written as it is. Objects that come out empty are left out,
    unless the field is required or may be None."""
    if field.shape.form == OBJECT and not field.optional and not field.required:
        return _encode_unless_empty
    return _writer(field.shape)


def _writer(shape: Shape) -> Convert | None:
    """A function that makes of such a value what stands in a manifest; None where the value is written as it is."""
    if shape.form == OBJECT:
        return encode
    if shape.form == TIME:
        return write_time
    if shape.form in (LIST, MAP):
        return _items_writer(shape)
    return None


def _items_writer(shape: Shape) -> Convert:
    """A function that writes the items of a tuple as a list, or the entries of a mapping as a dict."""
    write = _writer(shape.inner)
    if shape.form == LIST:
        return list if write is None else lambda values: [write(each) for each in values]
    return dict if write is None else lambda values: {key: write(each) for key, each in values.items()}


def _encode_unless_empty(obj: t.Any) -> t.Any:
    """The manifest of the object, or ``_ABSENT`` if that is empty."""
    return encode(obj) or _ABSENT
