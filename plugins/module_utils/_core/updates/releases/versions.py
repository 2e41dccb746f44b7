# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Two versions of Kubernetes compared for an upgrade: reached, ahead, too far (one minor at a time), kubelets too old
(version skew policy); what is a version, or a minor alone.

Kubelets may be older than the API server by three minors, those before 1.25 by two, and never newer.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace

from ...values.kube_version import KubeVersion
from ...values.update_states import ALREADY_AT_TARGET, MINOR_GAP, PRECONDITION_FAILED
from ..run import MemberBlocker, MemberView

KUBELET_BEHIND, KUBELET_WIDENED = 3, (1, 25)
_NAMED = 10
_MINOR_ONLY = re.compile(r"v?\d+\.\d+")


def required_text(version: t.Any) -> str:
    """A version out of somebody's document, as it is. ValueError for what is no text: YAML reads 1.30 as the number
    1.3."""
    if not isinstance(version, str):
        words = "a version in quotes is wanted, because 1.30 without them is 1.3"
        raise ValueError(f"{version!r:.60} is not text; {words}")
    return version


def is_minor(version: str) -> bool:
    """Whether a version names a minor alone, such as ``v1.34``."""
    return _MINOR_ONLY.fullmatch(version) is not None


def reached(version: str, target: str) -> bool:
    """Whether ``version`` is the target or newer. A target without a patch is any patch of that minor, prereleases of
    it too, unlike ``Release.is_of``. ValueError for what is no version."""
    now, wanted = KubeVersion.parse(version), KubeVersion.parse(target)
    if is_minor(target):
        return (now.major, now.minor) >= (wanted.major, wanted.minor)
    return now >= wanted


def nothing_to_do(version: str, target: str) -> MemberBlocker | None:
    """Why a member at ``version`` is left alone: at the target, or ahead of it, for an update never goes back; None if
    it is behind. ValueError for what is no version."""
    if not reached(version, target):
        return None
    now, wanted = KubeVersion.parse(version), KubeVersion.parse(target)
    mine, asked = ((each.major, each.minor, each.patch)[: 2 if is_minor(target) else 3] for each in (now, wanted))
    # A vendor's build of a plain target is that version.
    ahead = now > wanted if wanted.pre or wanted.build else mine > asked
    words = f"already ahead: {version} is newer than {target}" if ahead else f"already at {version}"
    return MemberBlocker(reason=ALREADY_AT_TARGET, message=words)


def step_refused(version: str, target: str, chain: bool = False) -> MemberBlocker | None:
    """Why a member cannot go from ``version`` to ``target``: that is more than one minor ahead (unless with ``chain``),
    or of another major, a lower one too; None if it can, and if it is there or ahead. ValueError for what is no
    version."""
    now, wanted = KubeVersion.parse(version), KubeVersion.parse(target)
    if now.major != wanted.major:
        return MemberBlocker(reason=PRECONDITION_FAILED, message=f"{version} and {target} differ in the major version")
    if chain:
        return None
    distance = now.minor_distance(wanted)
    if distance <= 1:
        return None
    left_out = ["..."] if distance - 1 > _NAMED else []
    path = " -> ".join([version, *minors_between(now, wanted, _NAMED), *left_out, target])
    message = f"{target} is {distance} minors ahead of {version}; a control plane goes one at a time: {path}"
    message += "; a run by hand goes that way with chain: true"
    return MemberBlocker(reason=PRECONDITION_FAILED, message=message)


def minors_between(version: KubeVersion, target: KubeVersion, most: int | None = None) -> tuple[str, ...]:
    """The minors that lie between two versions of one major, such as ``v1.34``, from the lowest on; ``most`` of them at
    most. Empty if the target is less than two minors higher."""
    return tuple(f"v{version.major}.{minor}" for minor in range(version.minor + 1, target.minor)[:most])


def too_old_for(kubelet: str, server: str) -> bool:
    """Whether an API server of that version may not have such a kubelet any more, or it is of another major; one that
    is too new is not looked for. ValueError for what is no version."""
    node, at = KubeVersion.parse(kubelet), KubeVersion.parse(server)
    behind = KUBELET_BEHIND if (node.major, node.minor) >= KUBELET_WIDENED else KUBELET_BEHIND - 1
    return node.major != at.major or at.minor - node.minor > behind


def kubelet_skew_blocker(kubelets: t.Mapping[str, str], server: str) -> MemberBlocker | None:
    """Why an API server of that version may not be there yet: the first pool with kubelets that are too old for it;
    None if there is none. ``kubelets`` are the oldest versions by pool (an empty name: of nodes without one); what is
    no version tells nothing. ValueError if ``server`` is no version, and a kubelet is one."""
    for pool, kubelet in kubelets.items():
        if is_version(kubelet) and too_old_for(kubelet, server):
            named, it = (f"pool {pool} has", "it") if pool else ("nodes have", "them")
            words = f"{named} kubelets of {kubelet}, too old for an API server of {server}; upgrade {it} before"
            return MemberBlocker(reason=PRECONDITION_FAILED, message=words)
    return None


def view_at_version(
    view: MemberView, version: str, target: str, *, automatic: bool = False, chain: bool = False
) -> MemberView:
    """The view, which says nothing of that yet, of a member at ``version``: nothing to do for the target, refused by
    ``step_refused`` (with ``chain`` as there), or neither. Runs that a profile made (``automatic``) skip who is
    refused, others fail there; what is no version fails in all."""
    try:
        done, far = nothing_to_do(version, target), step_refused(version, target, chain)
    except ValueError as error:
        return replace(view, fail=MemberBlocker(reason=PRECONDITION_FAILED, message=str(error)))
    if far and automatic:
        return replace(view, skip=replace(far, reason=MINOR_GAP))
    return replace(view, skip=done, fail=far)


def is_version(text: str) -> bool:
    """Whether a text can be read as a version of Kubernetes."""
    try:
        KubeVersion.parse(text)
    except ValueError:
        return False
    return True
