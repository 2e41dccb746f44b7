# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Commands that answer to us, as real programs that hang, flood, and leave others behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.started import MOST_KEPT, Started
from ansible_collections.gitops.fleet.plugins.module_utils._local import processes

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


def begun(script: str, *, merged: bool = False, **environ: str) -> Started:
    given = {"PATH": os.environ["PATH"], **environ}
    return Started(("/bin/sh", "-c", script), given, "broken", "east", merged=merged)


def test_it_tells_what_it_said_and_how_it_ended():
    done = begun("echo one; echo two >&2; exit 3").wait_for_end(300)
    assert done is not None and (done.returncode, done.stdout, done.stderr) == (3, "one\n", "two\n")


def test_merged_both_outputs_are_one():
    done = begun("echo one; echo two >&2", merged=True).wait_for_end(300)
    assert done is not None and (done.stdout, done.stderr) == ("one\ntwo\n", "")


def test_it_may_be_asked_again_and_again():
    child = begun("echo one; sleep 0.5; echo two")
    while (done := child.wait_for_end(0.01)) is None:
        pass
    assert done.stdout == "one\ntwo\n"


def test_who_has_left_its_session_and_holds_its_output_keeps_nobody_waiting(tmp_path: Path):
    """The time that a command has is all the time that it costs."""
    mark = str(tmp_path)
    child = begun("setsid sleep 985 & sleep 985", **{processes.MARK: mark})
    try:
        before = time.monotonic()
        assert child.wait_for_end(0.5) is None
        child.kill()
        assert time.monotonic() - before < 60
    finally:
        processes.stop(processes.processes_marked(mark), grace=1)


def test_of_a_flood_the_last_is_kept():
    done = begun(f"yes | head -c {3 * MOST_KEPT}; echo v1.36.3").wait_for_end(300)
    assert done is not None and len(done.stdout) == MOST_KEPT and done.stdout.endswith("y\nv1.36.3\n")


@pytest.mark.parametrize("word", ["a\0b", "a\ud800b"])
def test_words_that_no_program_can_be_given_are_refused(word: str):
    with pytest.raises(FleetError) as refused:
        Started(("/bin/echo", word), {}, "broken", "east")
    assert (refused.value.code, refused.value.where) == ("broken", "east")


@pytest.mark.parametrize("seconds", [1e9, 1e300])
def test_a_time_without_end_is_one(seconds: float):
    done = begun("echo one").wait_for_end(seconds)
    assert done is not None and done.stdout == "one\n"
