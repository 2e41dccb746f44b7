# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Options of Karpenter's controller that decisions about nodes depend on (``SpotToSpotConsolidation``,
``PREFERENCE_POLICY``), and whether we follow it in everything (``upstream``)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """``upstream``: decide as Karpenter does also where we are more careful on purpose. ``spot_to_spot``: spot nodes
    may replace spot nodes (``SpotToSpotConsolidation``). ``respect``: wishes of pods are demands until they cannot be
    met (``PREFERENCE_POLICY``). ``first``: nodes, pools and zones by name that come first among equals, which Karpenter
    leaves to chance; all others go by name."""

    spot_to_spot: bool = False
    respect: bool = True
    upstream: bool = False
    first: tuple[str, ...] = ()


DEFAULTS = Settings()
