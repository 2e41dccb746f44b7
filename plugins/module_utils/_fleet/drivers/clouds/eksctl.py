# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Amazon EKS for the driver ``command``: clusters and node groups looked at and upgraded by ``eksctl``. EKS knows
versions of two parts, and ``eksctl`` upgrades managed node groups only. Which release of its image a node group has is
asked of ``aws``, if the setting of that name gives the program."""

from __future__ import annotations

import re
import typing as t

from ...._core.errors import FleetError
from .definition import Definition, Document, PoolWork, Settings, image_name, major_and_minor, release_of, under_way
from .tool import Refusals, Tool

_BUSY = re.compile(r"CREATING|UPDATING|DELETING|PENDING|.*_IN_PROGRESS")


def _observe(tool: Tool, settings: Settings) -> Document:
    """Version, what is under way, and node groups, as EKS tells; the count of one is what is wanted of it. FleetError
    ``no-such-cluster``, and as of ``Tool.json_of``; KeyError, TypeError, AttributeError or ValueError for clusters,
    groups or versions of another form, which ``main`` tells."""
    clusters = tool.json_of(
        "eksctl", "get", "cluster", f"--name={settings['name']}", *_where(settings), "--output=json"
    )
    if not clusters:
        raise FleetError("no-such-cluster", f"eksctl knows no cluster {settings['name']} in {settings['region']}")
    of = f"--cluster={settings['name']}"
    pools = tool.json_of("eksctl", "get", "nodegroup", of, *_where(settings), "--output=json") or []
    return {
        "version": clusters[0].get("Version") or "",
        "busy": under_way(_state(clusters[0]), {each["Name"]: _state(each) for each in pools}, _is_busy),
        "pools": [
            {
                "name": each["Name"],
                "count": each.get("DesiredCapacity") or 0,
                "version": _version(each),
                "image": _image(tool, settings, each),
            }
            for each in pools
        ],
    }


def _begin(tool: Tool, settings: Settings, target: str) -> str:
    """Upgrades the control plane and returns at the end; gives an empty text. FleetError ``target-not-offered``, and as
    of ``Tool.do``; ValueError for what is no version."""
    which = (f"--name={settings['name']}", *_where(settings))
    what = (f"--version={_minor(target)}", "--approve", f"--timeout={settings['timeout']}")
    tool.do("eksctl", "upgrade", "cluster", *which, *what)
    return ""


def _begin_pool(tool: Tool, settings: Settings, work: PoolWork) -> None:
    """Upgrades the node group to the version, or without one to the release of the image, and returns at the end.
    FleetError ``target-not-offered``, and as of ``Tool.do``; ValueError for what is no version."""
    which = (f"--cluster={settings['name']}", f"--name={work.pool}", *_where(settings))
    what = (
        f"--kubernetes-version={_minor(work.version)}"
        if work.version
        else f"--release-version={release_of(work.image)}"
    )
    tool.do("eksctl", "upgrade", "nodegroup", *which, what, f"--timeout={settings['timeout']}")


def _where(settings: Settings) -> tuple[str, ...]:
    """Options for the region, and the profile if one is set."""
    profile = (f"--profile={settings['profile']}",) if settings["profile"] else ()
    return (f"--region={settings['region']}", *profile)


def _minor(target: str) -> str:
    """The version of two parts. FleetError ``target-not-offered`` for one of three; ValueError for what is no
    version."""
    refused = _refused(target)
    if refused:
        raise FleetError("target-not-offered", refused)
    return major_and_minor(target)


def _refused(target: str) -> str:
    """Why EKS does not have a version of three parts: which patch of a minor a cluster gets it alone decides. Empty for
    one of two; ValueError for what is no version."""
    found = major_and_minor(target)
    if target.removeprefix("v") == found:
        return ""
    return f'EKS has versions of two parts, and {target} has three; write kubernetesVersion: "{found}"'


def _version(pool: t.Mapping[str, t.Any]) -> str:
    """The version of a node group; empty if none is told, which eksctl does by ``-`` too."""
    told = pool.get("Version") or ""
    return "" if told == "-" else told


def _image(tool: Tool, settings: Settings, pool: t.Mapping[str, t.Any]) -> str:
    """The image of a managed node group, asked of ``aws``, as of ``image_name``; empty for others, and without that
    setting. FleetError as of ``Tool.json_of``; KeyError, TypeError, AttributeError or ValueError for answers of another
    form."""
    if not settings["aws"] or pool.get("Type") != "managed":
        return ""
    which = (f"--cluster-name={settings['name']}", f"--nodegroup-name={pool['Name']}", *_where(settings))
    told = tool.json_of(settings["aws"], "eks", "describe-nodegroup", *which, "--output=json")["nodegroup"]
    return image_name(told.get("amiType") or "", told.get("releaseVersion") or "", _version(pool))


def _state(shown: t.Mapping[str, t.Any]) -> str:
    """Its status; empty if none is told."""
    return shown.get("Status") or ""


def _is_busy(state: str) -> bool:
    """Whether that status goes on."""
    return _BUSY.fullmatch(state) is not None


EKSCTL = Definition(
    program="eksctl",
    settings={"name": "{member}", "region": "{location}", "profile": "", "timeout": "2h", "aws": ""},
    environment=("AWS_*", "EKSCTL_*"),
    refusals=Refusals(
        busy=re.compile(r"ResourceInUseException|is currently being updated"),
        throttled=re.compile(r"Throttl|TooManyRequests|RequestLimitExceeded|Rate exceeded"),
    ),
    observe=_observe,
    begin=_begin,
    begin_pool=_begin_pool,
    refused=_refused,
)
