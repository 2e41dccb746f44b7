# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an attempt tells of itself; how operations are followed is shown through the executor, in test_executor.py."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import COMPLETED
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.operation import (
    Begun,
    Ended,
    Event,
    Said,
    Teller,
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
