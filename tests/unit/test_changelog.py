# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""CHANGELOG.md is what the released fragments make of it, and what comes next stands in fragments."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "changelogs"
RELEASES = yaml.safe_load((FOLDER / "changelog.yaml").read_text(encoding="utf-8"))["releases"]
FRAGMENTS = sorted((FOLDER / "fragments").glob("*.yml"))
MARKUP_OF_DOCUMENTATION = re.compile(r"\b[A-Z]\([^)]*\)")


def test_the_changelog_is_made_and_not_written(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "changelogs", ignore=shutil.ignore_patterns(".plugin-cache.yaml"))
    shutil.copy(ROOT / "galaxy.yml", tmp_path)
    made = subprocess.run(
        [sys.executable, "-m", "antsibull_changelog", "generate"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    written = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8") == written


def test_the_version_that_is_worked_on_is_released_or_comes_next():
    version = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    newest = max(RELEASES, key=numbers)
    assert numbers(version) >= numbers(newest)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split("-")[0].split(".")))


@pytest.mark.parametrize("file", FRAGMENTS, ids=lambda file: file.name)
def test_a_fragment_was_not_released_and_is_written_in_its_own_markup(file):
    """Fragments are reStructuredText: ``name``, where documentation has C(name)."""
    assert file.name not in {name for release in RELEASES.values() for name in release.get("fragments", ())}
    assert MARKUP_OF_DOCUMENTATION.findall(file.read_text(encoding="utf-8")) == []
