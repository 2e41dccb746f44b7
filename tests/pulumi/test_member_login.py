# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose a member's login is, called as the engine calls it; ``integration/pulumi`` makes them on real API servers."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from fleet_pulumi.member_login import MemberLoginProvider

OURS, THEIRS = "stack dev of project org/fleet in /a", "stack dev of project org/fleet in /b"


@pytest.fixture
def wanted(tmp_path: Path) -> dict[str, t.Any]:
    """A login that is there, and ours."""
    path = tmp_path / "m1.kubeconfig"
    path.write_text(json.dumps({"extensions": [{"name": "gitops.fleet", "extension": {"madeFor": OURS}}]}))
    names = {"kubeconfig": str(tmp_path / "none"), "context": "", "namespace": "n", "account": "a", "name": "m1"}
    return {**names, "path": str(path), "days": 90.0, "owner": OURS}


def test_another_stack_neither_plans_with_a_login_nor_keeps_nor_removes_it(wanted):
    provider, theirs = MemberLoginProvider(), {**wanted, "owner": THEIRS}
    (refused,) = provider.check({}, theirs).failures
    assert "login-of-others" in refused.reason and OURS in refused.reason
    assert provider.read("id", theirs).id == ""
    provider.delete("id", theirs)
    assert Path(wanted["path"]).exists()

    assert provider.check({}, wanted).failures == []
    assert provider.read("id", wanted).id == "id"
    provider.delete("id", wanted)
    assert not Path(wanted["path"]).exists()


def test_a_state_that_is_moved_keeps_its_logins(wanted):
    found = MemberLoginProvider().check(wanted, {**wanted, "owner": THEIRS})
    assert (found.failures, found.inputs["owner"]) == ([], THEIRS)
    untold = MemberLoginProvider().check(wanted, {**wanted, "owner": OURS.partition(" in ")[0]})
    assert (untold.failures, untold.inputs["owner"]) == ([], OURS)
