# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Names of cluster properties and requirements on them (KubeFleet property-based scheduling and its webhook)."""

from __future__ import annotations

import difflib
import re
import typing as t
import unicodedata

from ...schema.finding import Finding
from ...schema.rules import Found
from ...values.quantity import Quantity, parse_quantity
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
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
# Some providers' names have several parts after the domain, such as vm-sizes/<size>/count.
_NAME = re.compile(rf"({_SUBDOMAIN}/)?{_PART}(/{_PART})*")
_RESOURCE = re.compile(rf"({_SUBDOMAIN}/)?[a-z0-9]([-a-z0-9_.]*[a-z0-9])?")


def check_property_name(name: str, path: str) -> t.Iterator[Found]:
    """What is wrong with the name of a property at ``path``, with one that is like it where there is one."""
    if not name.isascii():
        yield Found(
            "unknown-property", path, f"{name!r} is not a property name: it has letters beyond ASCII", _like(name)
        )
    elif name.startswith(RESOURCE_PREFIX):
        yield from _check_resource(name, path)
    elif not _NAME.fullmatch(name):
        yield Found("invalid-property-name", path, f"{name!r} is not a property name such as {KNOWN[0]}")


def alias_finding(name: str, path: str) -> Finding | None:
    """The warning if ``name`` is an older one of a property; None if it is not."""
    if name not in ALIASES:
        return None
    return Finding("property-alias", path, path, name, name, f"{name} is an older name of {ALIASES[name]}")


def check_requirements(requirements: t.Sequence[PropertyRequirement], path: str) -> t.Iterator[Found]:
    """One term's requirements, which must all hold: each by itself, then those on the same property together."""
    held: dict[str, list[tuple[str, Quantity]]] = {}
    for index, one in enumerate(requirements):
        place = f"{path}[{index}]"
        found = list(_check_requirement(one, place))
        yield from found
        if found or not one.values:
            continue
        together = held.setdefault(ALIASES.get(one.name, one.name), [])
        together.append((one.operator, parse_quantity(one.values[0])))
        if not can_hold(together):
            together.pop()
            before = ", ".join(f"{operator} {value}" for operator, value in together)
            message = f"{one.name} {one.operator} {one.values[0]} can never hold together with {before}"
            yield Found("contradictory-requirements", place, message)


def can_hold(conditions: t.Sequence[tuple[str, Quantity]]) -> bool:
    """Whether any value satisfies all of the (operator, quantity), as if between any two values there were another."""
    low = max((each for operator, each in conditions if operator in ("Gt", "Ge", "Eq")), default=None)
    high = min((each for operator, each in conditions if operator in ("Lt", "Le", "Eq")), default=None)
    if low is None or high is None or low < high:
        return True
    return low == high and all(operator in ("Ge", "Le", "Eq") or (each != low) for operator, each in conditions)


def _check_requirement(one: PropertyRequirement, path: str) -> t.Iterator[Found]:
    yield from check_property_name(one.name, f"{path}.name")
    if one.operator not in OPERATORS:
        near = difflib.get_close_matches(one.operator.capitalize(), OPERATORS, 1)
        hint = f"did you mean {near[0]}?" if near else ""
        yield Found(
            "unknown-operator", f"{path}.operator", f"{one.operator!r} is not one of {', '.join(OPERATORS)}", hint
        )
    if not one.values:
        yield Found("value-missing", f"{path}.values", "exactly one value is wanted")
    for index, value in enumerate(one.values):
        try:
            parse_quantity(value)
        except ValueError as error:
            yield Found("invalid-value", f"{path}.values[{index}]", str(error))


def _check_resource(name: str, path: str) -> t.Iterator[Found]:
    capacity, dash, resource = name.removeprefix(RESOURCE_PREFIX).partition("-")
    if capacity not in CAPACITIES or not dash:
        form = f"{RESOURCE_PREFIX}<{', '.join(CAPACITIES)}>-<resource>"
        near = difflib.get_close_matches(capacity, CAPACITIES, 1)
        hint = f"did you mean {RESOURCE_PREFIX}{near[0]}-{resource}?" if near and dash else ""
        yield Found("unknown-capacity", path, f"{name!r} is not of the form {form}", hint)
    elif resource != resource.lower():
        hint = f"write {RESOURCE_PREFIX}{capacity}-{resource.lower()}"
        yield Found("resource-upper-case", path, f"resource names are in lower case, not {resource!r}", hint)
    elif not _RESOURCE.fullmatch(resource):
        yield Found("invalid-property-name", path, f"{resource!r} is not the name of a resource such as cpu")


def _like(name: str) -> str:
    """The known name that shares most words with a translated one."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = set(re.split(r"[^a-z0-9]+", plain))

    def likeness(known: str) -> tuple[int, float]:
        common = words & set(re.split(r"[^a-z0-9]+", known))
        return len(common), difflib.SequenceMatcher(None, plain, known).ratio()

    best = max(KNOWN, key=likeness)
    return f"did you mean {best}?" if likeness(best)[1] >= 0.5 else ""
