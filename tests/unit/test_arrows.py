# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The arrows between the rooms hold, and the checker sees each kind of violation."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.tests.arrows import MAX_LINES, MOST_FILES, violations

ROOT = Path(__file__).resolve().parents[2]


def test_the_house_keeps_its_arrows():
    assert violations(ROOT) == []


def planted(tmp_path: Path, path: str, text: str) -> list[str]:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return violations(tmp_path)


def test_folders_that_are_crowded_and_files_that_need_each_other_are_found(tmp_path):
    for number in range(MOST_FILES):
        assert planted(tmp_path, f"plugins/module_utils/_fleet/f{number}.py", "") == []
    assert "_fleet: 19 files" in planted(tmp_path, "plugins/module_utils/_fleet/one_more.py", "")[0]
    (tmp_path / "plugins/module_utils/_fleet/f0.py").unlink()
    (tmp_path / "plugins/module_utils/_fleet/f1.py").write_text("from .f2 import a")
    found = planted(tmp_path, "plugins/module_utils/_fleet/f2.py", "from . import f1")
    assert found == ["circle: _fleet.f1 -> _fleet.f2 -> _fleet.f1"]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("_core/a/b.py", "from ..._kube.client import Client", "_core imports _kube"),
        ("_core/a/b.py", "from ... import _store", "_core imports _store"),
        (
            "_kube/b.py",
            "import ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.plan",
            "_kube imports _fleet",
        ),
        ("_report/b.py", "from .._fleet.plan import Plan", "_report imports _fleet"),
        ("_store/b.py", "def f():\n    from .._local import binaries", "_store imports _local"),
        ("_fleet/b.py", "from .._report.text import table", "_fleet imports _report"),
        ("_fleet/b.py", "from ansible.errors import AnsibleError", "_fleet imports ansible"),
        ("_kube/b.py", "import urllib3", "_kube imports urllib3 without a guard"),
        ("_core/b.py", "try:\n    import yaml\nexcept ImportError:\n    yaml = None", "_core imports the library yaml"),
        ("_core/b.py", "import os", "_core imports os"),
        ("_core/b.py", "from urllib import request", "_core imports urllib.request"),
        ("_core/b.py", "from datetime import datetime\nx = datetime.now()", "_core reads the clock"),
        ("_core/utils.py", "", "says nothing"),
        ("_core/b.py", "\n" * (MAX_LINES + 1), "401 lines"),
        ("../action/b.py", "from ..module_utils._kube import client", "skins imports _kube"),
        ("../../tests/unit/__init__.py", "", "makes tests/ a package"),
        ("_core/values/b.py", "from ..objects import kinds", "values imports objects, which stands above it"),
        ("_core/new/b.py", "from ..objects import kinds", "new has no floor"),
    ],
)
def test_a_planted_violation_is_found(tmp_path, path, text, expected):
    found = planted(tmp_path, f"plugins/module_utils/{path}", text)
    assert len(found) == 1
    assert expected in found[0]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("_core/a/b.py", "import json\nimport jsonpatch\nfrom ..errors import FleetError"),
        (
            "_kube/b.py",
            "try:\n    import urllib3\nexcept ImportError:\n    urllib3 = None\nfrom .._core.errors import FleetError",
        ),
        ("_kube/b.py", "def load():\n    import kubernetes\n    return kubernetes"),
        ("../action/b.py", "from ansible.errors import AnsibleError\nfrom ..module_utils._fleet import plan"),
        ("../filter/b.py", "from ..module_utils._core.errors import FleetError\nfrom ..plugin_utils import _verb"),
    ],
)
def test_what_is_allowed_passes(tmp_path, path, text):
    assert planted(tmp_path, f"plugins/module_utils/{path}", text) == []


def test_a_library_in_two_files_of_a_room_is_found(tmp_path):
    text = "def load():\n    import kubernetes\n"
    planted(tmp_path, "plugins/module_utils/_kube/a.py", text)
    (found,) = planted(tmp_path, "plugins/module_utils/_kube/b.py", text)
    assert "_kube imports kubernetes in 2 files" in found
