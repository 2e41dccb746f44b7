# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``spec.strategy`` of a placement: how resources reach the picked clusters (KubeFleet ``RolloutStrategy``): rolling
update, apply strategy with its defaults (drift, takeover, server-side apply), deletion, reporting back."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...schema.prop import MAX_INT32, prop
from .cel import APPLY_RULES, REPORT_BACK_RULES


@dataclass(frozen=True, kw_only=True)
class RollingUpdate:
    max_unavailable: int | str = prop("Clusters that may be unavailable, number or percentage.", default="25%")
    max_surge: int | str = prop("Clusters beyond the target, number or percentage.", default="25%")
    unavailable_period_seconds: int = prop(
        "Wait after an object whose availability is unknown.", default=60, minimum=0, maximum=MAX_INT32
    )


@dataclass(frozen=True, kw_only=True)
class ServerSideApplyConfig:
    force: bool = prop("Take fields over from other managers.", default=False)


@dataclass(frozen=True, kw_only=True)
class ApplyStrategy:
    type: str = prop(
        "How objects are written.",
        default="ClientSideApply",
        enum=("ClientSideApply", "ServerSideApply", "ReportDiff"),
    )
    comparison_option: str = prop(
        "Which fields count as drift.", default="PartialComparison", enum=("PartialComparison", "FullComparison")
    )
    when_to_apply: str = prop("Whether drift stops an apply.", default="Always", enum=("Always", "IfNotDrifted"))
    when_to_take_over: str = prop(
        "What happens to objects that exist already.", default="Always", enum=("Always", "IfNoDiff", "Never")
    )
    allow_co_ownership: bool = prop("Share objects with other owners.", default=False)
    server_side_apply_config: ServerSideApplyConfig | None = prop("Options of ServerSideApply.", default=None)


@dataclass(frozen=True, kw_only=True)
class DeleteStrategy:
    propagation_policy: str = prop(
        "What happens to placed objects when the placement goes.", default="Delete", enum=("Abandon", "Delete")
    )


@dataclass(frozen=True, kw_only=True)
class ReportBackStrategy:
    type: str = prop("Whether status is mirrored to the hub.", default="Disabled", enum=("Disabled", "Mirror"))
    destination: str = prop("Where it is mirrored to.", default="", enum=("OriginalResource", "WorkAPI"))


@dataclass(frozen=True, kw_only=True)
class RolloutStrategy:
    type: str = prop("Who rolls out.", default="RollingUpdate", enum=("RollingUpdate", "External"))
    rolling_update: RollingUpdate | None = prop("Budgets of a rolling update.", default=None)
    apply_strategy: ApplyStrategy | None = prop("How objects are written on members.", default=None, rules=APPLY_RULES)
    delete_strategy: DeleteStrategy | None = prop("What deletion does.", default=None)
    report_back_strategy: ReportBackStrategy | None = prop(
        "Mirroring of status to the hub.", default=None, rules=REPORT_BACK_RULES
    )


def with_apply_defaults(strategy: ApplyStrategy | None) -> ApplyStrategy:
    """The apply strategy of a placement with the defaults that the API server cannot fill in: the usual one
    (ClientSideApply, Always) for None, and ``serverSideApplyConfig``, without force, beside ServerSideApply."""
    strategy = strategy or ApplyStrategy()
    if strategy.type == "ServerSideApply" and strategy.server_side_apply_config is None:
        return replace(strategy, server_side_apply_config=ServerSideApplyConfig())
    return strategy
