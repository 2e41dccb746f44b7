# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What consolidation and drift save an hour: the price of what goes less the cheapest offers of new nodes
(``hourly_saving``; Karpenter, ``EstimatedSavings``)."""

from __future__ import annotations

import math
import typing as t

from ..scheduling.simulation import NewNode


def hourly_saving(price: float, new: t.Iterable[NewNode], upstream: bool) -> float | None:
    """What disrupting nodes saves an hour: their ``price`` less the cheapest offer of the first type of each new node
    that can be had now; negative where it costs more. None where the price of a new node is not known, which to
    ``upstream`` is free."""
    found = [each.kinds[0].cheapest(each.requirements) if each.kinds else math.inf for each in new]
    known = [each for each in found if not math.isinf(each)]
    return None if len(known) < len(found) and not upstream else price - sum(known)
