# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What consolidation and drift save an hour (Karpenter, ``EstimatedSavings``)."""

from __future__ import annotations

import math
import typing as t

from ..scheduling.simulation import NewNode


def saving(price: float, new: t.Iterable[NewNode]) -> float:
    """What is saved an hour: ``price``, which goes, less the cheapest offer of the first type of each new node that can
    be had now. A new node whose price is not known counts as free."""
    dearer = 0.0
    for each in new:
        cheapest = each.kinds[0].cheapest(each.requirements) if each.kinds else math.inf
        dearer += 0.0 if math.isinf(cheapest) else cheapest
    return price - dearer
