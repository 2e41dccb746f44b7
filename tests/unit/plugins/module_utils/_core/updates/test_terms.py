# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""F18: the terms of approvals that a run keeps are judged by, whatever whoever carries it on gives."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import (
    RefusedApproval,
    judged_approval,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import (
    EXPIRES,
    SELF_APPROVAL,
    VERIFIED,
    Terms,
    as_annotations,
    kept_terms,
    kept_words,
    stricter,
    terms_to_keep,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.test_approvals import (
    NOW,
    PLACE,
    court,
    gate,
)

FOUR_EYES, VERIFYING = Terms(self_approval=False), Terms(verified=True)
HOUR, DAY = Terms(expires=timedelta(hours=1)), Terms(expires=timedelta(days=1))
ALL = Terms(self_approval=False, verified=True, expires=timedelta(hours=1))
AGES = Terms(expires=timedelta(seconds=9_999_999_999))


def test_the_stricter_of_two_is_both_at_once() -> None:
    assert stricter(FOUR_EYES, stricter(VERIFYING, HOUR)) == ALL
    assert stricter(DAY, HOUR) == stricter(HOUR, DAY) == stricter(HOUR, Terms()) == HOUR
    assert stricter(Terms(), Terms()) == Terms()


@pytest.mark.parametrize("terms", [Terms(), FOUR_EYES, VERIFYING, DAY, ALL, AGES])
def test_what_is_kept_is_what_is_read(terms: Terms) -> None:
    assert kept_terms(as_annotations(terms)) == terms and terms_to_keep(as_annotations(terms), terms) == {}
    assert terms_to_keep({"made": "by"}, terms) == as_annotations(terms)
    assert terms_to_keep(as_annotations(terms), Terms()) == {}, "nothing that is kept is ever loosened"


def test_a_longer_expiry_is_not_kept_and_a_shorter_is() -> None:
    assert terms_to_keep(as_annotations(HOUR), DAY) == {}
    assert terms_to_keep(as_annotations(DAY), HOUR) == {EXPIRES: "3600"}


@pytest.mark.parametrize("text", ["", "-1", "1e9", "9" * 40, "soon", "\u0663"])
def test_what_cannot_be_read_is_the_strictest(text: str) -> None:
    kept = kept_terms({SELF_APPROVAL: text, VERIFIED: text, EXPIRES: text})
    assert kept == Terms(self_approval=False, verified=True, expires=timedelta())


@pytest.mark.parametrize("kept", [FOUR_EYES, ALL])
def test_an_own_approval_does_not_count_where_the_run_keeps_four_eyes(kept: Terms) -> None:
    """Whoever carries it on without the option gives no terms at all."""
    given = court(made="anna", begun="anna")
    assert not isinstance(judged_approval(gate(), PLACE, given, NOW), RefusedApproval)
    metadata = given.run.metadata
    annotations = {**metadata.annotations, **as_annotations(kept)}
    held = replace(given, run=replace(given.run, metadata=replace(metadata, annotations=annotations)))
    found = judged_approval(gate(), PLACE, held, NOW)
    assert isinstance(found, RefusedApproval) and "anna made or started the run" in found.why


def test_what_is_kept_and_was_not_given_is_told_as_options() -> None:
    words = "approvals are judged by the terms that the run keeps: "
    assert kept_words(as_annotations(ALL), Terms()) == (
        f"{words}allow_self_approval=false, verified_approvals=true, approval_expires=3600"
    )
    assert kept_words(as_annotations(ALL), FOUR_EYES) == f"{words}verified_approvals=true, approval_expires=3600"
    assert kept_words(as_annotations(DAY), HOUR) == kept_words({}, ALL) == kept_words(as_annotations(ALL), ALL) == ""
