# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One write to one object on a member (apply, adopt, prune, release), by server-side apply, in up to 5 attempts, on the
very state that the step was decided on (``member-moved``, ``conflict``); whether others' fields are taken over."""

from __future__ import annotations

import typing as t

from ...._core.errors import FleetError
from ...._core.objects.identity import ObjectId, metadata_of
from ...._core.objects.placements.rollout_strategy import ApplyStrategy
from ...._core.plan.member import (
    ADOPT,
    PRUNE,
    RELEASE,
    MemberStep,
)
from ...._core.resources.applyset import MANAGER, PART_OF_LABEL
from ...._kube.apply import apply_object, delete_object
from ...._kube.client import KubeClient
from ...._kube.discovery import resource_of
from ...._kube.errors import ApiError
from .gone import GONE, live_object

MERGE_PATCH = "application/merge-patch+json"
ATTEMPTS = 5

Live = t.Mapping[str, t.Any]


def forces(strategy: ApplyStrategy) -> bool:
    """Whether fields that others own are taken over, as by KubeFleet's apply strategies: with ``ClientSideApply``, else
    by the ``force`` of ``serverSideApplyConfig``."""
    if strategy.type == "ClientSideApply":
        return True
    return bool(strategy.server_side_apply_config and strategy.server_side_apply_config.force)


def write_object(
    client: KubeClient, step: MemberStep, live: Live | None, force: bool, permit: t.Callable[[], None]
) -> dict[str, t.Any] | None:
    """Carries out the step; what the server answered, an empty mapping for PRUNE and RELEASE, also where the object is
    gone already; None where one that is to leave bears another label by now, and stays. ``permit`` is called before
    each attempt but the first, and may raise.

    Each write over what was seen (``live``) names its resourceVersion, so that one which reaches the server late, after
    another run has written, is refused there. An object that only others changed meanwhile (its status, say), or took
    away, is written all the same, in up to ``ATTEMPTS`` attempts, but not for ADOPT, nor where ``live`` is None: that
    is ApiError ``conflict``, as are fields of others without ``force``. FleetError ``member-moved`` when another run of
    ours changed it, or another object is there now; other ApiErrors as they come.
    """
    seen = live
    for _attempt in range(ATTEMPTS):
        try:
            return _written(client, step, seen, force)
        except ApiError as error:
            if error.code in GONE and step.action in (PRUNE, RELEASE):
                return {}
            if error.code != "conflict" or error.conflicts or seen is None or step.action == ADOPT:
                raise
        permit()
        now = live_object(client, step.id)
        if now is not None and step.manifest is None and _holder(now) != _holder(seen):
            return None  # it has gone over to another placement meanwhile
        seen = _unmoved(now, seen, client.server_name, step.id)
        if seen is None and step.action in (PRUNE, RELEASE):
            return {}
    raise ApiError("conflict", "others keep changing it", client.server_name, "run again")


def _written(client: KubeClient, step: MemberStep, seen: Live | None, force: bool) -> dict[str, t.Any]:
    """One attempt over what was seen; the server's answer, empty for PRUNE and RELEASE. ApiError of the request."""
    version = str(metadata_of(seen or {}).get("resourceVersion", ""))
    manifest = step.applied_over(seen)
    if manifest is not None:
        metadata = {**metadata_of(manifest), **({"resourceVersion": version} if version else {})}
        return apply_object(client, {**manifest, "metadata": metadata}, MANAGER, force=force)
    path = resource_of(client, step.id).path(step.id.namespace, step.id.name)
    uid = str(metadata_of(seen or {}).get("uid", ""))
    if step.action == PRUNE:
        delete_object(client, path, uid=uid, resource_version=version)
    else:  # the object stays as it is, without our label
        metadata = {"uid": uid, "resourceVersion": version, "labels": {PART_OF_LABEL: None}}
        client.request("PATCH", path, {"metadata": metadata}, {"fieldManager": MANAGER}, MERGE_PATCH)
    return {}


def _unmoved(now: Live | None, seen: Live, where: str, each: ObjectId) -> Live | None:
    """The object as it is now, None if it is gone. FleetError ``member-moved`` if it is another one, or our field
    manager has written it since."""
    if now is None:
        return None
    if metadata_of(now).get("uid") == metadata_of(seen).get("uid") and _ours(now) == _ours(seen):
        return now
    raise FleetError("member-moved", f"another run has changed {each} since it was looked at", where, "run again")


def _holder(live: Live) -> t.Any:
    """The ID of the ApplySet that the object is part of, None without one."""
    return (metadata_of(live).get("labels") or {}).get(PART_OF_LABEL)


def _ours(live: Live) -> list[t.Any]:
    """What the object's ``managedFields`` have of our field manager's applies."""
    rows = metadata_of(live).get("managedFields") or ()
    return [row for row in rows if row.get("manager") == MANAGER and row.get("operation") == "Apply"]
