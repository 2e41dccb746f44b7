# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test`: binaries, pytest with real API servers, molecule; closes with the number of tests.

Tests against clusters mostly wait, so there are three streams of about the same length beside each other, each in a
process of its own: ``HERE``, and those of ``BESIDE``, whose output comes when they are done.
Many cases of one rule are left to ``python tools/test.py all``, which is `make test ALL=1`.
``python tools/test.py molecule [SCENARIO]`` runs molecule alone, for `make molecule`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import browser
import requirements as table
import short_run
from binaries import FleetError, build
from steps import ROOT, Step, StepFailed, call, run

COMPUTING = ("tests/unit", "tests/conformance", "tests/simulation", "tests/mutation", "tests/records")
# In a process of their own: the library of the engine brings threads of its own, and other tests fork.
PULUMI = ("tests/pulumi",)
INTEGRATION = ROOT / "tests" / "integration"
UPDATES = tuple(f"tests/integration/{name}" for name in ("hostile", "karpenter", "updates"))
FLEET = ("tests/integration/fleet",)
EXAMPLES = ("tests/integration/examples",)
PLAYBOOKS = ("tests/integration/playbooks",)
ENGINE = ("tests/integration/pulumi",)
OTHER_CLUSTERS = tuple(
    sorted(
        {f"tests/integration/{file.relative_to(INTEGRATION).parts[0]}" for file in INTEGRATION.rglob("test_*.py")}
        - {*UPDATES, *FLEET, *EXAMPLES, *PLAYBOOKS, *ENGINE}
    )
)
SCENARIOS = ROOT / "extensions" / "molecule"
BUILD = ROOT / "build"
REPORTS = {
    COMPUTING: BUILD / "junit-computing.xml",
    PULUMI: BUILD / "junit-pulumi.xml",
    UPDATES: BUILD / "junit-updates.xml",
    FLEET: BUILD / "junit-fleet.xml",
    EXAMPLES: BUILD / "junit-examples.xml",
    PLAYBOOKS: BUILD / "junit-playbooks.xml",
    ENGINE: BUILD / "junit-engine.xml",
    OTHER_CLUSTERS: BUILD / "junit-other-clusters.xml",
}
TOTALS = BUILD / "totals.txt"
ALL = "all"


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


def left_out(report: Path) -> Path:
    """Where pytest writes what it passed over, beside its report."""
    return report.with_suffix(".left")


def pytest(totals: Totals, folders: tuple[str, ...], everything: bool) -> None:
    report = REPORTS[folders]
    left = left_out(report)
    report.unlink(missing_ok=True)
    left.unlink(missing_ok=True)
    env = {} if everything else {short_run.SETTING: str(left)}
    try:
        call(sys.executable, "-m", "pytest", "--durations=20", f"--junitxml={report}", *folders, env=env)
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
    """Each test that docs/requirements.md and its like name has run in this very run, and was not skipped; or it was
    left to a run of all."""
    if not all(report.exists() for report in REPORTS.values()):
        raise StepFailed("pytest left no report")
    rows = table.rows(table.TABLE.read_text(encoding="utf-8"))
    named = [test for row in rows for test in row.tests]
    named += [test for page in table.PAGES for test in table.named_in(page.read_text(encoding="utf-8"))]
    files = [file for file in map(left_out, REPORTS.values()) if file.exists()]
    left = short_run.as_documented(line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    missing = table.not_run(REPORTS.values(), named, left)
    if missing:
        raise StepFailed("documents name tests that did not run:\n  " + "\n  ".join(missing))
    later = set(table.not_run(REPORTS.values(), named))
    more = sum(any(str(test) in later for test in row.tests) for row in rows)
    shown = sum(bool(row.tests) for row in rows) - more
    print(f"{shown} of {len(rows)} requirements are shown by tests that ran", end="")
    print(f", {more} more by tests or cases that `make test ALL=1` runs" if more else "")
    if late := sum(
        report.read_text(encoding="utf-8").count('message="no time is left"') for report in REPORTS.values()
    ):
        print(f"{late} tests did not begin, as the time that CI gives was over")


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


Run = t.Callable[[Totals, bool], None]


def tests_in(folders: tuple[str, ...]) -> Run:
    """What runs the tests of these folders, which have a report of their own."""
    return lambda totals, everything: pytest(totals, folders, everything)


HERE: dict[str, Run] = {
    "tests of updates and of hostile members": tests_in(UPDATES),
    "tests against other clusters": tests_in(OTHER_CLUSTERS),
}
BESIDE: dict[str, dict[str, Run]] = {
    "computing": {
        "tests that compute": tests_in(COMPUTING),
        "tests of Pulumi programs": tests_in(PULUMI),
        "tests of playbooks": tests_in(PLAYBOOKS),
    },
    "fleet": {
        "molecule": lambda totals, _everything: molecule(totals, []),
        "tests of fleets": tests_in(FLEET),
        "tests of examples": tests_in(EXAMPLES),
        "tests of Pulumi's engine": tests_in(ENGINE),
    },
}


@dataclass(frozen=True)
class Stream:
    """Those of ``BESIDE`` under one name, in a process of their own."""

    process: subprocess.Popen[bytes]
    log: Path
    counted: Path

    def ended(self, totals: Totals) -> None:
        """Waits for it, shows what it wrote, and adds what it counted."""
        code = self.process.wait()
        print(self.log.read_text(encoding="utf-8", errors="replace"), flush=True)
        if self.counted.exists():
            totals.add_stored(self.counted.read_text(encoding="utf-8"))
        else:
            totals.add(0, 1, failures=[f"FAILED {self.log.stem}: it ended with {code} and counted nothing"])
        if code:
            raise StepFailed(f"it ended with {code}")


def counted(name: str) -> Path:
    return BUILD / f"beside-{name}.json"


def started(name: str, mode: list[str]) -> Stream:
    log = BUILD / f"beside-{name}.log"
    counted(name).unlink(missing_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, __file__, "beside", name, *mode], stdout=output, stderr=subprocess.STDOUT
        )
    return Stream(process, log, counted(name))


def beside(name: str, everything: bool) -> int:
    """What the process of a stream does."""
    totals = Totals()
    report = run(Step(title, partial(each, totals, everything)) for title, each in BESIDE[name].items())
    counted(name).write_text(totals.stored(), encoding="utf-8")
    return 1 if report.failed or totals.failed else 0


def steps(totals: Totals, everything: bool) -> t.Iterator[Step]:
    yield Step("binaries", binaries)
    yield Step("browser", chromium)
    streams = {name: started(name, [ALL] if everything else []) for name in BESIDE}
    for title, each in HERE.items():
        yield Step(title, partial(each, totals, everything))
    for name, stream in streams.items():
        yield Step(f"beside them: {name}", partial(stream.ended, totals))
    yield Step("requirements", requirements)


def main(arguments: list[str]) -> int:
    BUILD.mkdir(exist_ok=True)
    totals = Totals()
    if arguments[:1] == ["molecule"]:
        report = run([Step("binaries", binaries), Step("molecule", lambda: molecule(totals, arguments[1:]))])
    elif arguments[:1] == ["beside"]:
        return beside(arguments[1], arguments[2:] == [ALL])
    else:
        report = run(steps(totals, arguments == [ALL]))
    TOTALS.write_text(f"{totals}\n", encoding="utf-8")
    print(f"\n{report}\n{totals}", flush=True)
    return 1 if report.failed or totals.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
