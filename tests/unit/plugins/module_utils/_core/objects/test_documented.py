# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The manifests that docs/objects.md shows are taken as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read

PAGE = Path(__file__).resolve().parents[6] / "docs" / "objects.md"
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
SHOWN = [document for block in BLOCKS for document in yaml.safe_load_all(block)]


@pytest.mark.parametrize("document", SHOWN, ids=lambda document: document["kind"])
def test_shown_manifests_are_taken_without_a_word(document):
    assert read(document, strict=True).findings == ()
