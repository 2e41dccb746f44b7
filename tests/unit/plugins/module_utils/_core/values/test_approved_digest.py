# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import hashlib

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.approved_digest import approves, too_short_words

DIGEST = hashlib.sha256(b"plan").hexdigest()


@pytest.mark.parametrize("given", [DIGEST, DIGEST[:12], DIGEST[:16], f"sha256:{DIGEST[:12]}", DIGEST[:20].upper()])
def test_what_is_shown_can_be_given_back(given):
    assert approves(given, DIGEST) and approves(given, f"sha256:{DIGEST}") and not too_short_words(given)


@pytest.mark.parametrize(
    "given", ["", DIGEST[:11], "sha256:", f"sha256:{DIGEST[:11]}", DIGEST[1:30], f"{DIGEST}0", "0" * 64]
)
def test_anything_else_approves_nothing(given):
    assert not approves(given, DIGEST) and not approves(given, "")
    assert bool(too_short_words(given)) == (len(given.removeprefix("sha256:")) < 12)


def test_how_short_it_is_is_said_in_good_words():
    assert too_short_words("sha256:a") == "; it has 1 digit and needs 12 at least"
    assert too_short_words("ab") == "; it has 2 digits and needs 12 at least"
