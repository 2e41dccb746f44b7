# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""YAML to plain values, with the line of every field, within limits of depth and size (``too-deep``, ``too-big``),
aliases and merged keys too: ``bad-yaml``, ``duplicate-key``, ``bad-key``, ``unknown-tag``; documents written as YAML.

The parser's events are put together here: PyYAML's constructor keeps the last of two equal keys, and neither it nor its
composer bounds what aliases unfold to.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, field

from .._core.errors import FleetError, Problem
from .._core.values.canonical import joined_pairs
from .yaml_scalars import Scalar, number, resolve

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]

MAX_DEPTH = 200
MAX_UNFOLDED = 10_000_000  # characters that aliases may add to a file
# Ten megabytes of manifests have one and a half million values in them, if they are as small as manifests can be.
MAX_VALUES = 2_000_000
_CONTAINER = 16  # characters that take as much memory as a mapping or a list

Lines = dict[int, dict[str | int, int]]  # pylint: disable=unsupported-binary-operation  # Python 3.11 can
"""For each mapping and list, by ``id``: the line of each key or item."""
Texts = dict[int, dict[str | int, str]]  # pylint: disable=unsupported-binary-operation  # Python 3.11 can
"""The same with what is written where YAML reads another value: ``no``, ``010``, ``1e3``."""

_TAG = "tag:yaml.org,2002:"
_TAGS = {f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "merge")} | {
    "!"
}
# What the parsers in C and in Python say of a line that is indented to no block.
_MISALIGNED = ("did not find expected key", "did not find expected '-' indicator", "expected <block end>")
_NO_KEY = object()
_MERGE = object()


@dataclass(frozen=True)
class YamlDocument:
    """``line`` is where it begins, counted from 1."""

    value: t.Any
    line: int
    lines: Lines = field(repr=False)
    texts: Texts = field(repr=False, default_factory=dict)


@dataclass(frozen=True)
class _Anchored:
    """``weight`` in characters; ``height`` in levels."""

    value: t.Any
    weight: int
    height: int


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not come yet."""

    value: t.Any
    line: int
    anchor: str | None
    is_list: bool
    key: t.Any = _NO_KEY
    key_line: int = 0
    lines: dict[str | int, int] = field(default_factory=dict)
    texts: dict[str | int, str] = field(default_factory=dict)
    merged: list[dict[str, t.Any]] = field(default_factory=list)


class _Stop(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def read_yaml(text: str, path: str) -> t.Iterator[YamlDocument | Problem]:
    """The documents of a file as they come, and what is wrong with it (a file with problems is not to be used); an
    empty document has the value None. ``path`` is for messages; where it ends with ``.json`` escaped surrogate pairs
    are read too.

    Problems: ``bad-yaml``, ``duplicate-key``, ``bad-key``, ``unknown-tag``, ``bad-number``, ``too-deep``, ``too-big``;
    after a ``bad-yaml`` or ``too-...`` nothing more comes. FleetError ``missing-library``.
    """
    if yaml is None:
        raise FleetError("missing-library", "the Python library PyYAML is not installed", hint="pip install PyYAML")
    builder = _Builder(path)
    found, steps, parser = builder.found, builder.steps, None
    try:
        parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(joined_pairs(text) if path.endswith(".json") else text)
        while (event := parser.get_event()) is not None:
            step = steps.get(type(event))
            if step is not None:
                step(event)
                if found:
                    yield from found
                    found.clear()
    except _Stop as stop:
        yield from (*found, stop.problem)
    except yaml.YAMLError as error:
        yield from (*found, _syntax(error, text, path))
    finally:
        if parser is not None:
            parser.dispose()


def write_yaml(documents: t.Iterable[t.Mapping[str, t.Any]]) -> str:
    """The documents as one file, each behind ``---``, their fields in the order that they have, all but ASCII escaped.
    FleetError ``missing-library``; TypeError for a value of a type that JSON has not (infinite numbers pass)."""
    if yaml is None:
        raise FleetError("missing-library", "the Python library PyYAML is not installed", hint="pip install PyYAML")
    plain = json.loads(json.dumps(list(documents)))  # without objects that stand in it twice, and so without anchors
    return str(yaml.safe_dump_all(plain, explicit_start=True, sort_keys=False, allow_unicode=False))


class _Builder:
    def __init__(self, path: str) -> None:
        """``path`` is the file, for messages; documents and problems gather in ``found``, ``steps`` are by type of
        event."""
        self.found: list[YamlDocument | Problem] = []
        self._path = path
        self._lines: Lines = {}
        self._texts: Texts = {}
        self._stack: list[_Open] = []
        self._anchors: dict[str, t.Any] = {}
        self._anchored_texts: dict[str, str] = {}
        self._measured: dict[str, _Anchored] = {}
        self._unfolded = 0
        self._values = 0
        self.steps: dict[type, t.Callable[[t.Any], None]] = {
            yaml.DocumentStartEvent: self._start,
            yaml.ScalarEvent: self._add_scalar,
            yaml.AliasEvent: self._add_alias,
            yaml.MappingStartEvent: lambda event: self._begin({}, event, False),
            yaml.SequenceStartEvent: lambda event: self._begin([], event, True),
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
        }

    def _start(self, _event: t.Any) -> None:
        """Forgets the lines, texts and anchors of the document before."""
        self._lines = {}
        self._texts = {}
        self._anchors.clear()
        self._anchored_texts.clear()
        self._measured.clear()

    def _problem(self, code: str, message: str, line: int, hint: str = "") -> Problem:
        """The Problem at a line of the file."""
        return Problem(code, message, f"{self._path}:{line}", hint)

    def _begin(self, value: t.Any, event: t.Any, is_list: bool) -> None:
        """Opens a mapping or list, ``value``, which is empty. _Stop ``too-deep``, ``too-big``."""
        line = event.start_mark.line + 1
        if event.tag is not None:
            self._check_tag(event, line)
        if len(self._stack) >= MAX_DEPTH:
            raise _Stop(self._problem("too-deep", f"nested deeper than {MAX_DEPTH} levels", line))
        if event.anchor:
            self._anchors[event.anchor] = _NO_KEY
        self._stack.append(_Open(value, line, event.anchor, is_list))
        self._count(line)

    def _count(self, line: int) -> None:
        """Counts one value more; _Stop ``too-big`` beyond ``MAX_VALUES`` in the file."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise _Stop(self._problem("too-big", f"this file has more than {MAX_VALUES} values", line, "split it"))

    def _end(self, _event: t.Any) -> None:
        """Closes the mapping or list that was opened last, and puts it into the one around it. What ``<<`` merges in is
        added where the mapping has no such key, of several sources the first."""
        done = self._stack.pop()
        for source in done.merged:
            lines, texts = self._lines[id(source)], self._texts.get(id(source), {})
            for key in [key for key in source if key not in done.value]:
                done.value[key] = source[key]
                done.lines[key] = lines[key]
                if key in texts:
                    done.texts[key] = texts[key]
        self._note_lines(done.value, done.lines, done.texts)
        self._add(done.value, done.line, done.anchor)

    def _note_lines(self, value: t.Any, lines: dict[str | int, int], texts: dict[str | int, str] | None) -> None:
        """Notes the lines and texts of a mapping or list, in place of those of one that is gone and had its ``id``."""
        self._lines[id(value)] = lines
        if texts:
            self._texts[id(value)] = texts
        else:
            self._texts.pop(id(value), None)

    def _add_scalar(self, event: t.Any) -> None:
        """Adds a scalar as a key or value, or notes the key ``<<``, if it is plain. _Stop ``too-big``."""
        line, text = event.start_mark.line + 1, event.value
        self._count(line)
        if event.tag is not None:
            self._check_tag(event, line)
        elif text == "<<" and not event.style and self._wants_key():
            self._stack[-1].key, self._stack[-1].key_line = _MERGE, line
            return
        value = self._value(event, line)
        is_other = value is not None and not isinstance(value, str) and event.value != json.dumps(value)
        if is_other:
            self._keep_text(event.value)
        self._add(value, line, event.anchor)
        if is_other and event.anchor:
            self._anchored_texts[event.anchor] = event.value

    def _keep_text(self, text: str) -> None:
        """The text that is the value of the open key or item; of a key that is there twice the first one's."""
        top = self._stack[-1] if self._stack else None
        if top is None:
            return
        if top.is_list:
            top.texts[len(top.value)] = text
        elif top.key not in (_NO_KEY, _MERGE) and top.key not in top.lines:
            top.texts[top.key] = text

    def _wants_key(self) -> bool:
        """Whether a mapping is open whose next value is a key."""
        return bool(self._stack) and not self._stack[-1].is_list and self._stack[-1].key is _NO_KEY

    def _add_alias(self, event: t.Any) -> None:
        """Adds a copy of what the alias stands for. _Stop ``bad-yaml`` without an anchor before it, ``too-deep`` for
        one that holds itself or unfolds too deep, ``too-big`` for aliases that unfold to too much in all."""
        line = event.start_mark.line + 1
        if event.anchor not in self._anchors:
            raise _Stop(self._problem("bad-yaml", "this alias has no anchor before it", line))
        if self._anchors[event.anchor] is _NO_KEY:
            raise _Stop(self._problem("too-deep", "this alias is part of what it stands for", line))
        if event.anchor not in self._measured:
            self._measured[event.anchor] = _measured(self._anchors[event.anchor])
        meant = self._measured[event.anchor]
        self._unfolded += meant.weight
        if self._unfolded > MAX_UNFOLDED:
            text = f"the aliases of this file unfold to more than {MAX_UNFOLDED} characters"
            raise _Stop(self._problem("too-big", text, line, "write it out, or split it"))
        if len(self._stack) + meant.height > MAX_DEPTH:
            raise _Stop(self._problem("too-deep", f"nested deeper than {MAX_DEPTH} levels", line))
        if event.anchor in self._anchored_texts:
            self._keep_text(self._anchored_texts[event.anchor])
        self._add(self._copy(meant.value), line, None)

    def _copy(self, value: t.Any) -> t.Any:
        """A copy with its lines and texts, so that a change of one alias is not a change of the other."""
        if not isinstance(value, (dict, list)):
            return value
        copied: t.Any
        if isinstance(value, dict):
            copied = {key: self._copy(item) for key, item in value.items()}
        else:
            copied = [self._copy(item) for item in value]
        self._note_lines(copied, self._lines[id(value)], self._texts.get(id(value)))
        return copied

    def _add(self, value: t.Any, line: int, anchor: str | None) -> None:
        """Puts a finished value where it belongs: a document, an item, a key, or the value of the open key."""
        if anchor:
            self._anchors[anchor] = value
            self._measured.pop(anchor, None)
            self._anchored_texts.pop(anchor, None)
        if not self._stack:
            self.found.append(YamlDocument(value, line, self._lines, self._texts))
            return
        top = self._stack[-1]
        if top.is_list:
            top.lines[len(top.value)] = line
            top.value.append(value)
        elif top.key is _NO_KEY:
            top.key, top.key_line = value if isinstance(value, str) else self._key(value, line), line
        else:
            self._set(top, value)

    def _set(self, top: _Open, value: t.Any) -> None:
        """Sets the value of the open key; of a key that is there twice the first stays, with a problem
        ``duplicate-key``."""
        key, top.key = top.key, _NO_KEY
        if key is _MERGE:
            self._merge(top, value)
        elif key in top.lines:
            text = f"the key {key!r} is there twice, first in line {top.lines[key]}"
            self.found.append(self._problem("duplicate-key", text, top.key_line, "keep one of them"))
        else:
            top.value[key] = value
            top.lines[key] = top.key_line

    def _merge(self, top: _Open, value: t.Any) -> None:
        """Notes a mapping, or a list of such, to be merged in at the end of ``top``; else a problem ``bad-key``."""
        sources = value if isinstance(value, list) else [value]
        if all(isinstance(source, dict) for source in sources):
            top.merged.extend(sources)
        else:
            self.found.append(self._problem("bad-key", "what << merges in must be mappings", top.key_line))

    def _key(self, key: t.Any, line: int) -> str:
        """The key as text, a whole number as its digits; for another one a problem ``bad-key`` is added."""
        if isinstance(key, str):
            return key
        if isinstance(key, int) and not isinstance(key, bool):
            return str(key)
        shown = "a mapping or a list" if isinstance(key, (dict, list)) else json.dumps(key)
        text = f"a key must be text, and YAML reads this one as {shown}"
        self.found.append(self._problem("bad-key", text, line, "quote it"))
        return str(key)

    def _value(self, event: t.Any, line: int) -> Scalar:
        """What the scalar means by its tag, quotes and text; a number that JSON cannot hold is a problem
        ``bad-number``."""
        text, tag = str(event.value), event.tag
        if tag in ("!", f"{_TAG}str", f"{_TAG}timestamp") or (tag is None and event.style):
            return text
        try:
            value = number(text) if tag in (f"{_TAG}int", f"{_TAG}float") else resolve(text)
        except ValueError:
            self.found.append(self._problem("bad-number", "JSON has no such number", line, "quote it, or mend it"))
            return text
        return value

    def _check_tag(self, event: t.Any, line: int) -> None:
        """Adds a problem ``unknown-tag`` for a tag that is not of YAML's own scalars and collections; it is not shown,
        for it may be a password that begins with ``!``."""
        if event.tag not in _TAGS:
            message, hint = "this tag means nothing in a Kubernetes manifest", "quote the value if it begins with !"
            self.found.append(self._problem("unknown-tag", message, line, hint))


def _measured(value: t.Any) -> _Anchored:
    """The value with its weight, about the characters in it, and its height in levels, 0 for a scalar."""
    if not isinstance(value, (dict, list)):
        return _Anchored(value, len(str(value)) + 1, 0)
    keys = sum(len(key) + 1 for key in value) if isinstance(value, dict) else 0
    inner = [_measured(each) for each in (value.values() if isinstance(value, dict) else value)]
    height = 1 + max((each.height for each in inner), default=0)
    return _Anchored(value, _CONTAINER + keys + sum(each.weight for each in inner), height)


def _syntax(error: t.Any, text: str, path: str) -> Problem:
    """The Problem ``bad-yaml`` of what the parser says, with its line where it tells one, and of indentation a hint."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    if mark is None:
        return Problem("bad-yaml", f"not YAML: {problem}", path)
    line = text.splitlines()[mark.line : mark.line + 1]
    tabbed = bool(line) and "\t" in line[0][: len(line[0]) - len(line[0].lstrip())]
    hint = "often it is the indentation, of this line or of one above" if problem.startswith(_MISALIGNED) else ""
    return Problem(
        "bad-yaml", f"not YAML: {problem}", f"{path}:{mark.line + 1}", "indent with spaces" if tabbed else hint
    )
