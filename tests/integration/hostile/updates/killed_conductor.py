# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conductor in a process of its own that ends itself by SIGKILL where it is told to. Arguments as one JSON object.

``begun``: the upgrade runs, and nothing but the intent is recorded. ``intent``: the upgrade was not begun yet.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / ".cache" / "collections"))

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor import operation
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import Pace
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import detached
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import open_session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.conducting import ConductOptions, carry_on
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_completion import user
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests


def die(*_arguments: t.Any, **_options: t.Any) -> t.NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def main() -> None:
    told = json.loads(sys.argv[1])
    if told["point"] == "begun":
        operation.Operation._refer = die  # type: ignore[method-assign]
    else:
        detached.start = die
    options = {"records": told["options"], "holder": "first"}
    session = open_session(options, dict(os.environ), writes=False)
    who = user(session)
    run = define_run(
        session.records, told["name"], update_manifests([], [told["run"]], strict=False), write=True, who=who
    ).run
    wish = ConductOptions(drivers=told["drivers"], operations=told["operations"], pace=Pace(interval=0.2))
    carry_on(session, run, wish, who)


if __name__ == "__main__":
    main()
