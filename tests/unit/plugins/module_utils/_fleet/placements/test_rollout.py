# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When a rollout looks at the clusters that others wait for; tests/simulation drives the whole of it."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.decide import RolloutState
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.waiting import NOT_READY, BindingWait
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import Outcomes
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.rollout import RolloutSteering
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SILENCE = FleetError("unreachable", "no route")


class Looks:
    """Who is looked at in a rollout in which all wait for ``a``, and ``b`` does not answer."""

    def __init__(self) -> None:
        self.at: list[set[str]] = []
        self.answer: MemberOutcome | None = None
        looked = {"a": MemberOutcome(cluster="a", done=True), "b": MemberOutcome(cluster="b", error=SILENCE)}
        plan = made.plan(made.wanted(), made.facts("a", "b"))
        self.steering = RolloutSteering(plan, self.reach, looked, print, lambda: "", NOW, to_the_end=True)
        self.steering.waits = (
            BindingWait(binding="web-a", cluster="a", wants="", reason=NOT_READY, message="1 of 2 replicas"),
        )
        self.state = RolloutState(bindings=tuple(RolloutBinding(binding=each) for each in plan.bindings))

    def reach(self, clusters: t.Container[str], write: bool) -> Outcomes:
        if self.answer:
            return {"a": self.answer}
        assert not write
        self.at.append({each for each in ("a", "b") if each in clusters})
        return {each: MemberOutcome(cluster=each, error=SILENCE) for each in self.at[-1]}

    def turns(self, begin: datetime) -> list[set[str]]:
        """Who is looked at in the ten seconds from then on, a turn in each."""
        self.at.clear()
        for seconds in range(10):
            now = begin + timedelta(seconds=seconds)
            self.steering.keep(self.state, now)
            self.steering.wait(0)
            list(self.steering.drain_events(self.state, now))
        return list(self.at)


def test_clusters_that_are_waited_for_are_looked_at_every_2_s_also_where_the_clock_is_set_back() -> None:
    looks = Looks()
    assert looks.turns(NOW + timedelta(seconds=11)) == [{"a", "b"}, *[{"a"}] * 4]
    assert looks.turns(NOW - timedelta(hours=1)) == [{"a", "b"}, *[{"a"}] * 4]


def test_where_all_is_there_already_the_end_of_a_run_leaves_nothing_unknown() -> None:
    """All that hold it are gone to once more; those for whom there was no time were Unknown in the status."""
    looks = Looks()
    steering, seen = looks.steering, MemberOutcome(cluster="a")
    cut = FleetError("interrupted", "interrupted by SIGTERM")
    steering.outcomes["a"] = seen
    for outcome, kept in (
        (MemberOutcome(cluster="a", error=cut), seen),
        (half := MemberOutcome(cluster="a", error=cut, doubtful=made.OBJECTS[0].id), half),
    ):
        looks.answer = outcome
        steering._retries = {"a"}
        steering.wait(0)
        list(steering.drain_events(looks.state, NOW))
        assert steering.outcomes["a"] is kept
