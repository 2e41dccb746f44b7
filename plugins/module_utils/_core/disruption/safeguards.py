# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What holds back a disruption, by its reason: a table for people. Karpenter and our own rotation differ in expiry."""

from __future__ import annotations

from dataclasses import dataclass

YES, NO, DELAYS = "yes", "no", "delays the drain until the grace period ends"
FIRST_IF_NEEDED = "if its pods need one"


@dataclass(frozen=True)
class Safeguards:
    """Whether budgets, PodDisruptionBudgets and do-not-disrupt hold it back, and whether a replacement comes first."""

    reason: str
    budgets: str
    pod_disruption_budgets: str
    annotation: str
    replacement_first: str

    def as_dict(self) -> dict[str, str]:
        return {
            "reason": self.reason,
            "budgets": self.budgets,
            "podDisruptionBudgets": self.pod_disruption_budgets,
            "annotation": self.annotation,
            "replacementFirst": self.replacement_first,
        }


_EXPIRATION = {
    "karpenter": Safeguards("Expiration", NO, DELAYS, DELAYS, NO),
    "rotation": Safeguards("Expiration", YES, YES, YES, FIRST_IF_NEEDED),
}


def safeguards(run_by: str) -> tuple[Safeguards, ...]:
    """The table for pools that ``karpenter`` runs, or for nodes that our ``rotation`` replaces."""
    return (
        Safeguards("Empty", YES, YES, YES, NO),
        Safeguards("Drifted", YES, YES, YES, FIRST_IF_NEEDED),
        Safeguards("Underutilized", YES, YES, YES, FIRST_IF_NEEDED),
        _EXPIRATION[run_by],
        Safeguards("Manual", NO, DELAYS, DELAYS, NO),
    )
