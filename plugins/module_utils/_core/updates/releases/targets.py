# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The goal of an update run with its fixed images, and what a member has to do for it: ordered steps of control plane
and pools, or why it is skipped (``AlreadyAtTarget``, ``MinorGap``, ``OutOfSupport``), fails, or waits.

The control plane goes first, but for pools whose kubelets would be too old for it, then the pools one after another;
nothing goes back (version skew policy of Kubernetes).
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime

from ...objects.updates.run_status import NodeImageSelectionStatus, SelectedNodeImageVersion
from ...objects.updates.update_run import (
    CONSISTENT,
    CONTROL_PLANE_ONLY,
    CUSTOM,
    FULL,
    LATEST,
    NODE_IMAGE_ONLY,
    UpdateRun,
)
from ...values.kube_version import KubeVersion
from ...values.node_image import split_image
from ...values.update_states import (
    ALREADY_AT_TARGET,
    IMAGE_MISSING_FOR_POOL,
    MINOR_GAP,
    OUT_OF_SUPPORT,
    PRECONDITION_FAILED,
)
from ..run import MemberBlocker, MemberView
from .node_images import (
    Cluster,
    ImageChoice,
    Images,
    Pool,
    choose_image,
    common_images,
)
from .releases import LocationReleases, Releases, version_obstacle
from .upgrade_path import upgrade_path
from .versions import (
    is_minor,
    kubelet_skew_blocker,
    nothing_to_do,
    reached,
    step_refused,
    too_old_for,
)

CONTROL_PLANE, NODE_POOL = "ControlPlane", "NodePool"


@dataclass(frozen=True, kw_only=True)
class UpgradeTarget:
    """The goal of an update run: its ``type`` (Full, ControlPlaneOnly, NodeImageOnly), a version, or a minor alone,
    empty for images alone, and the ``selection`` of images. ``images`` are those that Consistent has fixed, or that
    Custom names, by family; for Latest they only tell one goal of a profile from the next.

    ``automatic``: a profile made the run. ``chain``: several minors are gone one by one. ``long_term_support`` as the
    profile says.
    """

    type: str
    version: str = ""
    selection: str = LATEST
    images: Images = field(default_factory=dict, hash=False)
    automatic: bool = False
    chain: bool = False
    long_term_support: bool = False


@dataclass(frozen=True, kw_only=True)
class UpgradeStep:
    """One thing to do to ``what``, ControlPlane or NodePool (``pool``). ``version`` and ``image`` are what comes, empty
    where it stays; ``from_version`` and ``before`` are version and image until then, empty where not known; ``why`` is
    said of an image, or of a pool that goes before its control plane; ``drops_snapshot`` as of ``ImageChoice``."""

    what: str
    pool: str = ""
    version: str = ""
    image: str = ""
    before: str = field(default="", compare=False)
    from_version: str = field(default="", compare=False)
    why: str = ""
    drops_snapshot: bool = False


@dataclass(frozen=True, kw_only=True)
class UpgradeWork:
    """What a member has to do. ``left_out`` says of pools why they stay, but for those of which an obstacle tells. With
    ``skip``, ``fail`` or obstacles the steps are not taken now; ``undone``: a ``skip`` leaves something that is behind
    as it is."""

    steps: tuple[UpgradeStep, ...] = ()
    left_out: tuple[str, ...] = ()
    skip: MemberBlocker | None = None
    fail: MemberBlocker | None = None
    obstacles: tuple[MemberBlocker, ...] = ()
    undone: bool = False

    def view(self, name: str) -> MemberView:
        """Skip, failure and obstacles for ``decide``, of a member in the fleet that has no windows."""
        return MemberView(name=name, skip=self.skip, fail=self.fail, obstacles=self.obstacles)


def upgrade_work(cluster: Cluster, target: UpgradeTarget, known: Releases, now: datetime) -> UpgradeWork:
    """What the member has to do for the target at ``now``; a skip, also for one pool alone, counts before a failure,
    and both before obstacles. A pool whose version or image is not known is taken to be behind. ``known`` is what
    catalogues say. ValueError where a version that has to be compared is none (of a pool it may be empty); KeyError as
    of ``choose_image``."""
    place = known.at(cluster.provider, cluster.location)
    choices = _choices(cluster, target, known, now)
    skip = next((each.skip for _pool, each in choices if each.skip), None)
    goals = [(pool, _goal(pool, each, target)) for pool, each in choices]
    pools = [(pool, step) for pool, step in goals if step is not None]
    climbs = target.type != NODE_IMAGE_ONLY and not reached(cluster.version, target.version)
    stay = (each for (_p, each), (_q, step) in zip(choices, goals, strict=True) if step is None and not each.obstacle)
    left_out = tuple(each.skip.message if each.skip else each.why for each in stay)
    waits = tuple(each.obstacle for _pool, each in choices if each.obstacle)
    if skip is None and not (climbs or pools or waits):
        skip = _nothing_to_do(cluster, target, left_out, bool(choices) and all(each.unknown for _pool, each in choices))
    skip = skip or _unsupported(cluster, target, known, now)
    verdict = UpgradeWork(left_out=left_out, skip=skip, undone=skip is not None and bool(climbs or pools))
    if verdict.skip is not None:
        return verdict
    if climbs:
        verdict = _judged(verdict, cluster, target)
    if verdict.skip or verdict.fail:
        return verdict
    path = _path(cluster.version, target.version, place, now) if climbs else ()
    needed = path or ((target.version,) if any(step.version for _pool, step in pools) else ())
    missing = (version_obstacle(place, each, cluster.location, now) for each in needed)
    obstacles = (*(each for each in missing if each), *waits)
    return replace(_planned(verdict, cluster, path, pools), obstacles=obstacles)


def fixed_images(
    run: UpdateRun, clusters: t.Iterable[Cluster], known: Releases, now: datetime
) -> NodeImageSelectionStatus | None:
    """The images of a run with selection Consistent, as of ``common_images``, or those that it names (Custom), sorted
    by family, one of each; there may be none. None for Latest, which fixes none, and where the control plane alone is
    upgraded.

    To be recorded as a preview when the run is created, for good when it is first started.
    """
    selection = run.spec.image_selection
    if selection == LATEST or run.spec.managed_cluster_update.upgrade.type == CONTROL_PLANE_ONLY:
        return None
    images = common_images(clusters, known, now) if selection == CONSISTENT else target_of(run).images
    names = (f"{family}-{version}" for family, version in sorted(images.items()))
    return NodeImageSelectionStatus(
        selected_node_image_versions=tuple(SelectedNodeImageVersion(version=each) for each in names)
    )


def target_of(run: UpdateRun) -> UpgradeTarget:
    """The goal that is written in a run, its version and images resolved as far as its status says (Custom names its
    own); of two images of a family the last counts."""
    update, status = run.spec.managed_cluster_update, run.status
    selection = update.node_image_selection
    named = [each.version for each in selection.custom_node_image_versions] if selection else []
    if status.node_image_selection and run.spec.image_selection != CUSTOM:
        named = [each.version for each in status.node_image_selection.selected_node_image_versions] or named
    return UpgradeTarget(
        type=update.upgrade.type,
        version=status.target_version or update.upgrade.kubernetes_version,
        selection=run.spec.image_selection,
        images=dict(split_image(each) for each in named),
        automatic=bool(run.spec.auto_upgrade_profile_id),
        chain=update.upgrade.chain,
        long_term_support=run.spec.long_term_support,
    )


def _choices(cluster: Cluster, target: UpgradeTarget, known: Releases, now: datetime) -> list[tuple[Pool, ImageChoice]]:
    """Each pool with what comes of its image, in order; none where the control plane alone is upgraded."""
    if target.type == CONTROL_PLANE_ONLY:
        return []
    return [(pool, choose_image(pool, cluster, target.selection, target.images, known, now)) for pool in cluster.pools]


def _goal(pool: Pool, choice: ImageChoice, target: UpgradeTarget) -> UpgradeStep | None:
    """What the pool gets, version, image or both; None if it stays as it is. Custom leaves images alone that it does
    not name, not versions. ValueError for what is no version."""
    held = choice.stays and pool.snapshot and target.selection == LATEST
    wanted = target.version if target.type == FULL and not held else ""
    version = wanted if wanted and not (pool.version and reached(pool.version, wanted)) else ""
    if not (version or choice.version):
        return None
    return UpgradeStep(
        what=NODE_POOL,
        pool=pool.name,
        version=version,
        image=choice.version,
        before=pool.image,
        why=choice.why if choice.version else "",
        drops_snapshot=choice.drops_snapshot,
    )


def _nothing_to_do(cluster: Cluster, target: UpgradeTarget, left_out: tuple[str, ...], unknown: bool) -> MemberBlocker:
    """Why the member is skipped, with what is said of its pools. By type: the control plane alone; it and every pool,
    version and image; images alone. With ``unknown`` images of all pools nobody can say that they are at a target.
    ValueError for what is no version."""
    words = "; ".join(left_out)
    if target.type == NODE_IMAGE_ONLY:
        reason = IMAGE_MISSING_FOR_POOL if unknown else ALREADY_AT_TARGET
        return MemberBlocker(reason=reason, message=words or "it has no node pools")
    found = nothing_to_do(cluster.version, target.version) or MemberBlocker(reason=ALREADY_AT_TARGET)
    return replace(found, message="; ".join(filter(None, (found.message, words))))


def _unsupported(cluster: Cluster, target: UpgradeTarget, known: Releases, now: datetime) -> MemberBlocker | None:
    """The skip of a member whose minor is out of support, else None. Automatic runs alone leave it; with long-term
    support older ones are in it.

    A member without it is not left alone where the profile asks for it: it fails where it is behind, see ``_judged``.
    ValueError for a version that is none.
    """
    if not target.automatic or target.long_term_support or cluster.long_term_support:
        return None
    span = known.support(cluster.provider, now)
    if span is None:
        return None
    oldest, newest = span
    at = KubeVersion.parse(cluster.version)
    if (at.major, at.minor) >= oldest:
        return None
    words = f"{cluster.version} is out of support: {oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]} are in it"
    return MemberBlocker(reason=OUT_OF_SUPPORT, message=words)


def _judged(verdict: UpgradeWork, cluster: Cluster, target: UpgradeTarget) -> UpgradeWork:
    """The verdict with what ``step_refused`` says of the control plane: automatic runs skip a member that is refused,
    others, which may chain, fail there. One without the long-term support that a profile asks for fails. ValueError for
    what is no version."""
    if target.automatic and target.long_term_support and not cluster.long_term_support:
        words = f"the profile asks for long-term support, which {cluster.name} does not have"
        return replace(verdict, fail=MemberBlocker(reason=PRECONDITION_FAILED, message=words))
    far = step_refused(cluster.version, target.version, target.chain and not target.automatic)
    if far and target.automatic:
        return replace(verdict, skip=replace(far, reason=MINOR_GAP), undone=True)
    return replace(verdict, fail=far) if far else verdict


def _planned(
    verdict: UpgradeWork, cluster: Cluster, path: tuple[str, ...], pools: t.Sequence[tuple[Pool, UpgradeStep]]
) -> UpgradeWork:
    """The verdict with its steps: control plane through the versions of ``path``, then pools; one whose kubelets are
    too old for the next version comes up to that before it. It fails where such a pool is not moved by the run, or
    would be too old still. ValueError for what is no version."""
    kubelets = {pool.name: pool.version for pool in cluster.pools if pool.version}
    moving = {pool.name for pool, step in pools if step.version}
    at, steps = cluster.version, []
    for version in path:
        for name in [name for name, kubelet in kubelets.items() if too_old_for(kubelet, version)]:
            if name not in moving or too_old_for(at, version):
                return replace(verdict, fail=kubelet_skew_blocker({name: kubelets[name]}, version))
            why = f"its kubelets are too old for {version}"
            held = kubelets[name]
            steps.append(UpgradeStep(what=NODE_POOL, pool=name, version=at, from_version=held, why=why))
            kubelets[name] = at
        steps.append(UpgradeStep(what=CONTROL_PLANE, version=version, from_version=at))
        at = version
    rest = (replace(step, from_version=kubelets.get(step.pool, "")) for _pool, step in pools)
    return replace(verdict, steps=(*steps, *rest))


def _path(version: str, target: str, place: LocationReleases | None, now: datetime) -> tuple[str, ...]:
    """The versions that the control plane goes through to a target that it has not reached, that one last. On the way
    that is the newest patch which is generally available in the place; the minor alone where none is known, or the
    target is a minor, too. FleetError as of ``upgrade_path``."""
    *between, last = upgrade_path(version, target)
    if not is_minor(target):
        between = [_newest_patch(minor, place, now) for minor in between]
    return (*between, last)


def _newest_patch(minor: str, place: LocationReleases | None, now: datetime) -> str:
    """The newest patch of the minor that is generally available in the place, the minor itself without one; written as
    the minor is, with v or without. ValueError for what is no version."""
    found = [each for each in place.versions if each.is_of(minor) and each.is_generally_available(now)] if place else []
    return f"{'v' * minor.startswith('v')}{found[-1].text.removeprefix('v')}" if found else minor
