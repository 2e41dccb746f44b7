# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of UpdateRun (version, chain, images: ``version-missing``, ``images-missing``) and Gate over several fields,
and what of them can be changed (``spec-of-started-run``, ``gate-state``; Azure Fleet's update runs)."""

from __future__ import annotations

import typing as t

from ...schema.finding import Finding
from ...schema.rules import Found
from ...values.node_image import split_image
from ...values.update_states import COMPLETED, NEW, PENDING
from .gate import Gate
from .run_status import UpdateRunStatus
from .strategy_rules import (
    STRATEGY,
    check_schedule,
    check_sequence,
    warn_sequence,
)
from .update_run import (
    CONTROL_PLANE_ONLY,
    CUSTOM,
    LATEST,
    NODE_IMAGE_ONLY,
    ManagedClusterUpgradeSpec,
    NodeImageSelection,
    UpdateRun,
)

_VERSION = "spec.managedClusterUpdate.upgrade.kubernetesVersion"
_CHAIN = "spec.managedClusterUpdate.upgrade.chain"
_SELECTION = "spec.managedClusterUpdate.nodeImageSelection"
_IMAGES = f"{_SELECTION}.customNodeImageVersions"
_NO_STATUS = UpdateRunStatus()


def check_update_run(run: UpdateRun) -> t.Iterator[Found]:
    """What is wrong with an UpdateRun over several fields: its sequence, as of ``check_sequence`` (``two-sequences``
    for a name beside it), ``version-not-wanted``, ``version-missing``, ``chain-not-wanted``, ``images-missing``,
    ``images-not-wanted``, ``duplicate-image-family``."""
    spec = run.spec
    if spec.strategy:
        yield from check_sequence(spec.strategy, STRATEGY)
        if spec.update_strategy_id:
            message = "updateStrategyId and strategy exclude each other"
            yield Found("two-sequences", "spec.updateStrategyId", message, "keep one of them")
    yield from _check_version(spec.managed_cluster_update.upgrade)
    yield from _check_chain(run)
    if spec.managed_cluster_update.node_image_selection:
        yield from _check_images(spec.managed_cluster_update.node_image_selection)


def warn_update_run(run: UpdateRun) -> t.Iterator[Finding]:
    """What is given in an UpdateRun and has no effect: in its own sequence what ``warn_sequence`` finds, then a
    selection of images other than Latest beside ControlPlaneOnly (``images-not-touched``)."""
    if run.spec.strategy:
        yield from warn_sequence(run.spec.strategy, STRATEGY)
    selection = run.spec.image_selection
    if run.spec.managed_cluster_update.upgrade.type == CONTROL_PLANE_ONLY and selection != LATEST:
        reason = "ControlPlaneOnly leaves nodes and their images alone, so this has no effect"
        yield Finding("images-not-touched", _SELECTION, _SELECTION, selection, selection, reason)


def check_gate(gate: Gate) -> t.Iterator[Found]:
    """The problem of a Gate of type ScheduledStart without a schedule (``schedule-missing``), or of another one that
    has one (``schedule-not-wanted``), as of ``check_schedule``."""
    path = "spec.scheduledStartProperties"
    yield from check_schedule(gate.spec.gate_type, gate.spec.scheduled_start_properties, path)


def check_update_run_update(old: UpdateRun, new: UpdateRun) -> t.Iterator[Found]:
    """What an update of an UpdateRun may not change: the spec once it was started (``spec-of-started-run``), and the
    status ever, which is a record (``status-not-yours``). A status that is left out, or empty, changes nothing."""
    if old.status.phase != NEW and old.spec != new.spec:
        message = "the run was started, and its spec cannot be changed any more"
        yield Found("spec-of-started-run", "spec", message, "make a new run")
    if new.status not in (old.status, _NO_STATUS):
        message = "status is the record of the run and is not set by manifests"
        yield Found("status-not-yours", "status", message, "leave it out; starting, stopping and skipping are actions")


def check_gate_update(old: Gate, new: Gate) -> t.Iterator[Found]:
    """What an update of a Gate may not change: its spec, which follows from the run (``gate-changed``), and its state
    but from Pending to Completed (``gate-state``)."""
    if old.spec != new.spec:
        yield Found("gate-changed", "spec", "the spec of a gate cannot be changed", "gates follow from their run")
    before, after = old.status.state, new.status.state
    if before != after and (before, after) != (PENDING, COMPLETED):
        hint = "to go on without it, skip its group or stage"
        yield Found("gate-state", "status.state", f"a gate that is {before} cannot become {after}", hint)


def _check_version(upgrade: ManagedClusterUpgradeSpec) -> t.Iterator[Found]:
    """``version-not-wanted`` or ``version-missing``, by the type of the upgrade; none for an empty type."""
    if upgrade.type == NODE_IMAGE_ONLY and upgrade.kubernetes_version:
        message = "NodeImageOnly leaves the Kubernetes version as it is"
        yield Found("version-not-wanted", _VERSION, message, "leave it out, or take type Full")
    if upgrade.type and upgrade.type != NODE_IMAGE_ONLY and not upgrade.kubernetes_version:
        message = f"{upgrade.type} needs the version to upgrade to"
        yield Found("version-missing", _VERSION, message, "give a version such as 1.34.2")


def _check_chain(run: UpdateRun) -> t.Iterator[Found]:
    """``chain-not-wanted`` of a run for node images alone, and of one that a profile made."""
    upgrade = run.spec.managed_cluster_update.upgrade
    if upgrade.chain and upgrade.type == NODE_IMAGE_ONLY:
        message = "NodeImageOnly leaves the Kubernetes version as it is, so there are no minors to go through"
        yield Found("chain-not-wanted", _CHAIN, message, "leave it out, or take type Full")
    if upgrade.chain and run.spec.auto_upgrade_profile_id:
        message = "runs of a profile move nobody by more than one minor"
        yield Found("chain-not-wanted", _CHAIN, message, "leave it out, or make a run by hand")


def _check_images(selection: NodeImageSelection) -> t.Iterator[Found]:
    """``images-missing`` or ``images-not-wanted``, by the type of the selection, and for each named image of the family
    of an earlier one ``duplicate-image-family``."""
    images = selection.custom_node_image_versions
    if selection.type == CUSTOM and not images:
        yield Found("images-missing", _IMAGES, "Custom needs the node images to be named")
    if selection.type and selection.type != CUSTOM and images:
        message = f"{selection.type} chooses node images itself"
        yield Found("images-not-wanted", _IMAGES, message, "leave them out, or take type Custom")
    families: dict[str, int] = {}
    for index, image in enumerate(images):
        family, _version = split_image(image.version)
        if family and families.setdefault(family, index) != index:
            message = f"image {families[family]} is of family {family} too, and a node gets one"
            yield Found("duplicate-image-family", f"{_IMAGES}[{index}].version", message)
