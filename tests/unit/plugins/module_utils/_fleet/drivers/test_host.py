# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where an operation was begun, told to people."""

from __future__ import annotations

import platform
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import intent_reference, place_words


def test_the_folder_is_told_as_it_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "my ops ü: 50%41@home"
    assert place_words(intent_reference(folder)) == f"on {platform.node()}, with its operations in {folder}"


def test_what_somebody_wrote_into_a_reference_steers_no_terminal() -> None:
    assert place_words("process:host/b/n/1@/tmp/%1b[2J%0Aok") == r"on host, with its operations in /tmp/\x1b[2J ok"


def test_nothing_is_told_of_a_reference_that_names_no_place() -> None:
    assert place_words("") == place_words("process:") == place_words("job/a") == ""
