# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The mark of a member whose MemberCluster is missing, though its FleetMember is there (``record-missing``): its
labels, its taints and whether it is evacuated are not known."""

from __future__ import annotations

from dataclasses import replace

from ...errors import Problem
from ...schema.meta import ObjectMeta
from .member_cluster import MemberCluster

# As an annotation; and as the code of what is told of it.
MARK = "gitops.fleet/record-missing"
RECORD_MISSING = "record-missing"
IN_SHORT = "its MemberCluster is missing: join it again with its labels, or let it leave"


def without_record(name: str) -> MemberCluster:
    """What stands for the missing MemberCluster of that member: its name and the mark, no spec, no status."""
    return with_record_missing(MemberCluster(metadata=ObjectMeta(name=name)))


def with_record_missing(cluster: MemberCluster) -> MemberCluster:
    """A copy of the cluster with the annotation ``gitops.fleet/record-missing``, the mark; the rest stays."""
    metadata = cluster.metadata
    return replace(cluster, metadata=replace(metadata, annotations={**metadata.annotations, MARK: "true"}))


def lacks_record(cluster: MemberCluster) -> bool:
    """Whether the member's MemberCluster is missing, by the mark: its labels and taints are not known then."""
    return MARK in cluster.metadata.annotations


def record_missing_problem(name: str) -> Problem:
    """The problem ``record-missing`` of the member of that name, with the ways to mend it."""
    text = (
        "its MemberCluster is missing, so that its labels and taints, and whether it was evacuated, are not known:"
        " nothing new is placed there, and what it holds stays as it is"
    )
    hint = (
        "join it again with its labels and taints (gitops.fleet.join), and evacuate it again if it was evacuated;"
        " or let it leave the fleet (gitops.fleet.leave)"
    )
    return Problem(RECORD_MISSING, text, name, hint)
