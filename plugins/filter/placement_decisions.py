# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters over a placement and facts: which clusters are picked (``placement_decisions``), and why one is or is not
(``explain_placement``); pure, no cluster is asked."""

from __future__ import annotations

import typing as t

from ..plugin_utils._pure import pure


def explain_placement(placement: t.Any, facts: t.Any, cluster: t.Any) -> dict[str, t.Any]:
    """Why the cluster is picked or not, with the data behind it, as of ``explanation``; ``cluster`` becomes text.
    FleetError ``unknown-cluster``, ``not-a-placement``, and those of manifests and snapshots that cannot be read."""
    from ..module_utils._fleet.templates.decisions import explanation

    return explanation(placement, facts, str(cluster))


def _decisions() -> t.Callable[..., t.Any]:
    """Imports the function that the filter ``placement_decisions`` calls."""
    from ..module_utils._fleet.templates.decisions import decisions

    return decisions


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The functions of both filters by their names; errors are as of ``pure``."""
        return {
            "placement_decisions": pure(_decisions),
            "explain_placement": pure(lambda: explain_placement),
        }
