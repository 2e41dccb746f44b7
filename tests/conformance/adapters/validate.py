# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``validate``: a new NodePool at the API server."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool_schema import admit

CLAIM = {
    "nodeClassRef": {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default"},
    "requirements": [],
}


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    claim = CLAIM | {key: input[key] for key in ("expireAfter", "terminationGracePeriod") if key in input}
    spec = {"template": {"spec": claim}} | {key: input[key] for key in ("disruption",) if key in input}
    got = admit({"spec": spec})
    errors = sorted({(each.path, each.type) for each in got.errors})
    out: dict[str, t.Any] = {
        "accepted": got.accepted,
        "errors": [{"field": path, "type": kind} for path, kind in errors],
    }
    out["unknown_fields"] = sorted(got.unknown_fields)
    if got.accepted:
        stored = got.stored["spec"]
        out |= {"disruption": stored["disruption"], "expireAfter": stored["template"]["spec"]["expireAfter"]}
        out["decodes"] = got.decodes
    return out
