# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One browser for all tests of reports, and two reports: of a fleet as people have it, and of one that is attacked."""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from chromium import Browser, chromium
from sample_fleet import MARKUP
from sample_report import Made, made


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Browser]:
    """An error, and not a skipped test, where there is none: it says how to get one."""
    with chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("report"), "")


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("attacked"), MARKUP)
