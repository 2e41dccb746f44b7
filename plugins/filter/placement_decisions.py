# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters over placements and facts; pure, no cluster is asked."""

from __future__ import annotations

import typing as t

from ..plugin_utils._pure import pure


def explain_placement(placement: t.Any, facts: t.Any, cluster: t.Any) -> dict[str, t.Any]:
    from ..module_utils._fleet.templates.decisions import explanation

    return explanation(placement, facts, str(cluster))


def _decisions() -> t.Callable[..., t.Any]:
    from ..module_utils._fleet.templates.decisions import decisions

    return decisions


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {
            "placement_decisions": pure(_decisions),
            "explain_placement": pure(lambda: explain_placement),
        }
