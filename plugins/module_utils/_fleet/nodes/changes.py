# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Edits of NodePools and node classes in files (``changes``, ``no-changes``), held against what members have; what a
file tells of the network that new subnets are judged by (``network-invalid``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._core.disruption.members.class_changes import KINDS, ClassChange, class_changes
from ..._core.disruption.members.member_nodes import Document, MemberNodes
from ..._core.disruption.members.network_file import read_network
from ..._core.disruption.subnet_change import Network
from ..._core.errors import FleetError
from ..._store.manifests import read_manifests
from ..files import json_file, refuse_empty


def network_of(path: str | None) -> Network:
    """What a file tells of the network, nothing without one. FleetError ``network-missing``, ``network-invalid``."""
    return read_network(json_file(path, "network-missing", "network-invalid"), path) if path else Network()


@dataclass(frozen=True, kw_only=True)
class ChangeQuestion:
    """NodePools and node classes as they are to become (``documents``), and the ``network`` that new subnets are judged
    by. ``override``: a good subnet may be left for another good one."""

    documents: tuple[Document, ...]
    network: Network = Network()
    override: bool = False

    @classmethod
    def of(cls, options: t.Mapping[str, t.Any]) -> ChangeQuestion:
        """By the options ``changes`` (paths), ``network`` and ``allow_subnet_move`` of the verb. FleetError as of
        reading manifests, ``bad-option`` for empty ``changes``, ``no-changes`` where the files hold no object of
        ``KINDS``, ``network-missing``, ``network-invalid``."""
        refuse_empty(options, "changes")
        paths, network = options["changes"], options["network"]
        documents = tuple(each.document for each in read_manifests(paths) if each.document.get("kind") in KINDS)
        if not documents:
            hint = f"changes are foreseen of {', '.join(KINDS)}"
            raise FleetError("no-changes", "no file holds an object that nodes come from", ", ".join(paths), hint)
        return cls(documents=documents, network=network_of(network), override=options["allow_subnet_move"])

    def answered(self, members: t.Iterable[MemberNodes]) -> tuple[ClassChange, ...]:
        """What becomes of the nodes of these members, document by document; FleetError as of ``class_changes``."""
        return class_changes(members, self.documents, self.network, self.override)
