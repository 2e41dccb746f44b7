# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which taints are not tolerated, and whether a toleration covers a taint, for nodes and clusters alike (Kubernetes,
taints and tolerations)."""

from __future__ import annotations

import typing as t

from ..placements.policy import Toleration
from .member_cluster import Taint


def first_untolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint, in the order given, that no toleration covers; None if there is none."""
    return next(untolerated(taints, tolerations), None)


def untolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> t.Iterator[Taint]:
    """The taints that no toleration covers, in the order given, of whatever effect."""
    return (taint for taint in taints if not any(covers(one, taint) for one in tolerations))


def covers(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration tolerates the taint: the effect is equal, and key and value are, or with Exists the key
    alone. An empty effect covers every effect, an empty key with Exists every key; an unknown operator covers
    nothing."""
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return toleration.operator == "Equal" and (toleration.key, toleration.value) == (taint.key, taint.value)
