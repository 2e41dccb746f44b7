# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""By what a gate is named: never by words that could mean another gate of the run."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._report.commands.named_gates import named_gates
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import changed, gate, laid
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.test_integrity import object_of


def test_a_gate_is_named_by_its_place_where_no_other_one_could_be_meant() -> None:
    """A stage without a group means the gates of its groups too, so one of its own beside them has its id."""
    laid_out = changed(laid("s{g:a}, p{h:b}"), "s", before_gates=gate("board"), after_gates=gate("well"))
    laid_out = changed(changed(laid_out, "g", before_gates=gate("tests")), "p", before_gates=gate("ticket"))
    laid_out = changed(laid_out, "h", after_gates=(*gate("one"), *gate("two")))
    found = {each.gate.display_name: each for each in named_gates(object_of(laid_out, "sha256:0"))}
    assert {name: each.variables for name, each in found.items() if each.alone} == {
        "well": {"stage": "s", "timing": "After"},
        "tests": {"stage": "s", "group": "g", "timing": "Before"},
        "ticket": {"stage": "p", "timing": "Before"},
    }
    assert {name: set(each.variables) for name, each in found.items() if not each.alone} == {
        "board": {"gate"},
        "one": {"gate"},
        "two": {"gate"},
    }
