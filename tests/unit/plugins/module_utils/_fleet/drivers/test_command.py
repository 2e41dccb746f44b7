# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Commands of the user, as real programs: how their words and exit codes are read."""

from __future__ import annotations

import os
import sys
import time
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.command import CommandDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    FAILED,
    IN_PROGRESS,
    SUCCEEDED,
    UNKNOWN,
    Observation,
    OperationProgress,
    Work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
SHELL = ("/bin/sh", "-c")
# Ends no line: JSON has it in texts as it is.
PARAGRAPH = "\u2029"
REFERENCE = """echo working; echo '{"reference": "op-7"}'"""


def work(reference: str = "") -> Work:
    return Work(
        operation="run-1.east.1",
        run="run",
        member="east",
        upgrade_type="Full",
        target="1.36.3",
        reference=reference,
    )


@pytest.fixture
def driver(tmp_path: Path) -> t.Callable[..., CommandDriver]:
    def make(begin: str = "true", observe: str = "", poll: str = "", **fields: t.Any) -> CommandDriver:
        given: dict[str, t.Any] = {"environ": {"PATH": os.environ["PATH"], "TOKEN": "s3cret"}, **fields}
        return CommandDriver(
            clients=Clients({}),
            operations=tmp_path / "operations",
            cwd=tmp_path,
            begin_argv=(*SHELL, begin),
            observe_argv=(*SHELL, observe) if observe else (),
            poll_argv=(*SHELL, poll) if poll else (),
            **given,
        )

    return make


def ended(driver: CommandDriver) -> OperationProgress:
    reference = driver.begin(work())
    end = time.monotonic() + 120
    while (progress := driver.poll(work(reference))).state == IN_PROGRESS and not progress.reference:
        assert time.monotonic() < end
        time.sleep(0.01)
    return progress


@pytest.mark.parametrize(
    "printed, seen",
    [
        ("echo v1.35.4", Observation(version="v1.35.4")),
        ("echo some words; echo; echo v1.35.4; echo", Observation(version="v1.35.4")),
        ("""echo '{"version": "1.35.4"}'""", Observation(version="1.35.4")),
        ("""echo '{"version": "1.35.4", "busy": "op-3"}'""", Observation(version="1.35.4", busy="op-3")),
    ],
)
def test_observe_prints_the_version_last(driver: t.Any, printed: str, seen: Observation):
    assert driver(observe=printed).observe("east") == seen


def test_observe_knows_the_member(driver: t.Any):
    assert driver(observe="echo v1.36.3-$GITOPS_FLEET_MEMBER.{member}").observe("east").version == "v1.36.3-east.east"


DEEP = """yes '{"a":' | head -n 200000 | tr -d '\\n'"""


@pytest.mark.parametrize(
    "broken, words",
    [
        ("echo no >&2; exit 3", "3: no"),
        ("true", "no version"),
        ("echo Warning: your client is old", "no version of Kubernetes: Warning: your client is old"),
        ("""echo '{"version": true}'""", "no version of Kubernetes: True"),
        ("""echo '{"version": {"a": 1}}'""", "no version of Kubernetes: {"),
        ("""echo '{"version": "1.36.3", "pools": [{"name": "a", "count": 1e999}]}'""", "pools that cannot be read"),
        ("""echo '{"version": "1.36.3", "pools": [{"pool": "a"}]}'""", "a name of its own"),
        ("""echo '{"version": "1.36.3", "pools": [{"name": "a"}, {"name": "a"}]}'""", "a name of its own"),
        ("""echo '{"version": "1.36.3", "pools": [{"name": "a", "count": -1}]}'""", "0 or more"),
        (DEEP, "no version of Kubernetes: {"),
    ],
)
def test_an_observation_that_fails_is_none(driver: t.Any, broken: str, words: str):
    with pytest.raises(FleetError) as refused:
        driver(observe=broken).observe("east")
    assert refused.value.code == "observe-failed" and words in refused.value.message


def test_one_that_hangs_is_ended_with_all_its_children(driver: t.Any, tmp_path: Path):
    with pytest.raises(FleetError) as refused:
        driver(observe="sleep 986 & echo $! > pid; sleep 986", timeout=3).observe("east")
    assert "3 s" in refused.value.message
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 120
    while Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_program_that_is_missing_is_told(driver: t.Any, tmp_path: Path):
    broken = CommandDriver(
        clients=Clients({}),
        operations=tmp_path,
        environ={},
        cwd=tmp_path,
        begin_argv=("x",),
        observe_argv=("/no/such",),
    )
    with pytest.raises(FleetError) as refused:
        broken.observe("east")
    assert "/no/such cannot be started" in refused.value.message


def test_without_poll_the_exit_code_of_begin_is_the_end(driver: t.Any):
    assert ended(driver("echo upgraded {member} to $GITOPS_FLEET_TARGET as {operation}")) == OperationProgress(
        state=SUCCEEDED, message="upgraded east to 1.36.3 as run-1.east.1"
    )


def test_an_upgrade_that_a_platform_knows_cannot_be_followed_without_poll(driver: t.Any):
    """The option was taken out while it was under way."""
    with pytest.raises(FleetError) as refused:
        driver(REFERENCE).poll(work("platform:op-7"))
    assert refused.value.code == "poll-failed" and "give the command poll again" in refused.value.problems[0].hint


def test_without_a_command_for_pools_none_is_begun(driver: t.Any, tmp_path: Path):
    """A pool that was made since the member was read last."""
    with pytest.raises(FleetError) as refused:
        driver().begin(replace(work(), pool_step=True, pool="blue"))
    assert (refused.value.code, refused.value.where) == ("no-command", "east") and "begin_pool" in refused.value.hint
    assert not (tmp_path / "operations").exists()


def test_a_begin_that_fails_is_never_polled(driver: t.Any):
    progress = ended(driver("echo quota >&2; exit 9", poll="touch polled; exit 0"))
    assert progress.state == FAILED and progress.message == "ended with exit code 9\nquota"


@pytest.mark.parametrize(
    "poll, state, message",
    [
        ("exit 0", SUCCEEDED, ""),
        ("echo bad; exit 1", FAILED, "bad"),
        ("echo 3 of 5; exit 75", IN_PROGRESS, "3 of 5"),
        ("""echo '{"state": "in progress", "message": "3 of 5"}'""", IN_PROGRESS, "3 of 5"),
        ("""echo '{"state": "failed", "message": "quota"}'""", FAILED, "quota"),
        ("""echo '{"state": "unknown"}'; exit 4""", UNKNOWN, ""),
        (f"""echo '{{"state": "failed", "message": "one{PARAGRAPH}two"}}'""", FAILED, f"one{PARAGRAPH}two"),
        ("""printf 'at 50\\r{"state": "failed", "message": "quota"}'""", FAILED, "quota"),
        ("test {reference} = op-7 && test $GITOPS_FLEET_REFERENCE = op-7", SUCCEEDED, ""),
    ],
)
def test_poll_says_how_the_platform_stands(driver: t.Any, poll: str, state: str, message: str):
    assert ended(driver(REFERENCE, poll=poll)) == OperationProgress(
        state=state, message=message, reference="platform:op-7"
    )


def test_the_platforms_own_reference_is_enough_on_another_machine(driver: t.Any):
    elsewhere = driver(poll="test {reference} = op-7")
    assert elsewhere.poll(work("platform:op-7")).state == SUCCEEDED
    assert elsewhere.poll(work("process:other/1:7:x/9")).state == UNKNOWN
    assert elsewhere.poll(work()).state == UNKNOWN


def test_a_long_reference_is_kept_whole(driver: t.Any):
    name = "/subscriptions/" + "x" * 600
    begin = f"""echo '{{"reference": "{name}"}}'"""
    assert ended(driver(begin, poll="test ${#GITOPS_FLEET_REFERENCE} = 615")) == OperationProgress(
        state=SUCCEEDED, reference=f"platform:{name}"
    )


@pytest.mark.parametrize(
    "begin",
    [
        "head -c 1100000 /dev/zero | tr '\\0' x",
        """echo '{"reference": ["op-7"]}'""",
        """printf '{"reference": "%5000s"}\\n' x""",
        "rm -f operations/*/output.log",
    ],
)
def test_a_reference_that_cannot_be_read_is_not_taken_for_none(driver: t.Any, begin: str):
    with pytest.raises(FleetError) as refused:
        ended(driver(begin, poll="exit 0"))
    assert refused.value.code == "poll-failed"


def test_a_begin_without_reference_is_polled_by_its_names(driver: t.Any):
    progress = ended(driver("true", poll="test '{member}{reference}' = east"))
    assert progress == OperationProgress(state=SUCCEEDED, reference="platform:")


@pytest.mark.parametrize("poll", ["exit 2", """echo '{"state": "great"}'; exit 3"""])
def test_a_poll_that_tells_nothing_is_an_error_and_no_state(driver: t.Any, poll: str):
    with pytest.raises(FleetError) as refused:
        ended(driver(REFERENCE, poll=poll))
    assert refused.value.code == "poll-failed"


def test_no_secret_of_ours_reaches_a_command_unless_the_user_names_it(driver: t.Any):
    assert ended(driver("echo ${TOKEN:-none}")).message == "none"
    assert (
        driver(observe="echo v1.36.3-${TOKEN:-none}", environment=("TOK*",)).observe("east").version == "v1.36.3-s3cret"
    )
