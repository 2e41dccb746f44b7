# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Asking a member's API server, by its own dry run (``validate``), which objects it would refuse; what is in namespaces
or of kinds that are made in the same run is not tried. Nothing is written."""

from __future__ import annotations

import typing as t

from ...._core.cluster.silence import WHOLE_MEMBER
from ...._core.objects.identity import ObjectKey
from ...._core.plan.member import CREATE, MemberStep
from ...._core.plan.outcome import APPLY_FAILED, ObjectFailure
from ...._core.resources.applyset import MANAGER
from ...._kube.apply import apply_object
from ...._kube.client import KubeClient
from ...._kube.errors import ApiError
from .fresh_groups import defined_group


def dry_run(
    client: KubeClient, steps: t.Sequence[MemberStep], live: t.Mapping[ObjectKey, t.Mapping[str, t.Any]], force: bool
) -> tuple[ObjectFailure, ...]:
    """What the server would refuse of these steps, all of which write, over what is ``live``; ``force`` takes fields
    over. Not tried are deletions, and what is in a namespace that these steps create: a dry run creates none. For that
    reason an unknown kind is no failure in a group of which they define kinds. ApiError if the member as a whole
    fails."""
    created = {each.id.name for each in steps if _is_namespace(each) and each.action == CREATE}
    defined = set(filter(None, map(defined_group, steps)))
    failures = []
    for step in steps:
        manifest = step.applied_over(live.get(step.id.key))
        if manifest is None or (step.id.namespace and step.id.namespace in created):
            continue
        try:
            apply_object(client, manifest, MANAGER, force=force, dry_run=True)
        except ApiError as error:
            if error.code in WHOLE_MEMBER:
                raise
            if error.code != "unknown-kind" or step.id.group not in defined:
                failures.append(ObjectFailure(id=step.id, reason=APPLY_FAILED, message=error.message))
    return tuple(failures)


def _is_namespace(step: MemberStep) -> bool:
    """Whether the step is about a Namespace."""
    return (step.id.group, step.id.kind) == ("", "Namespace")
