# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters over placements and facts; pure, no cluster is asked."""

from __future__ import annotations

import typing as t

from ..plugin_utils._pure import fleet, pure


def explain_placement(placement: t.Any, facts: t.Any, cluster: t.Any) -> dict[str, t.Any]:
    explained: dict[str, t.Any] = fleet("decisions.explanation")(placement, facts, str(cluster))
    return explained


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {
            "placement_decisions": pure("decisions.decisions"),
            "explain_placement": pure(explain_placement),
        }
