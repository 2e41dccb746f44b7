# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``validate``: a new NodePool at the API server."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool_schema import (
    BUDGETS,
    LONE,
    admit,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.rules import Found

CLAIM = {
    "nodeClassRef": {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default"},
    "requirements": [],
}
# Kubernetes' words for kinds of errors. Rules over several fields are not judged there where one of these came first.
BLOCKING = {
    "wrong-type": "FieldValueTypeInvalid",
    "missing-field": "FieldValueRequired",
    "not-one-of": "FieldValueNotSupported",
    "too-many-items": "FieldValueTooMany",
}
UNKNOWN = "unknown-field"


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    claim = CLAIM | {key: input[key] for key in ("expireAfter", "terminationGracePeriod") if key in input}
    spec = {"template": {"spec": claim}} | {key: input[key] for key in ("disruption",) if key in input}
    got = admit({"spec": spec})
    blocked = any(each.code in BLOCKING for each in got.problems)
    refused = [each for each in got.problems if each.code != UNKNOWN and not (blocked and each.code == LONE)]
    told = sorted({row for each in refused for row in errors(each)})
    out: dict[str, t.Any] = {
        "accepted": not refused,
        "errors": [{"field": path, "type": kind} for path, kind in told],
    }
    out["unknown_fields"] = sorted(each.path for each in got.problems if each.code == UNKNOWN)
    if not refused:
        stored = got.stored["spec"]
        out |= {"disruption": stored["disruption"], "expireAfter": stored["template"]["spec"]["expireAfter"]}
        out["decodes"] = got.decodes
    return out


def errors(found: Found) -> t.Iterator[tuple[str, str]]:
    """Fields and types of a problem; of a rule over several fields a server names the list, and of a value that is no
    text it also says that it is none of those listed."""
    kinds = BLOCKING | {"duplicate-value": "FieldValueDuplicate"}
    yield BUDGETS if found.code == LONE else found.path, kinds.get(found.code, "FieldValueInvalid")
    if found.code == "wrong-type" and re.search(r"\.(consolidationPolicy|reasons\[\d+\])$", found.path):
        yield found.path, BLOCKING["not-one-of"]
