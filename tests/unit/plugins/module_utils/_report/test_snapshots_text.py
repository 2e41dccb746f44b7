# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.history import (
    KeptSnapshot,
    RolledBack,
    SnapshotRow,
    Step,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.snapshots import resource_hash
from ansible_collections.gitops.fleet.plugins.module_utils._report.snapshots_text import snapshots_text

REVISION = "0123456789abcdef0123456789abcdef01234567"


def row(index, digest="", back=None, latest=False, age=None, **differs):
    snapshot = KeptSnapshot(
        name=f"web-{index}-snapshot",
        index=index,
        hash=digest or resource_hash([]),
        manifests=(),
        revision=REVISION,
        rolled_back=back,
    )
    return SnapshotRow(placement="web", step=Step(snapshot=snapshot, **differs), latest=latest, clusters=(), age=age)


def configmaps(*names):
    return tuple(ObjectId("", "v1", "ConfigMap", "", name) for name in names)


def test_the_latest_comes_first_and_says_what_differs():
    lines = snapshots_text(
        [
            row(3, age=7300.0),
            row(4, added=configmaps("a"), removed=configmaps("b"), changed=configmaps(*"cdefgh")),
            row(5, back=RolledBack(index=3), latest=True, digest="other"),
        ]
    )
    text = " ".join(" ".join(lines).split())
    assert lines[0] == "web" and lines[2].split()[:2] == ["5", "(latest)"]
    assert "0123456789ab" in text and REVISION not in text and "2 h 1 min" in text
    assert "rolled back to 3; its content is not known any more" in text
    wide = "".join(lines).replace(" ", "").replace("0123456789ab00", "")
    assert "addedConfigMapa;removedConfigMapb;changedConfigMapc,ConfigMapd,ConfigMape,ConfigMapfand2more" in wide
    assert snapshots_text([]) == ["no snapshot is kept"]
