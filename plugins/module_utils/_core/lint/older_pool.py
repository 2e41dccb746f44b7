# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""NodePools of karpenter.sh/v1beta1 (``unsupported-version``): what all has to move for v1, together or not at all."""

from __future__ import annotations

import copy
import typing as t
from collections.abc import Mapping

from ..disruption.budgets.lint import ERROR
from ..objects.karpenter.node_pool import API_VERSION, DEFAULT_POLICY
from ..objects.karpenter.reading import MISPLACED, OLDER_GROUP, PLACE
from ..values.field_path import field, set_at
from .remark import LintProblem

OLDER = "karpenter.sh/v1beta1"
_WAIT, _POLICY = "spec.disruption.consolidateAfter", "spec.disruption.consolidationPolicy"
_KUBELET = "spec.template.spec.kubelet"
_CONSENT = (
    "changing spec.template marks all existing nodes of the pool Drifted, and they are replaced within its budgets"
)


def as_v1(document: Mapping[str, t.Any]) -> tuple[Mapping[str, t.Any], LintProblem]:
    """A copy of the pool as v1 has it, and the remark ``unsupported-version`` that it is to be written so. The remark
    has no mended form where there is a kubelet block, which stays in the copy: it has no place in v1 but in the node
    class. A form that changes the template asks for consent."""
    moves = _moves(document)
    out = copy.deepcopy(dict(document))
    for path, value in moves.items():
        set_at(out, path, value)
    text = "Karpenter serves v1beta1 no longer (v1.1)"
    if field(document, _KUBELET) is not None:
        return out, LintProblem(
            code="unsupported-version",
            level=ERROR,
            path="apiVersion",
            message=f"{text}; write {API_VERSION}, once kubelet stands in the node class",
        )
    return out, LintProblem(
        code="unsupported-version",
        level=ERROR,
        path="apiVersion",
        message=f"{text}; write {API_VERSION}, and what v1 has elsewhere with it",
        mended=moves,
        consent=_CONSENT if any(path.startswith("spec.template") for path in moves) else "",
    )


def _moves(document: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What v1 wants otherwise, by field path, in the order in which it is to be set; None takes a field away."""
    moves: dict[str, t.Any] = {"apiVersion": API_VERSION}
    if field(document, _POLICY) == "WhenUnderutilized":
        moves[_POLICY] = DEFAULT_POLICY
    if isinstance(field(document, "spec.disruption"), Mapping) and field(document, _WAIT) is None:
        moves[_WAIT] = "0s"  # what v1beta1 did without it
    expiry = field(document, MISPLACED)
    if expiry is not None:
        moves |= {MISPLACED: None, PLACE: expiry}
    older = field(document, OLDER_GROUP)
    if isinstance(older, str):
        moves |= {OLDER_GROUP: None, OLDER_GROUP.replace("apiVersion", "group"): older.partition("/")[0]}
    return moves
