# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of ``kind``, as values: its configuration and its commands."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

# Seconds that kind waits for the control plane.
WAIT = 300


@dataclass(frozen=True, kw_only=True)
class KindSpec:
    """``port`` is the loopback port of the API server: a free one that kind chose would be another after a restart.
    ``kubeconfig`` is the path of the administrator's, never that of the user."""

    name: str
    image: str
    port: int
    workers: int
    kubeconfig: str

    @property
    def context(self) -> str:
        """The context that kind writes into the kubeconfig."""
        return f"kind-{self.name}"

    def configuration(self) -> str:
        """The cluster as kind is told of it, as JSON, which is YAML too: one control plane, and the workers."""
        roles = ["control-plane", *["worker"] * self.workers]
        document: dict[str, t.Any] = {
            "kind": "Cluster",
            "apiVersion": "kind.x-k8s.io/v1alpha4",
            "networking": {"apiServerAddress": "127.0.0.1", "apiServerPort": self.port},
            "nodes": [{"role": role, "image": self.image} for role in roles],
        }
        return json.dumps(document)

    def create_command(self) -> list[str]:
        """The command that makes the cluster, with ``configuration`` as its input; nothing is run here."""
        place = ["--kubeconfig", self.kubeconfig]
        return ["kind", "create", "cluster", "--name", self.name, "--config", "-", *place, "--wait", f"{WAIT}s"]

    def delete_command(self) -> list[str]:
        """The command that deletes the cluster; nothing is run here."""
        return ["kind", "delete", "cluster", "--name", self.name, "--kubeconfig", self.kubeconfig]

    def export_command(self) -> list[str]:
        """The command that writes the kubeconfig of a cluster that is there; nothing is run here."""
        return ["kind", "export", "kubeconfig", "--name", self.name, "--kubeconfig", self.kubeconfig]


LIST = ["kind", "get", "clusters"]
