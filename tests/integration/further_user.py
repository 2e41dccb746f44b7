# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Further users of a local cluster, for what an account may not do."""

from __future__ import annotations

import hashlib
import json
import typing as t
from datetime import datetime
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._local.certificates import CertificateIdentity, sign
from ansible_collections.gitops.fleet.plugins.module_utils._local.kubeconfigs import write_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local.state import load


def client_kubeconfig(
    cluster_dir: Path, user: str, groups: t.Iterable[str] = (), not_after: datetime | None = None
) -> Path:
    """A kubeconfig for a further user of a cluster, made in its folder; permissions come from RBAC alone.

    Repeated for the same user, groups and end it gives the same file with a fresh key.
    """
    groups = tuple(groups)
    digest = hashlib.sha256(json.dumps([user, groups, str(not_after)]).encode()).hexdigest()[:12]
    state = load(cluster_dir)
    assert state is not None
    identity = CertificateIdentity(f"client-{digest}", user, groups)
    pki = cluster_dir / "pki"
    sign(pki, identity, not_after=not_after)
    path = cluster_dir / f"kubeconfig-{digest}"
    write_kubeconfig(path, state.name, state.server, pki, identity)
    return path
