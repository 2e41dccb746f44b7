# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.rights import rights

QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}}
SUBJECT = {"kind": "User", "name": "fleet"}


def envelope(folder: Path, kind: str) -> str:
    api = "placement.kubernetes-fleet.io/v1beta1"
    metadata = {"name": "e", "namespace": "shop"}
    path = folder / "envelope.yml"
    path.write_text(json.dumps({"apiVersion": api, "kind": kind, "metadata": metadata, "data": {"a": QUOTA}}))
    return str(path)


def test_rights_are_about_what_is_in_an_envelope_and_not_about_envelopes(tmp_path: Path) -> None:
    text = json.dumps(rights("apply", SUBJECT, (), [envelope(tmp_path, "ResourceEnvelope")]))
    assert "resourcequotas" in text and "resourceenvelopes" not in text


def test_an_envelope_that_would_be_refused_gives_no_rights(tmp_path: Path) -> None:
    with pytest.raises(FleetError) as refused:
        rights("apply", SUBJECT, (), [envelope(tmp_path, "ClusterResourceEnvelope")])
    assert refused.value.code == "enveloped-scope"
