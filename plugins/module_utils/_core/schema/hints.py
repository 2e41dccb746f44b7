# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What somebody means who writes a field or another word that is not known: where it stands, or what it is like."""

from __future__ import annotations

import difflib
import typing as t

from ..values.field_path import below
from .fields import OBJECT, fields_by_name
from .translations import english_field

_DEEPEST = 3  # levels below an unknown field where one of its name is looked for
LONGEST_WORD = 200  # what is compared with known words, which takes a hundred times its size in memory
_NO_VERSIONS = "a strategy holds no versions; they stand in spec.managedClusterUpdate of the UpdateRun"
_VERSIONS = (
    "kubernetesVersion",
    "version",
    "upgrade",
    "nodeImageSelection",
    "nodeImageVersion",
    "managedClusterUpdate",
)
# By class and field: what somebody means who writes a field that is not there.
_HINTS: dict[tuple[str, str], str] = {
    ("Budget", "timeZone"): "schedules of budgets are in UTC",
    ("Disruption", "expireAfter"): "it stands at spec.template.spec.expireAfter",
    ("Disruption", "terminationGracePeriod"): "it stands at spec.template.spec.terminationGracePeriod",
    ("NodeClassRef", "apiVersion"): "v1 has the group alone, without the version: write group",
    ("NodeClaimTemplateSpec", "kubelet"): "v1 has it in the node class: spec.kubelet of EC2NodeClass or AKSNodeClass",
    ("NodeClaimTemplateSpec", "resources"): "only limits of the pool bound what its nodes have",
    ("NodePoolSpec", "ttlSecondsAfterEmpty"): "write spec.disruption.consolidateAfter",
    ("NodePoolSpec", "ttlSecondsUntilExpired"): "write spec.template.spec.expireAfter",
    ("PlacementPolicy", "taints"): "taints are read from spec.taints of MemberCluster",
    ("NodeImageSelection", "version"): "images are named under customNodeImageVersions, and only for Custom",
    ("NodeImageSelection", "nodeImageVersion"): "images are named under customNodeImageVersions, and only for Custom",
    **{
        (cls, field): _NO_VERSIONS
        for cls in ("UpdateStrategySpec", "UpdateRunStrategy", "UpdateStage", "UpdateGroup")
        for field in _VERSIONS
    },
}


def did_you_mean(word: str, known: t.Iterable[str]) -> str:
    """``did you mean ...?`` with the known word of ``most_like``; empty if there is none."""
    found = most_like(word, known)
    return f"did you mean {found[0]}?" if found else ""


def most_like(word: str, known: t.Iterable[str], most: int = 1, alike: float = 0.7) -> list[str]:
    """The known words most like the given one, whatever their case, the likest first: at most ``most``, each ``alike``
    (0 to 1) at least. Empty for a word of more than ``LONGEST_WORD`` letters."""
    if len(word) > LONGEST_WORD:
        return []
    by_case = {each.lower(): each for each in known}
    return [by_case[each] for each in difflib.get_close_matches(word.lower(), by_case, most, alike)]


def meant_field(cls: type, key: str, path: str) -> str:
    """The hint for a field that ``cls`` does not have, in the object at ``path``: our own, else by translation, else
    where it stands within that object, else by likeness; empty if there is none."""
    fields = fields_by_name(cls)
    own = _HINTS.get((cls.__name__, key)) or english_field(key, fields)
    return own or _deeper(cls, key, path) or did_you_mean(key, fields)


def _deeper(cls: type, key: str, path: str) -> str:
    """``it stands at ...`` with the nearest place within an object at ``path`` where a field has this very name, lists
    and the status apart; empty if no place has it, or several as near."""
    level = [(path, cls)]
    for _depth in range(_DEEPEST):
        level = [
            (below(place, each.json), each.shape.cls)
            for place, holder in level
            for each in fields_by_name(holder).values()
            if each.shape.form == OBJECT and each.json != "status"
        ]
        found = [place for place, holder in level if key in fields_by_name(holder)]
        if found:
            return f"it stands at {below(found[0], key)}" if len(found) == 1 else ""
    return ""
