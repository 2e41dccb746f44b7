# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A manifest checked against the fields of its class, all problems at once (``unknown-field``, ``missing-field``,
``wrong-type``, ``not-one-of``, ``out-of-range``, ``placeholder``)."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..values.canonical import comparable_text
from ..values.field_path import below
from ..values.instants import parse_time
from ..values.int_or_percent import INT64, is_int_or_text
from ..values.listed import number_of
from ..values.parts import type_words
from ..values.quantity import read_quantity
from ..values.selector import LabelSelectorRequirement
from .fields import (
    ANY,
    BOOLEAN,
    COUNT_OR_PERCENT,
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
    fields_by_name,
)
from .finding import Finding
from .hints import did_you_mean, meant_field, most_like
from .meta import ObjectMeta
from .prop import Prop
from .rules import Found
from .translations import english

PLACEHOLDER = "..."
PERCENT = re.compile(r"(100|[0-9]{1,2})%")
# RFC 3339 as the API server reads it (format date-time).
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_WORDS = {
    OBJECT: "an object",
    LIST: "a list",
    MAP: "a map",
    TEXT: "text",
    INTEGER: "a whole number",
    BOOLEAN: "true or false",
    TIME: "an instant",
    COUNT_OR_PERCENT: "a number or a percentage",
    QUANTITY: "a quantity",
}
# Maps of label values, or of what is written like them.
_LABELS = ("labels", "annotations", "matchLabels")
# Kept by every API server in metadata, and no business of ours.
_KEPT_METADATA = {"managedFields", "ownerReferences", "selfLink", "generateName", "deletionGracePeriodSeconds"}
_PLAIN = Prop(doc="")
Written = t.Callable[[str], str | None]  # pylint: disable=unsupported-binary-operation  # Python 3.11 can
_BAD: t.Any = object()


def no_written_text(_path: str) -> str | None:
    """None for every path: for documents whose text nobody has."""
    return None


@dataclass
class Check:
    """Collects what is found; ``strict`` makes problems of repairs.

    ``enums`` are the values that the cluster's own definition lists, by field path (an empty tuple: any), instead of
    those of the class. ``written`` gives the text at a field path where YAML reads another value, else None.
    """

    strict: bool = False
    enums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    written: Written = no_written_text
    problems: list[Found] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def problem(self, code: str, path: str, message: str, hint: str = "", meant: t.Any = None) -> t.Any:
        """Adds a problem (fields of ``Found``); returns the mark of a wrong value within this module."""
        self.problems.append(Found(code, path, message, hint, meant))
        return _BAD

    def repair(self, finding: Finding, hint: str) -> None:
        """Adds what was repaired, or if ``strict`` a problem, with ``hint``, which tells how to write it."""
        if self.strict:
            self.problem(finding.code, finding.old_path, finding.reason, hint)
        else:
            self.findings.append(finding)


def check_object(check: Check, cls: type, document: t.Any, path: str = "", prop: Prop = _PLAIN) -> t.Any:
    """A copy of the document without what cannot be used, so that rules over several fields can still be judged; what
    is wrong is added to ``check``. Left out are unknown fields, null, and what is ``...``, of a wrong type, or no valid
    number, instant or quantity; but where text is wanted it is empty, and a wrong item of a list is ``{}`` or 0, so
    that indexes hold. What breaks another rule stays. Quantities, whole numbers and truth values of labels, and whole
    numbers where ``digits`` are taken become text; 2.0 is 2 as a whole number. No mapping if it was none."""
    if not isinstance(document, Mapping):
        return _wrong_type(check, OBJECT, document, path, prop)
    fields = fields_by_name(cls)
    beside = [key for key in document if key not in fields]
    misspelt = {each for key in beside for each in most_like(str(key), fields)}
    for key in beside:
        if not (cls is ObjectMeta and key in _KEPT_METADATA):
            message = f"there is no field {key!r} here"
            check.problem("unknown-field", below(path, key), message, meant_field(cls, str(key), path))
    out: dict[str, t.Any] = {}
    for each in fields.values():
        value = document.get(each.json)
        if value is not None:
            holds_labels = each.json in _LABELS or cls is LabelSelectorRequirement
            kept = _check_field(check, each, value, below(path, each.json), holds_labels)
            if kept is not _BAD:
                out[each.json] = kept
        elif each.required and each.json not in misspelt:
            hint = f"write {each.prop.form}" if each.prop.form else each.prop.doc
            check.problem("missing-field", below(path, each.json), f"{each.json} is required", hint)
    return out


def _check_field(check: Check, spec: Field, value: t.Any, path: str, labels: bool) -> t.Any:
    """The value as ``_check_value`` keeps it; the length and, if ``unique``, repeats in a list are judged too."""
    kept = _check_value(check, spec.shape, value, path, spec.prop, labels)
    if kept is not _BAD and spec.shape.form in (LIST, MAP):
        if spec.prop.unique:
            _check_unique(check, value, path)
        _check_length(check, spec.prop, len(value), path)
    return kept


def _check_value(check: Check, shape: Shape, value: t.Any, path: str, prop: Prop, labels: bool = False) -> t.Any:
    """What is kept of a value of any shape, as of ``check_object``, or ``_BAD``; ``labels``: of label values."""
    if shape.form == OBJECT:
        return check_object(check, shape.cls, value, path, prop)
    if shape.form == LIST:
        return _check_list(check, shape, value, path, prop, labels)
    if shape.form == MAP:
        return _check_map(check, shape, value, path, prop, labels)
    kept = _check_leaf(check, shape.form, value, path, prop)
    # An empty text is no default, so that no rule takes the wrong value for one that was left out.
    return "" if kept is _BAD and shape.form == TEXT else kept


def _check_list(check: Check, shape: Shape, value: t.Any, path: str, prop: Prop, labels: bool) -> t.Any:
    """The items in their places, wrong ones as an empty text, 0 or ``{}``; ``_BAD`` for what is no list."""
    if not isinstance(value, (list, tuple)):
        return _wrong_type(check, LIST, value, path, prop)
    kept = []
    for index, each in enumerate(value):
        item = _label_value(check, each, f"{path}[{index}]") if labels else each
        kept.append(_check_value(check, shape.inner, item, f"{path}[{index}]", prop))
    # Places are kept: problems name items by their index.
    empty: t.Any = 0 if shape.inner.form == INTEGER else {}
    return [empty if each is _BAD else each for each in kept]


def _check_map(check: Check, shape: Shape, value: t.Any, path: str, prop: Prop, labels: bool) -> t.Any:
    """The entries but wrong ones (a wrong text is empty), null and keys that are no text; ``_BAD`` if it is no map."""
    if not isinstance(value, Mapping):
        return _wrong_type(check, MAP, value, path, prop)
    kept = {}
    for key, each in value.items():
        place = f"{path}[{key}]"
        if not isinstance(key, str):
            check.problem("wrong-type", place, f"the key {key!r} is not text", "write it in quotes")
        elif each is None and labels:
            message = "the value is missing; without it the line would count for nothing"
            check.problem("label-value-missing", place, message, 'write "" if the empty value is meant')
        elif each is not None or shape.inner.form == RAW:
            item = _label_value(check, each, place) if labels else each
            kept[key] = _check_value(check, shape.inner, item, place, prop)
    return {key: each for key, each in kept.items() if each is not _BAD}


def _label_value(check: Check, value: t.Any, path: str) -> t.Any:
    """A whole number or truth value as text, told as a repair; others, a float too (1.10 lost digits), as they are."""
    if not isinstance(value, int):
        return value
    text = check.written(path) or str(value).lower()
    reason = "label values are text, and this one is not in quotes"
    check.repair(Finding("label-value-not-text", path, path, value, text, reason), f'write "{text}"')
    return text


def _check_leaf(check: Check, form: str, value: t.Any, path: str, prop: Prop) -> t.Any:
    """What is kept of a value that is no object, list or map of known form; ``_BAD`` for a wrong one."""
    if form == TEXT:
        return _check_text(check, value, path, prop)
    if form == INTEGER:
        return _check_integer(check, _whole(value), path, prop)
    if form == BOOLEAN and not isinstance(value, bool):
        return _wrong_type(check, form, value, path, prop)
    if form == TIME:
        return _check_time(check, value, path, prop)
    if form == COUNT_OR_PERCENT:
        return _check_count_or_percent(check, _whole(value), path, prop)
    if form == QUANTITY:
        return _check_quantity(check, value, path, prop)
    if form == ANY and value == PLACEHOLDER:
        return _placeholder(check, path, free=True)
    if form == RAW and not isinstance(value, Mapping):
        return _wrong_type(check, OBJECT, value, path, prop)
    return value


def _check_text(check: Check, value: t.Any, path: str, prop: Prop) -> t.Any:
    """The text, even if it breaks a rule, or digits of a number where allowed; ``_BAD`` for ``...`` and others."""
    if prop.digits and isinstance(value, int) and not isinstance(value, bool):
        reason, text = "this is text, and a whole number stands here without quotes", check.written(path) or str(value)
        check.repair(Finding("number-not-text", path, path, value, text, reason), f'write "{text}"')
        value = text
    if not isinstance(value, str):
        return _wrong_type(check, TEXT, value, path, prop)
    enum = check.enums.get(path, prop.enum)
    if value == PLACEHOLDER:
        free = not enum and _has_form(value, prop) and not path.startswith(("metadata.name", "metadata.labels"))
        return _placeholder(check, path, free)
    if enum and value not in enum:
        known = ", ".join(enum)
        hint = english(value, enum) or did_you_mean(value, enum)
        meant = next((each for each in enum if each.lower() == value.strip().lower()), None)
        check.problem("not-one-of", path, f"{value!r:.60} is not one of {known}", hint, meant)
    elif not _length_fits(value, prop):
        low, high, hint = prop.min_length or 0, prop.max_length, f"write {prop.form}" if prop.form else ""
        allowed = f"at least {low} are wanted" if high is None else f"{low} to {high} are allowed"
        check.problem("wrong-length", path, f"{number_of(len(value), 'character')}, {allowed}", hint)
    elif not _has_form(value, prop):
        check.problem(prop.code, path, f"{value!r:.60} is not {prop.form}", meant=_in_hours(value, prop))
    return value


def _in_hours(value: str, prop: Prop) -> str | None:
    """A text in days (``2d``), which no duration of Kubernetes has, in hours; None for other texts and fields."""
    days = re.fullmatch(r"([0-9]{1,6})d", value, re.ASCII)
    hours = f"{int(days[1]) * 24}h" if days else ""
    return hours if hours and prop.code == "invalid-duration" and _has_form(hours, prop) else None


def _length_fits(value: str, prop: Prop) -> bool:
    """Whether the number of characters is within the limits of ``prop``."""
    return (prop.min_length or 0) <= len(value) and (prop.max_length is None or len(value) <= prop.max_length)


def _has_form(value: str, prop: Prop) -> bool:
    """Whether ``matches``, else the pattern if there is one, takes the text. True without either."""
    if prop.matches is not None:
        return bool(prop.matches(value))
    return not prop.pattern or re.fullmatch(prop.pattern, value) is not None


def _whole(value: t.Any) -> t.Any:
    """2.0 as 2, which it is to the API server; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_integer(check: Check, value: t.Any, path: str, prop: Prop) -> t.Any:
    """The number; ``_BAD`` if it is none, or outside the field's limits, by default those of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        return _wrong_type(check, INTEGER, value, path, prop)
    low = INT64[0] if prop.minimum is None else prop.minimum
    high = INT64[-1] if prop.maximum is None else prop.maximum
    if not low <= value <= high:
        return check.problem("out-of-range", path, f"{value} is not between {low} and {high}")
    return value


def _check_time(check: Check, value: t.Any, path: str, prop: Prop) -> t.Any:
    """The text of an instant in RFC 3339 as it is; ``_BAD`` for others."""
    if not isinstance(value, str):
        return _wrong_type(check, TIME, value, path, prop)
    try:
        if _TIME.fullmatch(value):
            parse_time(value)
            return value
    except ValueError:
        pass
    return check.problem("invalid-time", path, f"{value!r} is not an instant", "write it like 2024-05-01T12:00:00Z")


def _check_count_or_percent(check: Check, value: t.Any, path: str, prop: Prop) -> t.Any:
    """A number from ``prop.minimum`` or 0 on, or a percentage of the field's pattern; ``_BAD`` for others."""
    if not is_int_or_text(value):
        return _wrong_type(check, COUNT_OR_PERCENT, value, path, prop)
    low = prop.minimum or 0
    if value < low if isinstance(value, int) else not re.fullmatch(prop.pattern or PERCENT, value):
        message = f"{value!r} is neither a number of at least {low} nor a percentage from {low}% to 100%"
        return check.problem("invalid-count-or-percentage", path, message)
    return value


def _check_quantity(check: Check, value: t.Any, path: str, prop: Prop) -> t.Any:
    """The quantity as text; ``_BAD`` if it is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return _wrong_type(check, QUANTITY, value, path, prop)
    try:
        read_quantity(value)
    except ValueError as error:
        return check.problem("invalid-quantity", path, str(error))
    return str(value)


def _check_unique(check: Check, values: t.Iterable[t.Any], path: str) -> None:
    """Adds a problem at each value that stands before already; values are compared as JSON."""
    seen: set[str] = set()
    for index, each in enumerate(values):
        key = comparable_text(each)
        if key in seen:
            check.problem("duplicate-value", f"{path}[{index}]", f"{each!r:.60} stands here twice", "keep one")
        seen.add(key)


def _check_length(check: Check, prop: Prop, length: int, path: str) -> None:
    """Adds a problem if there are fewer or more items than ``prop`` allows."""
    if prop.min_items is not None and length < prop.min_items:
        check.problem("too-few-items", path, f"at least {prop.min_items} must stand here, not {length}")
    if prop.max_items is not None and length > prop.max_items:
        check.problem("too-many-items", path, f"at most {prop.max_items} may stand here, not {length}")


def _wrong_type(check: Check, form: str, value: t.Any, path: str, prop: Prop) -> t.Any:
    """Adds the problem, with a meant text where one is sure (of ``...``, that of a placeholder); returns ``_BAD``."""
    if value == PLACEHOLDER:
        return _placeholder(check, path)
    # What is raw holds manifests, which may be Secrets.
    message = f"{_WORDS[form]} is wanted here, not {type_words(value) if prop.raw else f'{value!r:.60}'}"
    if form != TEXT or not isinstance(value, (int, float)):
        return check.problem("wrong-type", path, message, prop.doc)
    # A float may have lost digits (1.10), and true may be yes, so that neither is repeated where the text is not known.
    text = check.written(path) or (str(value) if isinstance(value, int) and not isinstance(value, bool) else None)
    hint = "write it in quotes" if text is None else f'write it in quotes: "{text}"'
    return check.problem("wrong-type", path, message, hint, text)


def _placeholder(check: Check, path: str, free: bool = False) -> t.Any:
    """Adds the problem of ``...``; ``free``: where any text would be taken at its word. Returns ``_BAD``."""
    message = "'...' stands for a part that was left out"
    return check.problem("placeholder-text" if free else "placeholder", path, message, "fill it in, or leave it out")
