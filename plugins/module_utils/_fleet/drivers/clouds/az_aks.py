# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Azure Kubernetes Service (AKS) for the driver ``command``: clusters (``cluster-stopped``) and node pools looked at
and upgraded by ``az aks``. A node pool always gets the newest image of its family; another one cannot be asked for."""

from __future__ import annotations

import re
import typing as t

from ...._core.errors import FleetError
from ..contract import FAILED, IN_PROGRESS, SUCCEEDED, OperationProgress
from .definition import Definition, Document, PoolWork, Settings, under_way
from .tool import Refusals, Tool

_ENDED = {"Succeeded": SUCCEEDED, "Failed": FAILED, "Canceled": FAILED}


def _observe(tool: Tool, settings: Settings) -> Document:
    """Version, what is under way, and pools, as AKS tells. FleetError ``cluster-stopped`` for one that is switched off,
    and as of ``_shown``; KeyError, TypeError or AttributeError for an answer of another form, which ``main`` tells."""
    shown = _shown(tool, settings)
    if (shown.get("powerState") or {}).get("code") == "Stopped":
        raise FleetError("cluster-stopped", f"the cluster {settings['name']} is stopped")
    pools = shown.get("agentPoolProfiles") or []
    return {
        "version": shown.get("currentKubernetesVersion") or shown.get("kubernetesVersion") or "",
        "busy": under_way(_state(shown), {each["name"]: _state(each) for each in pools}, _is_busy),
        "pools": [
            {
                "name": each["name"],
                "count": each.get("count") or 0,
                "version": each.get("currentOrchestratorVersion") or each.get("orchestratorVersion") or "",
                "image": each.get("nodeImageVersion") or "",
                "mode": (each.get("mode") or "").lower(),
            }
            for each in pools
        ],
    }


def _begin(tool: Tool, settings: Settings, target: str) -> str:
    """Begins the upgrade of the control plane alone; the name of the cluster, whose state tells how it goes on.
    FleetError as of ``Tool.do``."""
    options = (f"--kubernetes-version={target}", "--control-plane-only", "--yes", "--no-wait", "--output=none")
    tool.do("az", "aks", "upgrade", f"--name={settings['name']}", *_where(settings), *options)
    return settings["name"]


def _poll(tool: Tool, settings: Settings, _reference: str) -> OperationProgress:
    """How the cluster as a whole stands. FleetError ``tool-unreadable`` if no state is told, which is not the same as
    one that goes on, and as of ``_shown``."""
    state = _state(_shown(tool, settings))
    if not state:
        raise FleetError("tool-unreadable", "az aks show does not tell the state of the cluster")
    return OperationProgress(state=_ENDED.get(state, IN_PROGRESS), message=f"the cluster is {state}")


def _begin_pool(tool: Tool, settings: Settings, work: PoolWork) -> None:
    """Upgrades the pool to the version, or without one to its newest image, and returns at the end. FleetError as of
    ``Tool.do``."""
    which = (f"--cluster-name={settings['name']}", f"--name={work.pool}")
    what = f"--kubernetes-version={work.version}" if work.version else "--node-image-only"
    tool.do("az", "aks", "nodepool", "upgrade", *which, *_where(settings), what, "--yes", "--output=none")


def _shown(tool: Tool, settings: Settings) -> dict[str, t.Any]:
    """What ``az aks show`` prints of the cluster. FleetError as of ``Tool.json_of``, ``tool-unreadable`` for what is no
    object."""
    found = tool.json_of("az", "aks", "show", f"--name={settings['name']}", *_where(settings), "--output=json")
    if not isinstance(found, dict):
        raise FleetError("tool-unreadable", "az aks show printed no cluster")
    return found


def _where(settings: Settings) -> tuple[str, ...]:
    """Options for the resource group, and the subscription if one is set."""
    subscription = (f"--subscription={settings['subscription']}",) if settings["subscription"] else ()
    return (f"--resource-group={settings['resource_group']}", *subscription)


def _state(shown: t.Mapping[str, t.Any]) -> str:
    """Its provisioning state; empty if none is told."""
    return shown.get("provisioningState") or ""


def _is_busy(state: str) -> bool:
    """Whether that state goes on; an empty one does not."""
    return bool(state) and state not in _ENDED


AZ_AKS = Definition(
    program="az",
    settings={"name": "{member}", "resource_group": None, "subscription": ""},
    environment=("AZURE_*", "IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_*"),
    refusals=Refusals(
        busy=re.compile(r"OperationNotAllowed\b.*\bin progress|\bConflict\b|EtagMismatch", re.DOTALL),
        throttled=re.compile(r"TooManyRequests|RequestsThrottled|\b429\b"),
    ),
    observe=_observe,
    begin=_begin,
    begin_pool=_begin_pool,
    poll=_poll,
)
