# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A report of 1,000 clusters by 200 placements: made from a file of records, and looked at in headless Chromium."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
import typing as t
from pathlib import Path

CLUSTERS, PLACEMENTS, TIMES = 1_000, 200, 7
SETUP = f"{CLUSTERS} clusters x {PLACEMENTS} placements"
Row = tuple[str, float, str, str]
# Milliseconds from an input to the second frame after it, when its outcome is on the screen.
MEASURED = """new Promise((done) => {{
  const field = document.querySelector({selector!r}), begun = performance.now();
  field.value = {text!r};
  field.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)));
}})"""


def bench_report() -> t.Iterable[Row]:
    """Seconds to gather and to write, the size, the first paint, and how long search and filters take."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration" / "report"))
    from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.page import report_page
    from chromium import chromium
    from sample_fleet import pools, sample_fleet, update_run

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sample = sample_fleet(folder, CLUSTERS, PLACEMENTS)
        update_run(sample)
        begun = time.perf_counter()
        found = sample.overview(pools=(pools(sample),), forecast=False)
        yield "report_gather", time.perf_counter() - begun, "s", f"{SETUP}, from a file, without a forecast"
        begun = time.perf_counter()
        page = report_page(found.as_dict())
        yield "report_write", time.perf_counter() - begun, "s", SETUP
        yield "report_size", len(page.encode()) / 1e6, "MB", SETUP
        path = folder / "report.html"
        path.write_text(page, encoding="utf-8")
        with chromium(folder) as browser:
            yield from _looked_at(browser, path)


def _looked_at(browser: t.Any, path: Path) -> t.Iterator[Row]:
    paints, ready = [], []
    for _time in range(TIMES):
        browser.open(path, page="placements")
        paints.append(browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        ready.append(browser.run("performance.getEntriesByName('ready')[0].startTime"))
    chrome = f"{SETUP}, headless Chromium, median of {TIMES}"
    yield "report_first_paint", statistics.median(paints) / 1000, "s", chrome
    yield "report_ready", statistics.median(ready) / 1000, "s", f"{chrome}, the matrix drawn"
    typed = ("eastus", "prod", "", "westeurope-1", "", "canary", "")
    for name, selector in (("clusters", "#placements .tools label:nth-of-type(1) input"),
                           ("placements", "#placements .tools label:nth-of-type(2) input")):  # fmt: skip
        took = [browser.run(MEASURED.format(selector=selector, text=each)) for each in typed]
        yield f"report_search_{name}", statistics.median(took), "ms", f"{chrome}, to the second frame after"
    filtering = MEASURED.format(selector="#placements select", text="!").replace('"input"', '"change"')
    yield "report_filter", browser.run(filtering), "ms", f"{SETUP}: clusters where a placement is not as it should be"
