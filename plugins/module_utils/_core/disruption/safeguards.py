# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A table for people: whether budgets, PodDisruptionBudgets and do-not-disrupt hold back a disruption by its reason
(Empty, Drifted, Underutilized, Expiration, Manual), and whether a replacement comes first. Karpenter and our own
rotation differ in expiry."""

from __future__ import annotations

from dataclasses import dataclass

YES, NO, DELAYS = "yes", "no", "delays the drain until the grace period ends"
WITHOUT_GRACE = "without a grace period"
FIRST_IF_NEEDED = "if its pods need one"


@dataclass(frozen=True)
class SafeguardRow:
    """Whether budgets, PodDisruptionBudgets and do-not-disrupt (``annotation``) hold back a disruption for one reason,
    and whether a replacement comes first: ``yes``, ``no``, or in words when."""

    reason: str
    budgets: str
    pod_disruption_budgets: str
    annotation: str
    replacement_first: str

    def as_dict(self) -> dict[str, str]:
        """As results have it: the fields, in camelCase."""
        return {
            "reason": self.reason,
            "budgets": self.budgets,
            "podDisruptionBudgets": self.pod_disruption_budgets,
            "annotation": self.annotation,
            "replacementFirst": self.replacement_first,
        }


_EXPIRATION = {
    "karpenter": SafeguardRow("Expiration", NO, DELAYS, DELAYS, NO),
    "rotation": SafeguardRow("Expiration", YES, WITHOUT_GRACE, WITHOUT_GRACE, FIRST_IF_NEEDED),
}


def safeguard_rows(run_by: str) -> tuple[SafeguardRow, ...]:
    """The rows for Empty, Drifted, Underutilized, Expiration and Manual. ``run_by`` is ``karpenter``, or ``rotation``
    (nodes that our own rotation replaces); KeyError for another."""
    return (
        SafeguardRow("Empty", YES, YES, YES, NO),
        SafeguardRow("Drifted", YES, WITHOUT_GRACE, WITHOUT_GRACE, FIRST_IF_NEEDED),
        SafeguardRow("Underutilized", YES, YES, YES, FIRST_IF_NEEDED),
        _EXPIRATION[run_by],
        SafeguardRow("Manual", NO, DELAYS, DELAYS, NO),
    )
