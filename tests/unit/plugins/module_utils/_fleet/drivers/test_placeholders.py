# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is replaced in the commands of users, and what is left alone."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.placeholders import filled, unknown, values

WORK = Work(operation="run-1.east.2", run="run", member="east", upgrade_type="Full", target="1.36.3", attempt=2)


def test_each_name_is_replaced_wherever_it_stands():
    argv = ("--name={member}", "{target}", "{operation}/{attempt}", "{run}:{reference}")
    assert filled(argv, values(WORK, "op-7")) == ("--name=east", "1.36.3", "run-1.east.2/2", "run:op-7")


def test_what_is_put_in_is_not_looked_at_again():
    assert filled(("{reference}",), values(WORK, "{member}")) == ("{member}",)


def test_other_braces_are_left_alone():
    argv = ('{"name": "{member}"}', "{Name:state}", "{}", "{0}", "${HOME:-x}")
    assert filled(argv, values(WORK, "")) == ('{"name": "east"}', "{Name:state}", "{}", "{0}", "${HOME:-x}")
    assert unknown(argv) == ()


def test_unknown_names_are_told_once_each():
    assert unknown(("{cluster}", "{member}", "{zone}{cluster}")) == ("cluster", "zone")
