# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test`: binaries, all of pytest with real API servers, molecule; closes with the number of tests.

Tests against clusters mostly wait, so they run in two halves beside each other: ``CLUSTERS`` here, all other folders of
tests/integration in a process of their own (``aside``), after what computes and molecule; its output comes when it is
done. ``python tools/test.py molecule [SCENARIO]`` runs molecule alone, for `make molecule`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

import browser
import requirements as table
from binaries import FleetError, build
from steps import ROOT, Step, StepFailed, call, run

COMPUTING = ("tests/unit", "tests/conformance", "tests/simulation", "tests/mutation", "tests/records")
# In a process of their own: the library of the engine brings threads of its own, and other tests fork.
PULUMI = ("tests/pulumi",)
INTEGRATION = ROOT / "tests" / "integration"
CLUSTERS = tuple(f"tests/integration/{name}" for name in ("fleet", "hostile", "karpenter", "updates"))
OTHER_CLUSTERS = tuple(
    sorted(
        {f"tests/integration/{file.relative_to(INTEGRATION).parts[0]}" for file in INTEGRATION.rglob("test_*.py")}
        - {*CLUSTERS}
    )
)
SCENARIOS = ROOT / "extensions" / "molecule"
BUILD = ROOT / "build"
REPORTS = {
    COMPUTING: BUILD / "junit-computing.xml",
    PULUMI: BUILD / "junit-pulumi.xml",
    CLUSTERS: BUILD / "junit-clusters.xml",
    OTHER_CLUSTERS: BUILD / "junit-other-clusters.xml",
}
TOTALS, ASIDE = BUILD / "totals.txt", BUILD / "aside.json"


@dataclass
class Totals:
    """Tests of pytest and scenarios of molecule together."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """What failed, then the sums: whoever gets the end of a long output alone knows both."""
        return "\n".join([*self.failures, f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"])

    def add(self, passed: int, failed: int, skipped: int = 0, failures: t.Iterable[str] = ()) -> None:
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        self.failures += failures

    def stored(self) -> str:
        """For another process, which gives it to ``add_stored``."""
        return json.dumps([self.passed, self.failed, self.skipped, self.failures])

    def add_stored(self, text: str) -> None:
        self.add(*json.loads(text))


def binaries() -> None:
    try:
        build()
    except FleetError as error:
        raise StepFailed(str(error)) from None


def chromium() -> None:
    """Without one the tests of reports are errors."""
    try:
        browser.provide()
    except browser.NoBrowser as error:
        raise StepFailed(str(error)) from None


def pytest(totals: Totals, folders: tuple[str, ...]) -> None:
    report = REPORTS[folders]
    report.unlink(missing_ok=True)
    try:
        call(sys.executable, "-m", "pytest", "--durations=20", f"--junitxml={report}", *folders)
    finally:
        count(totals, report)


def count(totals: Totals, report: Path) -> None:
    """Adds what pytest's own report says; no report is a failure of its own."""
    if not report.exists():
        totals.add(0, 1, failures=[f"FAILED {report.stem}: pytest left no report"])
        return
    for suite in ET.parse(report).getroot().iter("testsuite"):
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        totals.add(int(suite.get("tests", 0)) - failed - skipped, failed, skipped, failures(suite))


def failures(suite: ET.Element) -> t.Iterator[str]:
    """A line for each test that failed: where it is, and the first line of what it said."""
    for case in suite.iter("testcase"):
        for kind in ("failure", "error"):
            for told in case.iter(kind):
                first = (told.get("message") or "").strip().partition("\n")[0]
                yield f"FAILED {case.get('classname')}::{case.get('name')}: {first[:200]}"


def requirements() -> None:
    """Each test that docs/requirements.md and its like name has run in this very run, and was not skipped."""
    if not all(report.exists() for report in REPORTS.values()):
        raise StepFailed("pytest left no report")
    rows = table.rows(table.TABLE.read_text(encoding="utf-8"))
    named = [test for row in rows for test in row.tests]
    named += [test for page in table.PAGES for test in table.named_in(page.read_text(encoding="utf-8"))]
    missing = table.not_run(REPORTS.values(), named)
    if missing:
        raise StepFailed("documents name tests that did not run:\n  " + "\n  ".join(missing))
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
        totals.add(0, 1, failures=[f"FAILED molecule {' '.join(names)}".rstrip()])
        raise
    totals.add(len(names or scenarios()), 0)


def aside(totals: Totals, beside: subprocess.Popen[bytes], log: Path) -> None:
    """Waits for the other process, shows what it wrote, and adds what it counted."""
    code = beside.wait()
    print(log.read_text(encoding="utf-8", errors="replace"), flush=True)
    if ASIDE.exists():
        totals.add_stored(ASIDE.read_text(encoding="utf-8"))
    else:
        totals.add(0, 1, failures=[f"FAILED beside them: it ended with {code} and counted nothing"])
    if code:
        raise StepFailed(f"it ended with {code}")


def everything(totals: Totals) -> t.Iterator[Step]:
    yield Step("binaries", binaries)
    yield Step("browser", chromium)
    log = BUILD / "aside.log"
    ASIDE.unlink(missing_ok=True)
    with log.open("wb") as output:
        beside = subprocess.Popen([sys.executable, __file__, "aside"], stdout=output, stderr=subprocess.STDOUT)
    yield Step("tests against clusters", lambda: pytest(totals, CLUSTERS))
    yield Step("beside them", lambda: aside(totals, beside, log))
    yield Step("requirements", requirements)


def main(arguments: list[str]) -> int:
    BUILD.mkdir(exist_ok=True)
    totals = Totals()
    if arguments[:1] == ["molecule"]:
        report = run([Step("binaries", binaries), Step("molecule", lambda: molecule(totals, arguments[1:]))])
    elif arguments == ["aside"]:
        computing = Step("tests that compute", lambda: pytest(totals, COMPUTING))
        others = Step("tests against other clusters", lambda: pytest(totals, OTHER_CLUSTERS))
        programs = Step("tests of Pulumi programs", lambda: pytest(totals, PULUMI))
        report = run([computing, programs, Step("molecule", lambda: molecule(totals, [])), others])
        ASIDE.write_text(totals.stored(), encoding="utf-8")
        return 1 if report.failed or totals.failed else 0
    else:
        report = run(everything(totals))
    TOTALS.write_text(f"{totals}\n", encoding="utf-8")
    print(f"\n{report}\n{totals}", flush=True)
    return 1 if report.failed or totals.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
