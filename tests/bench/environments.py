# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long Pulumi's engine takes for a fleet: made from nothing, asked for again, taken down."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import typing as t
from pathlib import Path

INTEGRATION = Path(__file__).resolve().parents[1] / "integration"


def bench_pulumi_up_1_4() -> t.Iterator[tuple[str, float, str, str]]:
    """Stack ``demo``: a hub and four members, with definitions, rights, logins and objects on the hub."""
    from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
    from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec

    sys.path.insert(0, str(INTEGRATION))
    from engine_stack import EngineStack, engine_environment, project_copy

    cluster.prepare([ClusterSpec("hub"), ClusterSpec("member", "1.35", "fleet")], say=print)
    setup = f"1 hub, 4 members with 3 simulated nodes each, binaries built, load {os.getloadavg()[0]:.1f} before"
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        project_copy(folder)
        stack = EngineStack(folder, engine_environment(folder), "demo")
        try:
            stack("stack", "init", "demo").well()
            stack.set("folder", str(folder / "made"))
            made, seconds = _timed(lambda: stack.up().well())
            yield "pulumi_up_1_4", seconds, "s", f"{setup}; {made.changes['create']} resources made"
            same, seconds = _timed(lambda: stack.up().well())
            assert set(same.changes) == {"same"}, same.changes
            yield "pulumi_up_1_4_same", seconds, "s", f"{setup}; asked for a second time"
            _gone, seconds = _timed(lambda: stack("destroy", "--yes", "--skip-preview").well())
            yield "pulumi_up_1_4_down", seconds, "s", f"{setup}; taken down"
        finally:
            for one in cluster.clusters(stack.clusters):
                cluster.absent(one.name, stack.clusters)


def _timed(work: t.Callable[[], t.Any]) -> tuple[t.Any, float]:
    """Seconds on the clock."""
    began = time.monotonic()
    return work(), time.monotonic() - began
