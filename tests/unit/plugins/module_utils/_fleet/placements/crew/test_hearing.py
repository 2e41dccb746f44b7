# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What workers say, without what is never to be told."""

from __future__ import annotations

import pickle

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome, ObjectFailure
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.crew.hearing import _hidden
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.crew.messages import SaidLine, TaskEnd
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import SHOWN

LONG, SHORT = "a-long-token-of-another-member", "pa55"
ID = ObjectId(group="", version="v1", kind="ConfigMap", namespace="web", name="one")


@pytest.mark.parametrize("secret", [LONG, SHORT])
@pytest.mark.parametrize("length", [0, 1, 47, 48, 64, 90, 100, 300, 70_000])
def test_a_secret_is_found_in_a_message_wherever_it_stands(secret: str, length: int) -> None:
    """Whatever stands before it there, lengths of texts among them."""
    SHOWN.add(LONG, SHORT)
    text = f"{secret} {'.' * length}"
    assert SHOWN.may_stand_in(pickle.dumps(SaidLine(1, text), pickle.HIGHEST_PROTOCOL).decode(errors="replace"))
    assert secret not in _hidden(SaidLine(1, text)).text


def test_it_is_taken_out_of_every_text_and_the_rest_stays() -> None:
    SHOWN.add(LONG)
    failure = ObjectFailure(id=ID, reason="ManifestApplyFailed", message=f"no {LONG}")
    outcome = MemberOutcome(
        cluster="m1",
        failures=(failure,),
        lacks={ID: LONG},
        error=Problem("refused", LONG, "m1"),
        statuses={ID: {"list": [LONG, 1, None], LONG: True}},
    )
    found = _hidden(TaskEnd(1, outcome, notes={"m1": [LONG]}))
    assert LONG not in str(found)
    assert isinstance(found, TaskEnd) and found.outcome.failures[0].id == ID
    assert found.outcome.statuses == {ID: {"list": ["(hidden)", 1, None], "(hidden)": True}}
    assert found.outcome.failures[0].message == "no (hidden)" and found.number == 1
