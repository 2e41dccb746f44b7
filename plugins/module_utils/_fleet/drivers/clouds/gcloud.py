# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Google Kubernetes Engine (GKE) for the driver ``command``: clusters and node pools looked at and upgraded by ``gcloud
container``, and the operations of that followed (``no-operation``). The image of a node comes with its GKE version, so
a newer image is a newer GKE version of the same minor."""

from __future__ import annotations

import re
import typing as t

from ...._core.errors import FleetError
from ..contract import FAILED, IN_PROGRESS, SUCCEEDED, OperationProgress
from .definition import Definition, Document, PoolWork, Settings, image_name, release_of, under_way
from .tool import Refusals, Tool

_BUSY = ("PROVISIONING", "RECONCILING", "STOPPING")
_MASTER, _NODES = "UPGRADE_MASTER", "UPGRADE_NODES"


def _observe(tool: Tool, settings: Settings) -> Document:
    """Version, what is under way, and pools, as GKE tells; ``count`` is what each zone of a pool was made with.
    FleetError as of ``Tool.json_of``; KeyError, TypeError, AttributeError or ValueError for a cluster, pools or
    versions of another form, which ``main`` tells."""
    shown = tool.json_of("gcloud", "container", "clusters", "describe", settings["name"], *_where(settings), *_JSON)
    pools = shown.get("nodePools") or []
    return {
        "version": shown.get("currentMasterVersion") or "",
        "busy": under_way(_state(shown), {each["name"]: _state(each) for each in pools}, _is_busy),
        "pools": [
            {
                "name": each["name"],
                "count": each.get("initialNodeCount") or 0,
                "version": each.get("version") or "",
                "image": image_name(
                    (each.get("config") or {}).get("imageType") or "",
                    each.get("version") or "",
                    each.get("version") or "",
                ),
            }
            for each in pools
        ],
    }


def _begin(tool: Tool, settings: Settings, target: str) -> str:
    """Begins the upgrade of the control plane; the name of its operation. Errors as of ``_upgrade``."""
    return _upgrade(tool, settings, _MASTER, "--master", f"--cluster-version={target}")


def _poll(tool: Tool, settings: Settings, reference: str) -> OperationProgress:
    """How the operation of that name stands. FleetError ``tool-unreadable`` if no status is told, which is not the same
    as one that goes on, and as of ``Tool.json_of``; AttributeError where no object is told."""
    told = tool.json_of("gcloud", "container", "operations", "describe", reference, *_where(settings), *_JSON)
    if not told.get("status"):
        raise FleetError("tool-unreadable", f"gcloud does not tell the status of {reference}")
    if told["status"] != "DONE":
        message = f"{reference} is {told['status']}: {told.get('detail') or ''}".removesuffix(": ")
        return OperationProgress(state=IN_PROGRESS, message=message)
    error = told.get("error") or {}
    wrong = error.get("message") or told.get("statusMessage") or ""
    if error and not wrong:
        wrong = f"{reference} ended with the error code {error.get('code')}, without a message"
    return OperationProgress(state=FAILED if wrong else SUCCEEDED, message=wrong)


def _begin_pool(tool: Tool, settings: Settings, work: PoolWork) -> None:
    """Upgrades the pool to the version, or without one to that of the image, and returns at the end. FleetError
    ``upgrade-failed``; errors as of ``_upgrade`` and ``_poll``."""
    version = work.version or release_of(work.image)
    operation = _upgrade(tool, settings, _NODES, f"--node-pool={work.pool}", f"--cluster-version={version}")

    def ended() -> OperationProgress | None:
        """How it ended; None while it goes on."""
        found = _poll(tool, settings, operation)
        return None if found.state == IN_PROGRESS else found

    progress = tool.until(ended)
    if progress.state == FAILED:
        raise FleetError("upgrade-failed", f"{operation}: {progress.message}")


def _upgrade(tool: Tool, settings: Settings, kind: str, *what: str) -> str:
    """Begins it, and gives the name of the operation, which is the one that was not there before: ``gcloud`` itself
    prints none. FleetError ``no-operation`` if none comes, and as of ``Tool.do``; errors as of ``_operations``."""
    before = _operations(tool, settings, kind)
    tool.do(
        "gcloud", "container", "clusters", "upgrade", settings["name"], *what, *_where(settings), "--async", "--quiet"
    )

    def new() -> list[str]:
        """Names of operations that were not there before, the newest first."""
        return [name for name in _operations(tool, settings, kind) if name not in before]

    found = tool.until(new, tool.patience)
    if not found:
        message = f"gcloud took the upgrade, but shows no new operation {kind} after {tool.patience:g} s"
        raise FleetError("no-operation", message, hint="see gcloud container operations list")
    return str(found[0])


def _operations(tool: Tool, settings: Settings, kind: str) -> list[str]:
    """Names of the cluster's operations of that kind, the newest first. FleetError as of ``Tool.json_of``; KeyError,
    TypeError or AttributeError for a list of another form."""
    options = (f"--filter=operationType={kind}", "--sort-by=~startTime", *_where(settings), *_JSON)
    mine = re.compile(rf"/clusters/{re.escape(settings['name'])}(/|$)")
    listed = tool.json_of("gcloud", "container", "operations", "list", *options)
    return [each["name"] for each in listed or [] if mine.search(each.get("targetLink") or "")]


def _where(settings: Settings) -> tuple[str, ...]:
    """Options for the location, and the project if one is set."""
    project = (f"--project={settings['project']}",) if settings["project"] else ()
    return (f"--location={settings['location']}", *project)


def _state(shown: t.Mapping[str, t.Any]) -> str:
    """Its status; empty if none is told."""
    return shown.get("status") or ""


def _is_busy(state: str) -> bool:
    """Whether that status goes on."""
    return state in _BUSY


_JSON = ("--format=json", "--quiet")

GCLOUD = Definition(
    program="gcloud",
    settings={"name": "{member}", "location": "{location}", "project": ""},
    environment=("CLOUDSDK_*", "GOOGLE_*"),
    refusals=Refusals(
        busy=re.compile(r"running incompatible operation|is currently \w+ing (cluster|node ?pool)|code=409"),
        throttled=re.compile(r"code=429|RESOURCE_EXHAUSTED|RATE_LIMIT_EXCEEDED|Quota exceeded for quota metric"),
    ),
    observe=_observe,
    begin=_begin,
    begin_pool=_begin_pool,
    poll=_poll,
)
