# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What values labels may have: demands (In, NotIn, Exists, Gt, Lt and so on) read from selectors and labels, narrowed,
intersected and compared; old names of labels (Karpenter, ``pkg/scheduling``).

A demand is a set of values or the complement of one, within bounds for whole numbers.
"""

from __future__ import annotations

import re
import typing as t

from ...values.node_selector import GT, LT, NodeSelectorRequirement
from ...values.selector import DOES_NOT_EXIST, EXISTS, IN, NOT_IN

GTE, LTE = "Gte", "Lte"
NEGATIVE = (NOT_IN, DOES_NOT_EXIST)
NOTHING: frozenset[str] = frozenset()
# Names that older objects use for the same labels.
ALIASES = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
# Labels about which a pod may ask although a pool does not speak of them; those that a catalogue describes come on top.
WELL_KNOWN = frozenset(
    {
        "karpenter.sh/nodepool",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "karpenter.sh/capacity-type",
        "node.kubernetes.io/windows-build",
    }
)
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_LARGEST = 2**63 - 1


class LabelRequirement:
    """One demand on one label, not to be changed. ``complement``: all values but these. ``gte`` and ``lte`` are bounds
    that may be reached. ``min_values`` is how many different values are asked for."""

    __slots__ = ("complement", "gte", "identity", "key", "lte", "min_values", "values")

    def __init__(
        self,
        key: str,
        values: frozenset[str] = NOTHING,
        complement: bool = False,
        gte: int | None = None,
        lte: int | None = None,
        min_values: int | None = None,
    ) -> None:
        self.key, self.values, self.complement = key, values, complement
        self.gte, self.lte, self.min_values = gte, lte, min_values
        self.identity = (key, values, complement, gte, lte, min_values)

    @property
    def operator(self) -> str:
        """In, NotIn, Exists or DoesNotExist; bounds are not told by it."""
        if self.complement:
            return NOT_IN if self.values else EXISTS
        return IN if self.values else DOES_NOT_EXIST

    @property
    def single(self) -> str | None:
        """The only value that there is left; None where there are several, none, or all but some."""
        return next(iter(self.values)) if len(self.values) == 1 and not self.complement else None

    def has(self, value: str) -> bool:
        """Whether the value meets the demand; within bounds only a whole number does."""
        return (value in self.values) != self.complement and _within(value, self.gte, self.lte)

    def intersection(self, other: LabelRequirement) -> LabelRequirement:
        """The demand that is met by just those values of the label that meet both, with the larger ``min_values``; it
        is on the label of this one."""
        gte, lte = _larger(self.gte, other.gte), _smaller(self.lte, other.lte)
        fewest = _larger(self.min_values, other.min_values)
        if gte is not None and lte is not None and gte > lte:
            return LabelRequirement(self.key, min_values=fewest)
        if self.complement and other.complement:
            values = self.values | other.values
        elif self.complement:
            values = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        if gte is not None or lte is not None:
            values = frozenset(each for each in values if _within(each, gte, lte))
        if not (self.complement and other.complement):
            return LabelRequirement(self.key, values, min_values=fewest)
        return LabelRequirement(self.key, values, True, gte, lte, fewest)

    def has_common_value(self, other: LabelRequirement) -> bool:
        """Whether some value of this label meets both demands; of two complements only the bounds are asked."""
        gte, lte = _larger(self.gte, other.gte), _smaller(self.lte, other.lte)
        if gte is not None and lte is not None and gte > lte:
            return False
        if self.complement and other.complement:
            return True
        if self.complement:
            return any(each not in self.values and _within(each, gte, lte) for each in other.values)
        if other.complement:
            return any(each not in other.values and _within(each, gte, lte) for each in self.values)
        if gte is None and lte is None:
            return not self.values.isdisjoint(other.values)
        return any(each in other.values and _within(each, gte, lte) for each in self.values)


Requirements = dict[str, LabelRequirement]


def requirement(
    key: str, operator: str, values: t.Sequence[str] = (), min_values: int | None = None
) -> LabelRequirement:
    """The demand on a label in the words of a manifest (key, operator, values); an unknown operator is Exists, In
    without values DoesNotExist. A bound, of which only the first value counts, is 0 if it is no whole number of up to
    39 characters; Gt the largest of 64 bits is DoesNotExist without ``min_values``. Old names of labels stand for new
    ones."""
    key = ALIASES.get(key, key)
    if operator == IN:
        return LabelRequirement(key, frozenset(values), min_values=min_values)
    if operator == NOT_IN:
        return LabelRequirement(key, frozenset(values), True, min_values=min_values)
    if operator == DOES_NOT_EXIST:
        return LabelRequirement(key, min_values=min_values)
    if operator in (GT, LT, GTE, LTE):
        return _bounded(key, operator, _number(values[0] if values else "") or 0, min_values)
    return LabelRequirement(key, NOTHING, True, min_values=min_values)


def of_labels(labels: t.Mapping[str, str]) -> Requirements:
    """Each label with its one value, old names of labels under their new ones; a label with two different values by
    that has none."""
    return intersection_of(
        LabelRequirement(ALIASES.get(key, key), frozenset((value,))) for key, value in labels.items()
    )


def of_selector(rows: t.Iterable[NodeSelectorRequirement]) -> Requirements:
    """What meets all rows of a selector's term, or of a pool, at once, by label, each as of ``requirement``."""
    return intersection_of(requirement(each.key, each.operator, each.values) for each in rows)


def intersection_of(rows: t.Iterable[LabelRequirement]) -> Requirements:
    """What meets all the rows at once, by label."""
    out: Requirements = {}
    for each in rows:
        narrow(out, each)
    return out


def narrow(to: Requirements, one: LabelRequirement) -> None:
    """Narrows ``to``, in place, by one demand more."""
    known = to.get(one.key)
    to[one.key] = one if known is None else one.intersection(known)


def intersected(one: Requirements, other: Requirements) -> Requirements:
    """The demands that are met by what meets both, by label; ``one`` itself if ``other`` is empty."""
    if not other:
        return one
    out = dict(one)
    for each in other.values():
        narrow(out, each)
    return out


def narrowed(requirements: Requirements, key: str, value: str) -> Requirements:
    """Requirements that also fix one label to ``value``, in a new dict. Where they exclude it the label has no value
    left."""
    out = dict(requirements)
    narrow(out, LabelRequirement(key, frozenset((value,))))
    return out


def compatible(have: Requirements, want: Requirements, undefined: frozenset[str] = NOTHING) -> bool:
    """Whether nodes of ``have`` can meet ``want``. A label that ``have`` does not know is missing, which only NotIn and
    DoesNotExist admit, unless it may be ``undefined``."""
    for key, one in want.items():
        if key not in have and key not in undefined and one.operator not in NEGATIVE:
            return False
    return intersects(have, want)


def intersects(have: Requirements, want: Requirements) -> bool:
    """Whether each label that both speak of has a value that meets both, or may be missing for both (NotIn,
    DoesNotExist); others are not asked."""
    if len(want) > len(have):
        return all(_agrees(one, want[key]) for key, one in have.items() if key in want)
    return all(_agrees(have[key], one) for key, one in want.items() if key in have)


def has_min_values(of: Requirements) -> bool:
    """Whether one of the demands has ``min_values``."""
    return any(each.min_values is not None for each in of.values())


def _agrees(have: LabelRequirement, want: LabelRequirement) -> bool:
    """Whether some value meets both demands on a label, or it may be missing for both (NotIn, DoesNotExist)."""
    return have.has_common_value(want) or (want.operator in NEGATIVE and have.operator in NEGATIVE)


def _bounded(key: str, operator: str, bound: int, min_values: int | None) -> LabelRequirement:
    """The demand Gt, Lt, Gte or Lte on whole numbers; DoesNotExist, without ``min_values``, where no 64-bit number is
    greater."""
    if operator == GT and bound == _LARGEST:
        return LabelRequirement(key)
    gte = {GT: bound + 1, GTE: bound}.get(operator)
    lte = {LT: bound - 1, LTE: bound}.get(operator)
    return LabelRequirement(key, NOTHING, True, gte, lte, min_values)


def _within(value: str, gte: int | None, lte: int | None) -> bool:
    """Whether the value is a whole number within the bounds, which may be reached; without bounds any text will do."""
    if gte is None and lte is None:
        return True
    number = _number(value)
    return number is not None and (gte is None or number >= gte) and (lte is None or number <= lte)


def _number(text: str) -> int | None:
    """The whole number in decimal digits of less than 40 characters; None for other texts."""
    return int(text) if _WHOLE.fullmatch(text) and len(text) < 40 else None


def _larger(one: int | None, other: int | None) -> int | None:
    """The larger one; None is no bound."""
    return other if one is None else one if other is None else max(one, other)


def _smaller(one: int | None, other: int | None) -> int | None:
    """The smaller one; None is no bound."""
    return other if one is None else one if other is None else min(one, other)
