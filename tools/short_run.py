# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tests `make test` leaves to `make test ALL=1`, so that a change is judged in minutes and a release in full.

Where CI gives a time after which no test against clusters begins, those that are left by then are skipped, and told: on
a slow machine that is an answer about most, in place of none about all.
"""

from __future__ import annotations

import typing as t
from collections import defaultdict
from zlib import crc32

# Where pytest writes what it leaves out, one test a line; without it everything runs.
SETTING = "FLEET_LEFT_OUT"
# Seconds since 1970.
UNTIL = "FLEET_UNTIL"
SLOW = "tests/integration/"
STORES = ("sqlite", "hub")
# Tables of which all rows come from one play, or are one request each: leaving rows out saves nothing, and hides them.
TABLES = ("tests/integration/objects/test_against_api_server.py", "tests/integration/playbooks/test_bad_inputs.py")


def left_out(tests: t.Iterable[str]) -> set[str]:
    """Of tests (pytest's ids), in the order of collection, what a short run passes over: of a test against clusters all
    cases but the first and the last, unless they are rows of ``TABLES``. Of two cases that differ by where records are
    kept, one; which one depends on the name of the test."""
    cases = defaultdict(list)
    for name in tests:
        if name.startswith(SLOW) and not name.startswith(TABLES):
            cases[name.partition("[")[0]].append(name)
    left = set()
    for function, names in cases.items():
        left |= {*names[1:-1]}
        if names == [f"{function}[{store}]" for store in STORES]:
            left.add(names[crc32(function.encode()) % 2])
    return left


def is_late(test: str, environ: t.Mapping[str, str], now: float) -> bool:
    """Whether a test (pytest's id) must not begin any more."""
    return test.startswith(SLOW) and UNTIL in environ and now > float(environ[UNTIL])


def as_documented(lines: t.Iterable[str]) -> set[str]:
    """The tests of files that pytest wrote, as documents name them."""
    return {line.strip().removeprefix("tests/") for line in lines}
