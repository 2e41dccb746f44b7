# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How far the clock of another machine may be from ours, before what it says of the time is refused."""

from __future__ import annotations

from datetime import timedelta

CLOCK_SKEW = timedelta(minutes=5)
