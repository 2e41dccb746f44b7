# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``AutoUpgradeProfile`` of ``gitops.fleet``: which releases become update runs by themselves (channel, target minor,
long-term support; Azure Fleet), and what was triggered last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ..api_groups import FLEET_API
from ..clusters.maintenance_forms import MINOR, PROFILE_SPEC_RULES
from .channel_table import CHANNELS
from .forms import STRATEGY_ID
from .run_status import UpdateError
from .update_run import CONSISTENT, LATEST

TRIGGER_SUCCEEDED, TRIGGER_FAILED = "Succeeded", "Failed"


@dataclass(frozen=True, kw_only=True)
class AutoUpgradeNodeImageSelection:
    type: str = prop("How node images are chosen.", enum=(LATEST, CONSISTENT))


@dataclass(frozen=True, kw_only=True)
class AutoUpgradeProfileSpec:
    """Strategy and image selection are those with which the profile was made; the rest can be changed."""

    channel: str = prop("Which releases are followed.", enum=tuple(CHANNELS))
    update_strategy_id: str = prop(
        "Name of an UpdateStrategy, or an id that ends with it; one member after another if absent.",
        default="",
        max_length=1024,
        pattern=STRATEGY_ID,
        form="a name of at most 50 characters, or an id that ends with one",
    )
    node_image_selection: AutoUpgradeNodeImageSelection | None = prop("How node images are chosen.", default=None)
    target_kubernetes_version: str = prop(
        "Minor that TargetKubernetesVersion keeps to.",
        default="",
        max_length=30,
        pattern=MINOR,
        form="a minor version such as 1.34",
    )
    long_term_support: bool = prop("Patches of minors that only long-term support has.", default=False)
    disabled: bool = prop("Makes no runs; those that exist go on.", default=False)

    @property
    def strategy_name(self) -> str:
        """The name of the UpdateStrategy that is referred to, what follows the last slash of its id; empty without
        one."""
        return self.update_strategy_id.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True)
class AutoUpgradeProfileStatus:
    last_triggered_at: datetime | None = prop("Instant at which a run was made last.", default=None)
    last_trigger_status: str = prop("Whether it could be made.", default="", enum=(TRIGGER_SUCCEEDED, TRIGGER_FAILED))
    last_trigger_error: UpdateError | None = prop("Why it could not.", default=None)
    last_trigger_upgrade_versions: tuple[str, ...] = prop("Versions that it was made for.", default=())
    last_trigger_message: str = prop("What came of the last evaluation.", default="")


@dataclass(frozen=True, kw_only=True)
class AutoUpgradeProfile:
    api_version: str = prop("API version.", default=FLEET_API)
    kind: str = prop("Kind.", default="AutoUpgradeProfile")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: AutoUpgradeProfileSpec = prop("What is followed, and how.", rules=PROFILE_SPEC_RULES)
    status: AutoUpgradeProfileStatus = prop("What was made of it.", default=AutoUpgradeProfileStatus())

    @property
    def name(self) -> str:
        return self.metadata.name
