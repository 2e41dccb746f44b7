# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Label selectors (``metav1.LabelSelector`` of k8s.io/apimachinery): read, checked and matched; what is wrong with keys
and values of labels."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)

Labels = Mapping[str, str]
# Whether these labels are selected; it raises nothing.
Matcher = Callable[[Labels], bool]

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
# Names in the domain name system, as RFC 1123 has them: what stands between two dots, and all of it.
DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
_DNS_SUBDOMAIN = re.compile(DNS_SUBDOMAIN)


@dataclass(frozen=True)
class LabelSelectorRequirement:
    """One expression; ``operator`` is to be In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class LabelSelector:
    """All of ``match_labels`` and ``match_expressions`` must hold; an empty selector matches everything, None in its
    place nothing."""

    match_labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    def as_dict(self) -> dict[str, t.Any]:
        """The form in a manifest, in new dicts and lists; empty parts are left out."""
        out: dict[str, t.Any] = {}
        if self.match_labels:
            out["matchLabels"] = dict(self.match_labels)
        if self.match_expressions:
            out["matchExpressions"] = [
                {"key": one.key, "operator": one.operator} | ({"values": list(one.values)} if one.values else {})
                for one in self.match_expressions
            ]
        return out


def label_selector(manifest: Mapping[str, t.Any]) -> LabelSelector:
    """The selector of a manifest whose types are right, a missing key or operator being an empty text;
    ``check_selector`` judges what it says."""
    return LabelSelector(
        match_labels=dict(manifest.get("matchLabels") or {}),
        match_expressions=tuple(
            LabelSelectorRequirement(one.get("key", ""), one.get("operator", ""), tuple(one.get("values") or ()))
            for one in manifest.get("matchExpressions") or ()
        ),
    )


def check_selector(selector: LabelSelector) -> list[tuple[str, str]]:
    """All problems of a label selector (keys, operators, values) as (path below it, message), those of matchLabels
    first; empty if it can be used."""
    problems: list[tuple[str, str]] = []
    for key, value in selector.match_labels.items():
        path = f"matchLabels[{key}]"
        problems += [(path, message) for message in (label_key_problem(key), label_value_problem(value)) if message]
    for index, one in enumerate(selector.match_expressions):
        problems += [(f"matchExpressions[{index}].{path}", message) for path, message in _check_requirement(one)]
    return problems


def selector_problem(selector: LabelSelector | None) -> str:
    """All problems of a label selector as one text; empty where it can be used, and for None."""
    problems = check_selector(selector) if selector else ()
    return "; ".join(f"{path}: {message}" for path, message in problems)


def label_key_problem(key: str) -> str | None:
    """Why ``key`` is no label key (an optional lower-case DNS prefix of at most 253 characters and a slash, then a name
    of 1 to 63), in words, or None."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= 253 and _DNS_SUBDOMAIN.fullmatch(prefix)):
        return f"{key!r} is not a label key: the part before the last '/' is not a lower-case DNS name"
    if not (len(name) <= 63 and _NAME.fullmatch(name)):
        return (
            f"{key!r} is not a label key: its name has 1 to 63 letters, digits, '-', '_' or '.', "
            "and starts and ends with a letter or digit"
        )
    return None


def label_value_problem(value: str) -> str | None:
    """Why ``value`` is no label value (at most 63 characters), in words; None if it is one, as an empty text is."""
    if value and not (len(value) <= 63 and _NAME.fullmatch(value)):
        return (
            f"{value!r} is not a label value: it is empty, or has at most 63 letters, digits, '-', '_' or '.', "
            "and starts and ends with a letter or digit"
        )
    return None


def compile_selector(selector: LabelSelector | None) -> Matcher:
    """A function that tells whether labels match; no selector (None) matches nothing. ValueError if it is invalid."""
    if selector is None:
        return _nothing
    problem = selector_problem(selector)
    if problem:
        raise ValueError(problem)
    return lambda labels: matches(selector, labels)


def matches(selector: LabelSelector | None, labels: Labels) -> bool:
    """Whether a valid selector matches the labels; None matches nothing, an empty one everything, as in apimachinery.
    An absent key satisfies NotIn and DoesNotExist."""
    if selector is None:
        return False
    return all(key in labels and labels[key] == value for key, value in selector.match_labels.items()) and all(
        _holds(one, labels) for one in selector.match_expressions
    )


def _check_requirement(one: LabelSelectorRequirement) -> list[tuple[str, str]]:
    """All problems of one expression as (path below it, message): key, operator or number of values, each value."""
    problems = []
    message = label_key_problem(one.key)
    if message:
        problems.append(("key", message))
    if one.operator not in OPERATORS:
        problems.append(("operator", f"{one.operator!r} is not one of {', '.join(OPERATORS)}"))
    elif one.operator in (IN, NOT_IN) and not one.values:
        problems.append(("values", f"{one.operator} needs at least one value"))
    elif one.operator in (EXISTS, DOES_NOT_EXIST) and one.values:
        problems.append(("values", f"{one.operator} takes no values"))
    for index, value in enumerate(one.values):
        message = label_value_problem(value)
        if message:
            problems.append((f"values[{index}]", message))
    return problems


def _holds(one: LabelSelectorRequirement, labels: Labels) -> bool:
    """Whether a valid expression holds for the labels; an absent key satisfies NotIn and DoesNotExist."""
    if one.operator == IN:
        return one.key in labels and labels[one.key] in one.values
    if one.operator == NOT_IN:
        return one.key not in labels or labels[one.key] not in one.values
    return (one.key in labels) == (one.operator == EXISTS)


def _nothing(_labels: Labels) -> bool:
    """False for any labels."""
    return False
