# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is replaced in the commands of users, and what is left alone."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.placeholders import (
    filled_arguments,
    placeholder_values,
    unknown_placeholders,
)

WORK = Work(operation="run-1.east.2", run="run", member="east", upgrade_type="Full", target="1.36.3", attempt=2)


def test_each_name_is_replaced_wherever_it_stands():
    argv = ("--name={member}", "{target}", "{operation}/{attempt}", "{run}:{reference}")
    assert filled_arguments(argv, placeholder_values(WORK, "op-7")) == (
        "--name=east",
        "1.36.3",
        "run-1.east.2/2",
        "run:op-7",
    )


def test_what_is_put_in_is_not_looked_at_again():
    assert filled_arguments(("{reference}",), placeholder_values(WORK, "{member}")) == ("{member}",)


def test_other_braces_are_left_alone():
    argv = ('{"name": "{member}"}', "{Name:state}", "{}", "{0}", "${HOME:-x}")
    assert filled_arguments(argv, placeholder_values(WORK, "")) == (
        '{"name": "east"}',
        "{Name:state}",
        "{}",
        "{0}",
        "${HOME:-x}",
    )
    assert unknown_placeholders(argv) == ()


def test_unknown_names_are_told_once_each():
    assert unknown_placeholders(("{cluster}", "{member}", "{zone}{cluster}")) == ("cluster", "zone")


@pytest.mark.parametrize(
    "argv, reference, words",
    [
        (("cloudctl", "{reference}"), "--config=/tmp/theirs", "taken for an option"),
        (("{reference}{member}",), "-", "taken for an option"),
        (("sh", "-c", "cloudctl operation {reference}"), "x;reboot", "put into a script"),
        (("sh", "-c", "cloudctl operation '{reference}'"), "x' --as 'root", "put into a script"),
        (("sh", "-c", "cloudctl operation {reference}"), "$HOME", "put into a script"),
    ],
)
def test_what_is_put_in_is_data(argv: tuple[str, ...], reference: str, words: str):
    """A platform names its operations, and whoever may write the status of a run can write such a name there."""
    with pytest.raises(FleetError) as refused:
        filled_arguments(argv, placeholder_values(WORK, reference))
    assert refused.value.code == "unsafe-argument" and words in refused.value.message


def test_as_an_argument_of_its_own_it_may_be_anything_but_an_option():
    url = "https://management.example/operations/7?api-version=1&s=x;y"
    argv = ("--operation", "{reference}", "--at={reference}")
    assert filled_arguments(argv, placeholder_values(WORK, url)) == ("--operation", url, f"--at={url}")
    assert filled_arguments(("--at={reference}",), placeholder_values(WORK, "--x")) == ("--at=--x",)


@pytest.mark.parametrize("character", ["\n", "\0", "\x1b", "\x9b", "\ud800"])
def test_control_characters_are_refused(character: str):
    with pytest.raises(FleetError) as refused:
        placeholder_values(WORK, f"op{character}7")
    assert refused.value.code == "unsafe-argument" and character not in refused.value.message


def test_so_they_are_in_what_others_say_of_a_node():
    """What is known is in the environment of a command, even if no argument holds it."""
    with pytest.raises(FleetError) as refused:
        filled_arguments(("delete-machine", "{node}"), {"member": "east", "node": "n1", "provider_id": "aws:\n///i-1"})
    assert (refused.value.code, refused.value.where) == ("unsafe-argument", "east")
