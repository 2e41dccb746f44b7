# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which run is meant by a name, for somebody who may answer runs of one kind only, or of both."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.answering import is_staged

PLAIN, STAGED, INSIDE = "UpdateRun", "ClusterStagedUpdateRun", "StagedUpdateRun"


class OfKinds:
    """Records with a run of each of the kinds ``there``; those of the kinds ``closed`` may not be read."""

    def __init__(self, there: t.Container[str], closed: t.Container[str] = ()) -> None:
        self._there, self._closed = there, closed

    def get(self, kind: str, _name: str) -> t.Any:
        if kind in self._closed:
            raise FleetError("forbidden", "no", kind)
        return {} if kind in self._there else None


@pytest.mark.parametrize(
    ("there", "closed", "staged"),
    [
        ((PLAIN,), (), False),
        ((STAGED,), (), True),
        ((), (), False),
        ((PLAIN,), (STAGED,), False),
        ((STAGED,), (PLAIN,), True),
    ],
)
def test_the_run_is_the_one_that_the_account_can_see(there, closed, staged):
    assert is_staged(OfKinds(there, closed), "release", "") is staged


@pytest.mark.parametrize(
    ("records", "code"),
    [(OfKinds((PLAIN, STAGED)), "ambiguous-run"), (OfKinds((), (PLAIN, STAGED)), "forbidden")],
)
def test_it_is_refused_where_nobody_can_tell(records, code):
    with pytest.raises(FleetError) as refused:
        is_staged(records, "release", "")
    assert refused.value.code == code
    assert is_staged(records, "release", STAGED) and not is_staged(records, "release", PLAIN)


def test_a_run_in_a_namespace_is_none_but_a_staged_one():
    """The cluster-scoped runs of that name are others."""
    assert is_staged(OfKinds((INSIDE,)), "shop/release", "")
    assert not is_staged(OfKinds((STAGED,)), "shop/release", "")
    assert is_staged(OfKinds(()), "shop/release", INSIDE) and not is_staged(OfKinds((INSIDE,)), "release", "")


@pytest.mark.parametrize(("name", "kind"), [("shop/release", STAGED), ("release", INSIDE)])
def test_a_kind_of_which_no_run_is_called_so_is_refused(name, kind):
    with pytest.raises(FleetError) as refused:
        is_staged(OfKinds((STAGED, INSIDE)), name, kind)
    assert refused.value.code == "bad-option" and "namespace/name" in refused.value.hint
