# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an attempt tells of itself, and what holds it back; how operations are followed is shown through the executor,
in test_executor.py."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases import versions
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import COMPLETED
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.operation import (
    Attempt,
    Begun,
    Blocked,
    Ended,
    Event,
    Operation,
    Pace,
    Said,
    Teller,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    NOT_BEGUN,
    SUCCEEDED,
    OperationProgress,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.conductor.test_executor import (
    Scripted,
    work,
)


def test_a_sentence_once_and_the_end_with_what_was_there_before() -> None:
    told: list[Event] = []
    teller = Teller("run.m.1", told.append)
    for words in ("", "half way", "half way", "nearly", "half way"):
        teller.say(words)
    assert told == [Said(operation="run.m.1", message=each) for each in ("half way", "nearly", "half way")]
    teller.version_before = "v1.35.4"
    teller.begun("process:1")
    assert told[-1] == Begun(operation="run.m.1", reference="process:1", version_before="v1.35.4")
    ended = teller.ended(COMPLETED, version_after="v1.36.3")
    assert (
        ended == Ended(operation="run.m.1", result=COMPLETED, version_before="v1.35.4", version_after="v1.36.3")
        and len(told) == 4
    ), "the end is given back, and told by who runs the attempt"


@pytest.mark.parametrize("resumed", [False, True])
def test_what_may_not_begin_any_more_waits_for_its_turn_anew(resumed: bool) -> None:
    """U12: meant, and not begun when it might have been. It is asked as the last thing before the beginning."""
    driver = Scripted(polls=[OperationProgress(state=NOT_BEGUN), OperationProgress(state=SUCCEEDED)])
    frozen = Blocked(operation="run-1.east.1", reason="WindowClosed", anew=True)
    held: list[Blocked] = [frozen]

    def made() -> Operation:
        return Operation(
            Attempt(
                driver=driver,
                work=work(),
                goal=versions,
                pace=Pace(),
                tell=lambda _event: None,
                clock=lambda: 0.0,
                pause=lambda _seconds: None,
                held_back=lambda: next(iter(held), None),
            )
        )

    assert made().run(resumed) == frozen
    assert driver.calls == [*(["poll"] if resumed else []), "observe"]
    held.clear()
    driver.seen, driver.polls = ["v1.35.4", "v1.36.3"], [OperationProgress(state=SUCCEEDED)]
    ended = made().run(False)
    assert isinstance(ended, Ended) and ended.result == COMPLETED and "begin" in driver.calls


def test_what_has_begun_is_followed_whatever_holds_others_back() -> None:
    driver = Scripted(seen=["v1.36.3"])
    attempt = Attempt(
        driver=driver,
        work=work(reference="ref-1"),
        goal=versions,
        pace=Pace(),
        tell=lambda _event: None,
        clock=lambda: 0.0,
        pause=lambda _seconds: None,
        held_back=lambda: Blocked(operation="run-1.east.1", reason="WindowClosed", anew=True),
    )
    ended = Operation(attempt).run(resumed=True)
    assert isinstance(ended, Ended) and ended.result == COMPLETED and driver.calls == ["poll", "observe"]
