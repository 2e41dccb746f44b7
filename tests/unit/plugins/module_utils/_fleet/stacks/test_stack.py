# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which commands the engine is given for a state, with a script in its place that says what it was asked."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.events import StackStep
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.stack import StackReport, stack

# Each resource is new; ``known`` are the stacks that there are.
ENGINE = """#!/bin/sh
here=$(dirname "$0")
case "$1" in version) echo v3.259.0; exit ;; esac
echo "$1 $2" >> "$here/asked"
case "$1 $2" in
  "stack ls") cat "$here/known" ;;
  "stack output") echo '{}' ;;
esac
while [ $# -gt 0 ]; do
  test "$1" = --event-log && echo '{"summaryEvent": {"resourceChanges": {"create": 1}}}' > "$2"
  shift
done
"""
PREVIEW, UP = "preview --stack", "up --yes"


@pytest.fixture
def asked(tmp_path: Path) -> t.Callable[..., list[str]]:
    """What the engine is asked to do, but for questions."""
    folder = tmp_path / "engine"
    folder.mkdir()
    for name in ("pulumi", "pulumi-language-python"):
        (folder / name).write_text(ENGINE)
        (folder / name).chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: small\nruntime: python\n")

    def ask(known: bool, check: bool = False, **given: t.Any) -> list[str]:
        (folder / "known").write_text('[{"name": "dev"}]' if known else "[]")
        (folder / "asked").write_text("")
        where = {"project_dir": str(project), "stack": "dev", "backend_url": f"file://{tmp_path}/state"}
        options = {**where, "state": "present", "allow_delete": False, "home": str(tmp_path / "home"), **given}
        assert stack(options, check, {"PATH": f"{folder}:/usr/bin:/bin"}, lambda _text: None).changed
        words = (folder / "asked").read_text().splitlines()
        return [each for each in words if each not in ("stack ls", "stack output")]

    return ask


def test_a_stack_that_is_new_has_nothing_to_delete_and_is_made_in_one_go(asked):
    assert asked(known=False) == ["stack init", UP]


def test_what_is_there_is_previewed_for_deletions_before_it_is_changed(asked):
    assert asked(known=True) == [PREVIEW, UP]
    assert asked(known=True, allow_delete=True) == [UP]


@pytest.mark.parametrize(("known", "first"), [(True, []), (False, ["stack init"])])
def test_check_mode_previews(asked, known, first):
    assert asked(known=known, check=True) == [*first, PREVIEW]


def step(op: str, kind: str, name: str, **differs: t.Any) -> StackStep:
    urn = f"urn:pulumi:dev::small::{kind}::{name}"
    before, after = ({key: value[side] for key, value in differs.items()} for side in (0, 1))
    return StackStep(op=op, urn=urn, before=before, after=after)


def diff(*steps: StackStep) -> dict[str, t.Any]:
    return StackReport(changed=True, counts={}, steps=steps, outputs={}, warnings=()).diff()


def test_resources_of_one_name_are_told_apart_by_their_urns():
    net, rule, other = (
        step("update", "a:Network", "east", cidr=(1, 2)),
        step("delete", "a:Rule", "east"),
        step("update", "a:Network", "west", cidr=(3, 4)),
    )
    assert diff(net, rule, other) == {
        "before": {net.urn: {"cidr": 1}, rule.urn: {}, "west": {"cidr": 3}},
        "after": {net.urn: {"cidr": 2}, "west": {"cidr": 4}},
    }


def test_what_is_replaced_keeps_what_differs_though_the_old_one_is_deleted_after():
    steps = [step("create-replacement", "a:Network", "east", cidr=(1, 2)), step("delete-replaced", "a:Network", "east")]
    assert diff(*steps) == {"before": {"east": {"cidr": 1}}, "after": {"east": {"cidr": 2}}}
