# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test`: binaries, all of pytest with real API servers, molecule; closes with the number of tests. In between it
is looked at whether every test that docs/requirements.md names has run.

``python tools/test.py molecule [SCENARIO]`` runs molecule alone, for `make molecule`.
"""

from __future__ import annotations

import importlib
import os
import sys
import xml.etree.ElementTree as ET

import requirements as table
from steps import ROOT, Step, StepFailed, call, run

FOLDERS = (
    "tests/unit",
    "tests/conformance",
    "tests/simulation",
    "tests/mutation",
    "tests/records",
    "tests/integration",
)
SCENARIOS = ROOT / "extensions" / "molecule"
JUNIT = ROOT / "build" / "junit.xml"
TOTALS = ROOT / "build" / "totals.txt"
LOCAL = "ansible_collections.gitops.fleet.plugins.module_utils._local.binaries"


class Totals:
    """Tests of pytest and scenarios of molecule together."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def binaries() -> None:
    """Built where they are missing; a complete cache is found in a second."""
    sys.path.insert(0, os.environ["ANSIBLE_COLLECTIONS_PATH"])
    local = importlib.import_module(LOCAL)
    for one in local.RECIPES:
        try:
            local.provide(one, say=lambda text: print(text, flush=True))
        except local.FleetError as error:
            raise StepFailed(str(error)) from None


def pytest(totals: Totals) -> None:
    JUNIT.parent.mkdir(exist_ok=True)
    JUNIT.unlink(missing_ok=True)
    folders = [folder for folder in FOLDERS if any((ROOT / folder).rglob("test_*.py"))]
    try:
        call(sys.executable, "-m", "pytest", f"--junitxml={JUNIT}", *folders)
    finally:
        count(totals)


def count(totals: Totals) -> None:
    """Adds what pytest's own report says; no report is a failure of its own."""
    if not JUNIT.exists():
        totals.failed += 1
        return
    report = ET.parse(JUNIT).getroot()
    for suite in report.iter("testsuite"):
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        totals.failed += failed
        totals.skipped += skipped
        totals.passed += int(suite.get("tests", 0)) - failed - skipped


def requirements() -> None:
    """Each test that docs/requirements.md names has run in this very run, and was not skipped."""
    if not JUNIT.exists():
        raise StepFailed("pytest left no report")
    rows = table.rows(table.TABLE.read_text(encoding="utf-8"))
    missing = table.not_run(JUNIT, [test for row in rows for test in row.tests])
    if missing:
        raise StepFailed("docs/requirements.md names tests that did not run:\n  " + "\n  ".join(missing))
    shown = sum(bool(row.tests) for row in rows)
    print(f"{shown} of {len(rows)} requirements are shown by tests that ran")


def scenarios() -> list[str]:
    """All but ``default``, which only makes and removes what the others share."""
    return sorted(file.parent.name for file in SCENARIOS.glob("*/molecule.yml") if file.parent.name != "default")


def molecule(totals: Totals, names: list[str]) -> None:
    """Those named, or all, which then share what ``default`` makes once. Without a report a failure counts as one."""
    chosen = [word for name in names for word in ("--scenario-name", name)] or ["--all"]
    try:
        call("molecule", "test", *chosen)
    except StepFailed:
        totals.failed += 1
        raise
    totals.passed += len(names or scenarios())


def main(arguments: list[str]) -> int:
    totals = Totals()
    if arguments[:1] == ["molecule"]:
        steps = [Step("binaries", binaries), Step("molecule", lambda: molecule(totals, arguments[1:]))]
    else:
        steps = [Step("binaries", binaries), Step("pytest", lambda: pytest(totals)), Step("requirements", requirements)]
        steps += [Step("molecule", lambda: molecule(totals, []))] if scenarios() else []
    report = run(steps)
    TOTALS.parent.mkdir(exist_ok=True)
    TOTALS.write_text(f"{totals}\n")
    print(f"\n{report}\n{totals}", flush=True)
    return 1 if report.failed or totals.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
