# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The life of an operation with a driver that does as it is told, on a virtual clock."""

from __future__ import annotations

import threading
import typing as t
from dataclasses import dataclass, field

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases import versions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import (
    Begun,
    Blocked,
    Ended,
    Event,
    Executor,
    Pace,
    Said,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    FAILED,
    IN_PROGRESS,
    NOT_BEGUN,
    SUCCEEDED,
    UNKNOWN,
    Observation,
    OperationProgress,
    Work,
)

OLD, NEW = "v1.35.4", "v1.36.3"
DOWN = FleetError("unreachable", "no answer", "east")


class VirtualTime:
    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Scripted:
    """Answers in order, the last one for ever; an exception is raised. ``calls`` is what was asked."""

    seen: list[t.Any] = field(default_factory=lambda: [OLD, NEW])
    polls: list[t.Any] = field(default_factory=lambda: [OperationProgress(state=SUCCEEDED)])
    begin_error: BaseException | None = None
    calls: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)

    def observe(self, _member: str) -> Observation:
        self.calls.append("observe")
        answer = self._next(self.seen)
        return answer if isinstance(answer, Observation) else Observation(version=answer)

    def begin(self, _work: Work) -> str:
        self.calls.append("begin")
        if self.begin_error:
            raise self.begin_error
        return "ref-1"

    def poll(self, work: Work) -> OperationProgress:
        self.calls.append("poll")
        self.references.append(work.reference)
        return t.cast(OperationProgress, self._next(self.polls))

    @staticmethod
    def _next(answers: list[t.Any]) -> t.Any:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def work(target: str = "1.36.3", reference: str = "") -> Work:
    return Work(
        operation="run-1.east.1",
        run="run",
        member="east",
        upgrade_type="ControlPlaneOnly",
        target=target,
        reference=reference,
    )


def carried_out(
    driver: Scripted,
    one: Work | None = None,
    resumed: bool = False,
    time: VirtualTime | None = None,
    only_follow: bool = False,
) -> list[Event]:
    time = time or VirtualTime()
    executor = Executor({"east": driver}, versions, Pace(), clock=time.clock, sleep=time.sleep)
    executor.begin(one or work(), resumed=resumed, only_follow=only_follow)
    found: list[Event] = []
    while not (found and isinstance(found[-1], Ended | Blocked)):
        assert executor.wait(300), found
        found += executor.events()
    assert not executor.events()
    return found


def ended(
    driver: Scripted,
    one: Work | None = None,
    resumed: bool = False,
    time: VirtualTime | None = None,
    only_follow: bool = False,
) -> Ended:
    last = carried_out(driver, one, resumed, time, only_follow)[-1]
    assert isinstance(last, Ended), last
    return last


def test_begun_followed_and_believed_only_when_the_member_says_so():
    driver = Scripted(
        seen=[OLD, OLD, DOWN, NEW],
        polls=[
            OperationProgress(state=IN_PROGRESS, message="half"),
            OperationProgress(state=IN_PROGRESS, message="half"),
            OperationProgress(state=SUCCEEDED),
        ],
    )
    events = carried_out(driver)
    assert events == [
        Begun(operation="run-1.east.1", reference="ref-1", version_before=OLD),
        Said(operation="run-1.east.1", message="half"),
        Ended(operation="run-1.east.1", result="Completed", version_before=OLD, version_after=NEW),
    ]
    assert driver.calls == ["observe", "begin", "poll", "poll", "poll", "observe", "observe", "observe"]


@pytest.mark.parametrize(
    "version, target, words",
    [
        (NEW, "1.36.3", "already at"),
        (NEW, "1.36", "already"),
        ("v1.36.4", "1.36.3", "ahead"),
        ("v1.37.0", "1.36", "ahead"),
    ],
)
def test_at_the_target_or_above_it_is_skipped(version: str, target: str, words: str):
    driver = Scripted(seen=[version])
    end = ended(driver, work(target))
    assert (end.result, end.reason, end.version_after) == ("Skipped", "AlreadyAtTarget", version)
    assert words in end.message and "begin" not in driver.calls


def test_two_minors_are_refused_with_the_path_needed():
    driver = Scripted(seen=["v1.34.2"])
    end = ended(driver)
    assert (end.result, end.reason) == ("Failed", "PreconditionFailed")
    assert "v1.35" in end.message and "begin" not in driver.calls


@pytest.mark.parametrize(
    "seen, reason",
    [(DOWN, "Unreachable"), (Observation(version=OLD, busy="somebody's"), "OperationInProgress")],
)
def test_what_passes_by_itself_is_no_failure(seen: t.Any, reason: str):
    driver = Scripted(seen=[seen])
    (event,) = carried_out(driver)
    assert isinstance(event, Blocked) and event.reason == reason and event.message
    assert "begin" not in driver.calls


def test_what_was_blocked_may_be_begun_again_as_soon_as_that_is_known():
    driver = Scripted(seen=[DOWN, DOWN, OLD, NEW])
    executor = Executor({"east": driver}, versions)
    results = []
    for _try in range(3):
        executor.begin(work())
        while not (found := executor.events()) or not isinstance(found[-1], Ended | Blocked):
            assert executor.wait(300)
        results.append(type(found[-1]))
    assert results == [Blocked, Blocked, Ended]


def test_a_driver_that_is_busy_is_asked_later():
    (event,) = carried_out(Scripted(begin_error=FleetError("busy", "locked")))
    assert isinstance(event, Blocked) and event.reason == "OperationInProgress"


@pytest.mark.parametrize("code", ["unreachable", "timeout", "server-error"])
def test_what_had_no_answer_may_have_been_begun_and_is_followed_or_tried_again(code: str):
    lost = FleetError(code, "the answer did not come")
    end = ended(Scripted(begin_error=lost))
    assert end.result == "Completed", "its driver sees it"
    unseen = Scripted(begin_error=lost, polls=[OperationProgress(state=NOT_BEGUN)])
    *_said, event = carried_out(unseen)
    assert isinstance(event, Blocked) and event.reason == "Unreachable" and unseen.calls[-1] == "poll"
    unknown = ended(Scripted(seen=[OLD], begin_error=lost, polls=[OperationProgress(state=UNKNOWN)]))
    assert unknown.reason == "OperationLost" and "the answer did not come" in unknown.message


def test_a_refusal_of_the_driver_is_a_precondition():
    end = ended(Scripted(begin_error=FleetError("downgrade-refused", "never back")))
    assert (end.result, end.reason, end.version_before) == ("Failed", "PreconditionFailed", OLD)
    assert "never back" in end.message and "downgrade-refused" in end.message


def test_a_failure_tells_why_and_where_the_member_stands():
    end = ended(Scripted(seen=[OLD], polls=[OperationProgress(state=FAILED, message="disk full")]))
    assert (end.result, end.reason, end.message, end.version_after) == ("Failed", "UpgradeFailed", "disk full", OLD)


def test_done_without_the_version_is_a_failure_after_the_time_to_settle():
    time = VirtualTime()
    end = ended(Scripted(seen=[OLD]), time=time)
    assert (end.result, end.reason) == ("Failed", "UpgradeFailed")
    assert "done" in end.message and OLD in end.message and time.now == 120


def test_done_without_an_answer_is_a_failure_too():
    end = ended(Scripted(seen=[OLD, DOWN]))
    assert end.reason == "UpgradeFailed" and "no answer" in end.message


def test_a_fault_in_a_driver_is_an_event_and_no_silence():
    """Its place is recorded and not its text, for nobody knows what is in that."""
    end = ended(Scripted(polls=[ZeroDivisionError("token=s3cret")]))
    assert (end.result, end.reason) == ("Failed", "UpgradeFailed")
    assert "ZeroDivisionError at _fleet/conductor/" in end.message and "s3cret" not in end.message


def test_what_no_thread_can_be_started_for_is_tried_again(monkeypatch: pytest.MonkeyPatch):
    """It would be in flight for ever, and nobody would follow it."""
    executor = Executor({"east": Scripted()}, versions)

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        executor.begin(work())
    (event,) = executor.events()
    assert isinstance(event, Blocked) and "no thread more" in event.message and executor.in_flight == ()
    executor.begin(work())
    assert executor.wait(300)
    executor.close(60)


def test_a_member_without_driver_fails():
    executor = Executor({}, versions)
    executor.begin(work())
    assert executor.wait(300)
    (event,) = executor.events()
    assert isinstance(event, Ended) and event.reason == "PreconditionFailed" and "no-driver" in event.message


def test_a_poll_that_fails_is_repeated_for_the_operation_goes_on():
    driver = Scripted(polls=[FleetError("poll-failed", "hiccup"), OperationProgress(state=SUCCEEDED)])
    events = carried_out(driver)
    assert isinstance(events[1], Said) and "hiccup" in events[1].message
    assert isinstance(events[-1], Ended) and events[-1].result == "Completed"


def test_a_poll_that_never_answers_leaves_it_to_the_member():
    time = VirtualTime()
    end = ended(Scripted(seen=[OLD], polls=[FleetError("poll-failed", "gone")]), time=time)
    assert end.reason == "OperationLost" and time.now >= 900


def test_a_new_reference_is_told_and_used():
    driver = Scripted(
        polls=[
            OperationProgress(state=IN_PROGRESS, reference="platform:7"),
            OperationProgress(state=SUCCEEDED, reference="platform:7"),
        ]
    )
    events = carried_out(driver)
    assert [event.reference for event in events if isinstance(event, Begun)] == ["ref-1", "platform:7"]
    assert driver.references == ["ref-1", "platform:7"]


class TestTakenUpAgain:
    """An intent without outcome is observed before anything is repeated."""

    @pytest.mark.parametrize("state, result", [(SUCCEEDED, "Completed"), (FAILED, "Failed")])
    def test_what_ended_meanwhile_is_recorded(self, state: str, result: str):
        driver = Scripted(seen=[NEW], polls=[OperationProgress(state=state)])
        assert ended(driver, work(reference="ref-1"), resumed=True).result == result
        assert "begin" not in driver.calls

    def test_what_goes_on_is_followed(self):
        driver = Scripted(seen=[NEW], polls=[OperationProgress(state=IN_PROGRESS), OperationProgress(state=SUCCEEDED)])
        assert ended(driver, work(), resumed=True).result == "Completed"
        assert "begin" not in driver.calls

    def test_unknown_and_at_the_target_is_completed(self):
        driver = Scripted(seen=[NEW], polls=[OperationProgress(state=UNKNOWN)])
        assert ended(driver, resumed=True).result == "Completed"
        assert "begin" not in driver.calls

    def test_whoever_would_see_it_and_does_not_begins_it(self):
        driver = Scripted(polls=[OperationProgress(state=NOT_BEGUN), OperationProgress(state=SUCCEEDED)])
        assert ended(driver, resumed=True).result == "Completed"
        assert driver.calls.count("begin") == 1

    def test_an_intent_that_was_never_carried_out_is_none(self):
        driver = Scripted(seen=[NEW], polls=[OperationProgress(state=NOT_BEGUN)])
        assert ended(driver, resumed=True).reason == "AlreadyAtTarget"

    @pytest.mark.parametrize("reference", ["", "process:here/boot/4/1@/operations"])
    def test_whoever_would_not_see_it_begins_nothing(self, reference: str):
        """F5: another folder of operations, another user, another home."""
        driver = Scripted(
            seen=[OLD], polls=[OperationProgress(state=UNKNOWN, message="it may have been begun on web-1")]
        )
        end = ended(driver, work(reference=reference), resumed=True)
        assert (end.result, end.reason) == ("Failed", "OperationLost") and "begin" not in driver.calls
        assert "cannot be seen from here" in end.message and "on web-1" in end.message

    def test_what_may_only_be_followed_is_not_begun(self):
        driver = Scripted(seen=[OLD], polls=[OperationProgress(state=NOT_BEGUN)])
        assert ended(driver, resumed=True, only_follow=True).reason == "OperationLost"
        assert "begin" not in driver.calls

    def test_begun_elsewhere_is_watched_until_the_member_is_there(self):
        driver = Scripted(seen=[OLD, DOWN, OLD, NEW], polls=[OperationProgress(state=UNKNOWN)])
        end = ended(driver, work(reference="process:other/1:7:x/9"), resumed=True)
        assert end.result == "Completed" and "begin" not in driver.calls

    def test_begun_elsewhere_and_not_seen_to_end_is_lost(self):
        time = VirtualTime()
        driver = Scripted(seen=[OLD], polls=[OperationProgress(state=UNKNOWN)])
        end = ended(driver, work(reference="process:other/1:7:x/9"), True, time)
        assert (end.result, end.reason) == ("Failed", "OperationLost")
        assert time.now == 900 and "begin" not in driver.calls

    def test_not_begun_and_unreachable_waits(self):
        (event,) = carried_out(Scripted(seen=[DOWN], polls=[OperationProgress(state=NOT_BEGUN)]), resumed=True)
        assert isinstance(event, Blocked) and event.reason == "Unreachable"


def test_closed_it_begins_nothing_and_says_nothing():
    looking, go_on = threading.Event(), threading.Event()

    class Slow(Scripted):
        def observe(self, member: str) -> Observation:
            looking.set()
            go_on.wait(300)
            return super().observe(member)

    driver = Slow()
    executor = Executor({"east": driver}, versions)
    executor.begin(work())
    assert looking.wait(300) and executor.in_flight == ("run-1.east.1",)
    executor.begin(work())
    threading.Timer(0.01, go_on.set).start()
    executor.close(5)
    executor.begin(work())
    assert executor.in_flight == () and executor.events() == ()
    assert driver.calls == ["observe"]


def test_closing_ends_the_wait_between_two_looks_at_once():
    executor = Executor(
        {"east": Scripted(polls=[OperationProgress(state=IN_PROGRESS, message="long")])}, versions, Pace(interval=3600)
    )
    executor.begin(work())
    said: list[Event] = []
    while not any(isinstance(each, Said) for each in said):
        assert executor.wait(300)
        said += executor.events()
    executor.close(5)
    assert executor.in_flight == ()
