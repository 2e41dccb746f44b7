# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Object metadata, and conditions as Kubernetes objects carry them: found by type, renewed with their transition
time."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from .prop import prop

EMPTY: t.Mapping[str, t.Any] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class ObjectMeta:
    """The part of ``metadata`` that decisions read."""

    name: str = prop("Name of the object.")
    namespace: str = prop("Namespace, empty for cluster-scoped kinds.", default="")
    uid: str = prop("Identity over deletion and re-creation.", default="")
    generation: int = prop("Number of the spec's version.", default=0)
    resource_version: str = prop("Opaque version for compare-and-swap.", default="")
    labels: t.Mapping[str, str] = prop("Labels.", default=EMPTY)
    annotations: t.Mapping[str, str] = prop("Annotations.", default=EMPTY)
    finalizers: tuple[str, ...] = prop("Finalizers.", default=())
    creation_timestamp: datetime | None = prop("Instant of creation.", default=None)
    deletion_timestamp: datetime | None = prop("Instant at which deletion was asked for.", default=None)


@dataclass(frozen=True, kw_only=True)
class NamespacedName:
    """The name of an object in a namespace."""

    name: str = prop("Name.")
    namespace: str = prop("Namespace.")


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A Kubernetes condition (``metav1.Condition``)."""

    type: str = prop("Name of the condition.")
    status: str = prop("Whether it holds.", enum=("True", "False", "Unknown"))
    reason: str = prop("Machine-readable cause.", default="")
    message: str = prop("Text for people.", default="")
    observed_generation: int = prop("Generation that was judged.", default=0)
    last_transition_time: datetime | None = prop("Instant at which the status changed last.", default=None)


def find_condition(conditions: t.Iterable[Condition], kind: str) -> Condition | None:
    """The first condition of the type ``kind``, of whatever status, or None."""
    for each in conditions:
        if each.type == kind:
            return each
    return None


def next_condition(
    old: Condition | None, kind: str, row: tuple[str, str, str], now: datetime, generation: int = 0
) -> Condition:
    """The condition of type ``kind`` with its new ``row`` of status, reason and message. Its transition time is that of
    the ``old`` one (None too) if that has the same status, else ``now``. ``generation`` is the one judged, 0 if
    unknown."""
    status, reason, message = row
    since = old.last_transition_time if old and old.status == status else now
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        observed_generation=generation,
        last_transition_time=since,
    )
