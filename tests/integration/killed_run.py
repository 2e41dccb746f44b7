# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""An apply in a process of its own that ends itself by SIGKILL where it is told to. Arguments as one JSON object."""

from __future__ import annotations

import json
import os
import signal
import sys
import typing as t
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".cache" / "collections"))

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements import rollout
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history.roll_back import RollBack
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member import member_apply
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import PlacementRequest, run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import open_session


def die(*_arguments: t.Any, **_options: t.Any) -> t.NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def dies_of_news(
    steering: rollout.RolloutSteering, *arguments: t.Any, real: t.Any = rollout.RolloutSteering.drain_events
) -> t.Any:
    return die() if steering._news else real(steering, *arguments)


def arm(point: str) -> None:
    """``intent``: the records know the plan, no member does. ``object``: a member has its intent and the first object.
    ``members``: all members are done, the records do not know. Empty: it lives."""
    if point == "intent":
        member_apply.Parent.write = die
    elif point == "object":
        real, calls = member_apply._carry_out, []

        def second(*arguments: t.Any) -> t.Any:
            calls.append(arguments)
            return real(*arguments) if len(calls) == 1 else die()

        member_apply._carry_out = second
    elif point:
        rollout.RolloutSteering.drain_events = dies_of_news  # type: ignore[method-assign]


def main() -> None:
    told = json.loads(sys.argv[1])
    arm(told["point"])
    session = open_session({"records": told["options"], "holder": told["holder"]}, {}, writes=True)
    ways = ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(seconds=told["patience"])))
    if told["roll_back"]:
        asked = PlacementRequest(names=(told["roll_back"],), roll_back=RollBack(), write=True, ways=ways)
    else:
        asked = PlacementRequest(src=tuple(told["src"]), resources=tuple(told["resources"]), write=True, ways=ways)
    run(session, asked)


if __name__ == "__main__":
    main()
