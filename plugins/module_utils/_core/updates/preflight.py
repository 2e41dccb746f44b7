# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What speaks against an upgrade of a member before it begins, all at once: ``minor-skipped``, ``kubelet-skew``,
``removed-api-used``, ``never-opens``, ``busy``, ``budget-allows-none``, ``nodes-not-ready``, ``do-not-disrupt``,
``not-looked-at``, ``version-unreadable``; deprecated APIs read from an API server's ``/metrics``."""

from __future__ import annotations

import re
import shlex
import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..cluster.pod import DO_NOT_DISRUPT
from ..objects.clusters.fleet_member import NodePoolStatus
from ..values.instants import SECONDS, write_time
from ..values.kube_version import KubeVersion
from ..values.listed import listed
from ..values.update_states import MEMBER_GONE, WINDOW_CLOSED
from .releases.versions import is_version, kubelet_skew_blocker, step_refused, view_at_version
from .run import MemberView

_DEPRECATED = re.compile(r"^apiserver_requested_deprecated_apis\{(?P<labels>[^}]*)\}\s+(?P<value>\S+)", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_NAMED = 5
# The view of a member at this version, with these node pools, and what it has to do by that at an aware instant: skip,
# fail, further obstacles at the end. What is no version makes it fail; errors are those of what releases are read from.
Judge = t.Callable[[MemberView, str, tuple[NodePoolStatus, ...], datetime], MemberView]


@dataclass(frozen=True, kw_only=True)
class ProtectedNode:
    """A node of a pool that do-not-disrupt keeps from being replaced: by its own annotation, or by that of a ``pod``
    (namespace and name), which holds till ``until`` if it ends. With the options ``reached_by`` kubectl reaches its
    member, none where that is not known."""

    node: str
    pool: str = ""
    pod: str = ""
    until: datetime | None = None
    reached_by: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The pod, or the node itself without one, in which pool, and until when, as far as that is known."""
        who = f"pod {self.pod}" if self.pod else f"node {self.node}"
        until = f" until {write_time(self.until, SECONDS)}" if self.until else ""
        return f"{who}{f' in pool {self.pool}' if self.pool else ''}{until}"

    @property
    def freed_by(self) -> str:
        """The command for a shell that takes the annotation away; names are quoted, and one that begins with ``-``
        stands behind ``--``."""
        namespace, _slash, pod = self.pod.partition("/")
        kind, name = (["pod", "-n", namespace], pod) if self.pod else (["node"], self.node)
        what = [*kind, *(["--"] if name.startswith("-") else []), name]
        return shlex.join(["kubectl", *self.reached_by, "annotate", *what, f"{DO_NOT_DISRUPT}-"])


@dataclass(frozen=True, kw_only=True)
class MemberLook:
    """What a member showed when it was looked at. ``version`` is that of its control plane, ``busy`` what its platform
    does there; both empty for nothing. ``not_ready`` are nodes, ``blocking`` disruption budgets that allow nothing now,
    ``protected`` nodes that are to be replaced and may not be, ``removed`` APIs in use with the minor that has them no
    more, ``unread`` what could not be read, and ``driver`` what its driver told, as code, message and whether that
    blocks. ``unreachable`` says why nothing could be read."""

    name: str
    version: str = ""
    busy: str = ""
    unreachable: str = ""
    pools: tuple[NodePoolStatus, ...] = ()
    not_ready: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    protected: tuple[ProtectedNode, ...] = ()
    removed: tuple[tuple[str, str], ...] = ()
    driver: tuple[tuple[str, str, bool], ...] = ()
    unread: t.Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, kw_only=True)
class PreflightFinding:
    """One thing that speaks against an upgrade. ``blocks``: the member is not to be upgraded as things are. ``code`` is
    one of this module's, ``unreachable``, ``precondition-failed``, ``MemberGone``, one of its driver's, or the reason
    of an obstacle."""

    member: str
    code: str
    message: str
    blocks: bool

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields."""
        return {"member": self.member, "code": self.code, "message": self.message, "blocks": self.blocks}


def preflight_findings(
    look: MemberLook, view: MemberView, target: str, now: datetime, whole: Judge | None = None, chain: bool = False
) -> tuple[PreflightFinding, ...]:
    """What speaks against an upgrade of one member's control plane to ``target``; ``view`` has its windows and what
    else holds it. Where it goes by steps ``whole`` judges it by version and pools, with ``chain`` minor by minor.
    Nothing for one that has nothing to do or is skipped; of one that is unreachable that alone. A ``target`` that is no
    version can give ValueError; with ``whole`` it may be empty, and no API is found to be gone then. What ``whole``
    raises comes through."""
    if look.unreachable:
        return (PreflightFinding(member=look.name, code="unreachable", message=look.unreachable, blocks=True),)
    seen = whole(view, look.version, look.pools, now) if whole else view_at_version(view, look.version, target)
    if seen.skip:
        return ()
    return tuple(
        PreflightFinding(member=look.name, code=code, message=message, blocks=blocks)
        for code, message, blocks in _found(look, seen, target, now, whole is not None, chain)
    )


def left_fleet_finding(member: str) -> PreflightFinding:
    """The finding ``MemberGone``, which does not block, for a member of the run that has left the fleet."""
    words = "it has left the fleet, and will be left out: the run ends as partial"
    return PreflightFinding(member=member, code=MEMBER_GONE, message=words, blocks=False)


def apis_to_be_removed(metrics: str) -> tuple[tuple[str, str], ...]:
    """From an API server's ``/metrics`` (``apiserver_requested_deprecated_apis``): each API (``resource of
    group/version``) that was asked for since it started and that a later minor removes, with that minor; by name."""
    found = set()
    for row in _DEPRECATED.finditer(metrics):
        labels = dict(_LABEL.findall(row["labels"]))
        if labels.get("removed_release") and row["value"] != "0":
            group = "/".join(filter(None, (labels.get("group", ""), labels.get("version", ""))))
            found.add((f"{labels.get('resource', '?')} of {group}", labels["removed_release"]))
    return tuple(sorted(found))


def _found(
    look: MemberLook, view: MemberView, target: str, now: datetime, whole: bool, chain: bool
) -> t.Iterator[tuple[str, str, bool]]:
    """Code, message and whether it blocks, of all that speaks against it. ``whole``: ``view`` has judged kubelets, too.
    ValueError as of ``preflight_findings``."""
    if view.fail:
        yield _refusal(look, target, chain), view.fail.message, True
    skew = None if whole else kubelet_skew_blocker(_kubelets(look), target)
    if skew:
        yield "kubelet-skew", skew.message, True
    yield from look.driver
    for each in view.obstacles:
        yield each.reason, each.message, each.until is None
    unknown = any(each.reason == WINDOW_CLOSED and each.until is None for each in view.obstacles)
    if view.windows is not None and not unknown and not any(end > now for _start, end in view.windows):
        yield "never-opens", "no maintenance window of it opens in the next 13 months", True
    if look.busy:
        yield "busy", f"its platform works on it: {look.busy}", False
    gone = [f"{name} (until {minor})" for name, minor in look.removed if target and _has_gone(minor, target)]
    if gone:
        yield "removed-api-used", f"was asked for APIs that {target} does not have: {listed(gone, _NAMED)}", True
    if look.not_ready:
        yield "nodes-not-ready", f"nodes are not ready: {listed(look.not_ready, _NAMED)}", False
    if look.blocking:
        yield "budget-allows-none", f"disruption budgets allow no eviction now: {listed(look.blocking, _NAMED)}", False
    if look.protected:
        yield "do-not-disrupt", _protected(look.protected), False
    for part, why in look.unread.items():
        yield "not-looked-at", f"{part} could not be read: {why}", False


def _protected(found: t.Sequence[ProtectedNode]) -> str:
    """Who holds node pools, and what lets the first of them go; there is one at least."""
    names = listed([each.words for each in found], _NAMED)
    ways = f"the end of the pod, `{found[0].freed_by}`" if found[0].pod else f"`{found[0].freed_by}`"
    return f"{DO_NOT_DISRUPT} holds nodes: {names}; let go by {ways}, or nodePools.pace.terminationGracePeriodSeconds"


def _refusal(look: MemberLook, target: str, chain: bool) -> str:
    """The code for what ``view.fail`` tells of: a version that cannot be read, too far, kubelets too old, or another
    precondition. ValueError for a ``target`` that is no version, where the others are; it may be empty."""
    if not all(map(is_version, (look.version, *filter(None, _kubelets(look).values())))):
        return "version-unreadable"
    if target and step_refused(look.version, target, chain):
        return "minor-skipped"
    return "kubelet-skew" if target and kubelet_skew_blocker(_kubelets(look), target) else "precondition-failed"


def _kubelets(look: MemberLook) -> dict[str, str]:
    """Version of the kubelets by pool, empty where it is not known."""
    return {each.name: each.version for each in look.pools}


def _has_gone(minor: str, target: str) -> bool:
    """Whether the API is gone in the target; also where one of the versions cannot be read."""
    try:
        return KubeVersion.parse(minor) <= KubeVersion.parse(target)
    except ValueError:
        return True
