# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules for placements on cluster properties: names, malformed (``invalid-property-name``, ``unknown-capacity``),
unknown or older ones (``property-alias``), and requirements, contradictory ones too (``contradictory-requirements``;
KubeFleet property-based scheduling and its webhook)."""

from __future__ import annotations

import difflib
import re
import typing as t
import unicodedata
from dataclasses import dataclass, field

from ...schema.finding import Finding
from ...schema.hints import LONGEST_WORD
from ...schema.rules import Found
from ...values.listed import listed
from ...values.quantity import Quantity, parse_quantity
from ...values.selector import DNS_SUBDOMAIN
from .policy import PropertyRequirement

RESOURCE_PREFIX = "resources.kubernetes-fleet.io/"
CAPACITIES = ("total", "allocatable", "available")
OPERATORS = ("Gt", "Ge", "Eq", "Ne", "Lt", "Le")
# Both names mean one fact; older documents use the first.
ALIASES = {"kubernetes.azure.com/node-count": "kubernetes-fleet.io/node-count"}
KNOWN = (
    "kubernetes-fleet.io/node-count",
    "kubernetes.azure.com/per-cpu-core-cost",
    "kubernetes.azure.com/per-gb-memory-cost",
    *(f"{RESOURCE_PREFIX}{capacity}-{resource}" for capacity in CAPACITIES for resource in ("cpu", "memory")),
)

_PART = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
# Some providers' names have several parts after the domain, such as vm-sizes/<size>/count.
_NAME = re.compile(rf"({DNS_SUBDOMAIN}/)?{_PART}(/{_PART})*")
_RESOURCE = re.compile(rf"({DNS_SUBDOMAIN}/)?[a-z0-9]([-a-z0-9_.]*[a-z0-9])?")


def check_property_name(name: str, path: str) -> t.Iterator[Found]:
    """What is wrong with the name of a property at ``path``, one problem at most: ``unknown-property`` for letters
    beyond ASCII, ``invalid-property-name``, or of a resource ``unknown-capacity`` and ``resource-upper-case``; the hint
    is the name that may be meant, if one is found. A well-formed name may be unknown."""
    if not name.isascii():
        yield Found(
            "unknown-property", path, f"{name!r} is not a property name: it has letters beyond ASCII", _like(name)
        )
    elif name.startswith(RESOURCE_PREFIX):
        yield from _check_resource(name, path)
    elif not _NAME.fullmatch(name):
        yield Found("invalid-property-name", path, f"{name!r} is not a property name such as {KNOWN[0]}")


def alias_finding(name: str, path: str) -> Finding | None:
    """The finding ``property-alias``, a warning, at ``path`` if ``name`` is an older one of a property; None if it is
    not."""
    if name not in ALIASES:
        return None
    return Finding("property-alias", path, path, name, name, f"{name} is an older name of {ALIASES[name]}")


def check_property_requirements(requirements: t.Sequence[PropertyRequirement], path: str) -> t.Iterator[Found]:
    """What is wrong with one term's requirements, a list at ``path``, which must all hold: each by itself
    (``unknown-operator``, ``value-missing``, ``invalid-value``, and those of ``check_property_name``), then together
    with those before it on the same property, by an older name too (``contradictory-requirements``). Values are
    compared as quantities."""
    held: dict[str, _Left] = {}
    for index, one in enumerate(requirements):
        place = f"{path}[{index}]"
        found = list(_check_requirement(one, place))
        yield from found
        if found or not one.values:
            continue
        left = held.setdefault(ALIASES.get(one.name, one.name), _Left())
        if not left.takes(one.operator, parse_quantity(one.values[0])):
            before = listed(left.conditions)
            message = f"{one.name} {one.operator} {one.values[0]} can never hold together with {before}"
            yield Found("contradictory-requirements", place, message)


@dataclass
class _Left:
    """What the ``conditions`` on a property leave of its values: from ``low`` to ``high``, but for single ones."""

    low: Quantity | None = None
    high: Quantity | None = None
    without: set[Quantity] = field(default_factory=set)
    conditions: list[str] = field(default_factory=list)

    def takes(self, operator: str, value: Quantity) -> bool:
        """Whether some value is left with one more condition; only then does it count from here on."""
        low, high = self.low, self.high
        if operator in ("Gt", "Ge", "Eq"):
            low = value if low is None else max(low, value)
        if operator in ("Lt", "Le", "Eq"):
            high = value if high is None else min(high, value)
        strict = operator in ("Gt", "Lt", "Ne")
        if low is not None and high is not None:
            taken = low in self.without or (strict and value == low)
            if low > high or (low == high and taken):
                return False
        self.low, self.high = low, high
        if strict:
            self.without.add(value)
        self.conditions.append(f"{operator} {value}")
        return True


def _check_requirement(one: PropertyRequirement, path: str) -> t.Iterator[Found]:
    """What is wrong with one requirement: its name, ``unknown-operator``, ``value-missing``, and ``invalid-value`` for
    each value that is no quantity."""
    yield from check_property_name(one.name, f"{path}.name")
    if one.operator not in OPERATORS:
        near = difflib.get_close_matches(one.operator[:LONGEST_WORD].capitalize(), OPERATORS, 1)
        hint = f"did you mean {near[0]}?" if near else ""
        message = f"{one.operator!r:.60} is not one of {', '.join(OPERATORS)}"
        yield Found("unknown-operator", f"{path}.operator", message, hint)
    if not one.values:
        yield Found("value-missing", f"{path}.values", "exactly one value is wanted")
    for index, value in enumerate(one.values):
        try:
            parse_quantity(value)
        except ValueError as error:
            yield Found("invalid-value", f"{path}.values[{index}]", str(error))


def _check_resource(name: str, path: str) -> t.Iterator[Found]:
    """At most one problem of the name of a resource property: ``unknown-capacity``, ``resource-upper-case`` or
    ``invalid-property-name``."""
    capacity, dash, resource = name.removeprefix(RESOURCE_PREFIX).partition("-")
    if capacity not in CAPACITIES or not dash:
        form = f"{RESOURCE_PREFIX}<{', '.join(CAPACITIES)}>-<resource>"
        near = difflib.get_close_matches(capacity[:LONGEST_WORD], CAPACITIES, 1)
        hint = f"did you mean {RESOURCE_PREFIX}{near[0]}-{resource}?" if near and dash else ""
        yield Found("unknown-capacity", path, f"{name!r} is not of the form {form}", hint)
    elif resource != resource.lower():
        hint = f"write {RESOURCE_PREFIX}{capacity}-{resource.lower()}"
        yield Found("resource-upper-case", path, f"resource names are in lower case, not {resource!r}", hint)
    elif not _RESOURCE.fullmatch(resource):
        yield Found("invalid-property-name", path, f"{resource!r} is not the name of a resource such as cpu")


def _like(name: str) -> str:
    """A hint with the known name that shares most words with a translated one, and of these is the most alike; empty if
    it is less than half alike."""
    plain = unicodedata.normalize("NFKD", name[:LONGEST_WORD]).encode("ascii", "ignore").decode().lower()
    words = set(re.split(r"[^a-z0-9]+", plain))

    def likeness(known: str) -> tuple[int, float]:
        """How many words a known name has in common with it, and how alike they are as texts, 0 to 1."""
        common = words & set(re.split(r"[^a-z0-9]+", known))
        return len(common), difflib.SequenceMatcher(None, plain, known).ratio()

    best = max(KNOWN, key=likeness)
    return f"did you mean {best}?" if likeness(best)[1] >= 0.5 else ""
