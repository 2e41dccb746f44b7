# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters over placements and facts; pure, no cluster is asked."""

from __future__ import annotations

import json
import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.decisions import decisions, explanation


def placement_decisions(placement: t.Any, facts: t.Any) -> list[dict[str, t.Any]]:
    try:
        return decisions(_plain(placement), _plain(facts))
    except FleetError as error:
        raise AnsibleFilterError(f"gitops.fleet.placement_decisions: {error}") from error


def explain_placement(placement: t.Any, facts: t.Any, cluster: str) -> dict[str, t.Any]:
    try:
        return explanation(_plain(placement), _plain(facts), str(cluster))
    except FleetError as error:
        raise AnsibleFilterError(f"gitops.fleet.explain_placement: {error}") from error


def _plain(value: t.Any) -> t.Any:
    return json.loads(json.dumps(value))


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"placement_decisions": placement_decisions, "explain_placement": explain_placement}
