# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Kinds that no verb carries out yet: where such objects lie they are told, for whoever wrote them counts on them."""

from __future__ import annotations

import typing as t

from .._core.errors import FleetError, Problem
from .._core.objects.identity import metadata_of
from .._core.objects.kinds import KIND_OF
from .._kube.client import KubeClient
from .._store.hub_objects import hub_objects
from .._store.manifests import Manifest

KINDS = (
    "StagedUpdateRun",
    "AutoUpgradeProfile",
)
CODE = "not-carried-out"
HINT = "it changes nothing until a version carries it out; take it away, or do by hand what it says"
SHOWN = 5


def in_files(manifests: t.Iterable[Manifest]) -> tuple[Problem, ...]:
    """A finding for each object of these kinds among the manifests."""
    return tuple(
        Problem(
            CODE, _text([str(metadata_of(each.document).get("name", "?"))], each.document["kind"]), each.where, HINT
        )
        for each in manifests
        if each.document.get("kind") in KINDS and _is_ours(each.document)
    )


def on_hub(hub: KubeClient) -> tuple[Problem, ...]:
    """A finding for each of these kinds of which objects lie on the hub; one where that could not be told."""
    found, unknown = [], []
    for name in KINDS:
        try:
            names = [str(metadata_of(each).get("name", "?")) for each in hub_objects(hub, name, metadata_only=True)]
        except FleetError as error:
            unknown.append(f"{name} [{error.code}]")
            continue
        if names:
            found.append(Problem(CODE, _text(names, name), "hub", HINT))
    if unknown:
        message = f"whether there are objects that no verb carries out could not be told: {', '.join(unknown)}"
        found.append(Problem("not-looked-for", message, "hub"))
    return tuple(found)


def _is_ours(document: t.Mapping[str, t.Any]) -> bool:
    return str(document.get("apiVersion", "")).rpartition("/")[0] == KIND_OF[document["kind"]].group


def _text(names: t.Sequence[str], kind: str) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{kind} {', '.join(sorted(names)[:SHOWN])}{more}: no verb carries out this kind yet"
