# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is told before binaries come; the ways themselves are told in ``released``."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local.provisioning import provisioning_line
from ansible_collections.gitops.fleet.plugins.module_utils._local.recipes import recipe
from ansible_collections.gitops.fleet.plugins.module_utils._local.released import offers


def test_a_cache_that_cannot_be_written_is_no_reason_for_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_given: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setenv("FLEET_RELEASES", "https://127.0.0.1:1")
    monkeypatch.setattr(offers.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(offers, "write_file", read_only)
    with pytest.raises(FleetError) as refused:
        provisioning_line([recipe("etcd")], tmp_path)
    assert refused.value.code == "unwritable-folder" and f"{tmp_path} cannot be written" in refused.value.message
