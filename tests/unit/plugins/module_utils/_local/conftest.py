# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""No test asks a publisher's server; those of release files name a server of their own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def releases_off(monkeypatch):
    monkeypatch.setenv("FLEET_RELEASES", "off")
