# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where an operation was begun: told to people, and whether a restart of this machine has ended it."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import host
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import (
    intent_reference,
    is_earlier_boot,
    place_words,
)


def test_the_folder_is_told_as_it_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "my ops ü: 50%41@home"
    assert place_words(intent_reference(folder)) == f"on {platform.node()}, with its operations in {folder}"


def test_what_somebody_wrote_into_a_reference_steers_no_terminal() -> None:
    assert place_words("process:host/b/n/1@/tmp/%1b[2J%0Aok") == r"on host, with its operations in /tmp/\x1b[2J ok"


def test_nothing_is_told_of_a_reference_that_names_no_place() -> None:
    assert place_words("") == place_words("process:") == place_words("job/a") == ""


@pytest.mark.parametrize(
    ("place", "here", "ended"),
    [
        ("process:a/b1/n1", "process:a/b2/n1", True),
        ("process:a/b1/n1", "process:a/b1/n1", False),
        ("process:a/b1/n1", "process:c/b2/n1", False),
        ("process:a/b1/n1", "process:a/b2/n2", False),
        ("process:a//n1", "process:a/b2/n1", False),
        ("process:a/b1/n1", "process:a//n1", False),
        ("process:a/b1/", "process:a/b2/", False),
        ("process:a/b1", "process:a/b2/n1", False),
        ("", "process:a/b2/n1", False),
    ],
)
def test_only_what_linux_tells_whole_was_ended_by_a_restart(
    place: str, here: str, ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it does not tell which boot this is, a process of this very one may go on, and needs its private files."""
    monkeypatch.setattr(host, "machine", lambda: here)
    assert is_earlier_boot(place) is ended
