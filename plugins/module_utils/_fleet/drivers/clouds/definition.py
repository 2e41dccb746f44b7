# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a ready definition of the driver ``command`` is made of (settings, calls, refusals); names of images by minor
and release, and what a platform works on (``busy``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...._core.values.kube_version import KubeVersion
from ..contract import OperationProgress
from .tool import Refusals, Tool

Settings = t.Mapping[str, str]
Document = dict[str, t.Any]
# Settings that every definition has: seconds.
PACE = {"patience": "600", "interval": "15"}


@dataclass(frozen=True, kw_only=True)
class PoolWork:
    """One node pool of the cluster, to a ``version`` (without ``v``) or to an ``image``, as a definition's ``observe``
    names it; where both are given the image comes with the version."""

    pool: str
    version: str = ""
    image: str = ""


def any_version(_target: str) -> str:
    """Always empty: for platforms that take versions of two parts, for their newest patch, and of three."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """``settings`` by name with their defaults, None where there is none. ``environment`` are the names, or patterns of
    names, of the variables that the tool logs in with.

    ``observe`` gives ``version``, ``busy`` and ``pools`` as the driver ``command`` reads them. ``begin`` gives the
    platform's reference of the upgrade of the control plane, which ``poll`` follows; without ``poll`` it gives an empty
    text and returns at the end of it. ``begin_pool`` returns at the end. Each is called once, in a process of its own,
    with versions without ``v``, and raises FleetErrors, and what Python raises for answers of another form. ``refused``
    says why the platform has no versions that are written like this one, empty if it may have it; ValueError for what
    is no version.
    """

    program: str
    settings: t.Mapping[str, str | None]
    environment: tuple[str, ...]
    refusals: Refusals
    observe: t.Callable[[Tool, Settings], Document]
    begin: t.Callable[[Tool, Settings, str], str]
    begin_pool: t.Callable[[Tool, Settings, PoolWork], None]
    poll: t.Callable[[Tool, Settings, str], OperationProgress] | None = None
    refused: t.Callable[[str], str] = any_version


def major_and_minor(version: str) -> str:
    """Major and minor of a version, such as ``1.36``. ValueError if it is no version."""
    found = KubeVersion.parse(version)
    return f"{found.major}.{found.minor}"


def image_name(kind: str, release: str, kubernetes: str) -> str:
    """``<kind>.<minor>-<release>``, for images that are made for one minor of Kubernetes; empty if a part is. Dashes of
    the release become ``_``. ValueError if ``kubernetes`` is no version."""
    return (
        f"{kind}.{major_and_minor(kubernetes)}-{release.replace('-', '_')}" if kind and release and kubernetes else ""
    )


def release_of(image: str) -> str:
    """The release in a name that ``image_name`` has made."""
    return image.rpartition("-")[2].replace("_", "-")


def under_way(cluster: str, pools: t.Mapping[str, str], busy: t.Callable[[str], bool]) -> str:
    """What the platform works on, in words: the state of the cluster, then of its pools (by name), where ``busy`` says
    that it goes on; empty if none does."""
    states = {"cluster": cluster, **{f"pool {name}": state for name, state in pools.items()}}
    return "; ".join(f"{what}: {state}" for what, state in states.items() if busy(state))
