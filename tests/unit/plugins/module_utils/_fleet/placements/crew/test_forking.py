# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A process that cannot be forked leaves nothing open."""

from __future__ import annotations

import errno
import gc
import os
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.crew import forking
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.descriptors import descriptors


def test_where_no_process_can_be_started_both_ends_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> t.NoReturn:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", refused)
    gc.disable()
    try:
        before = descriptors()
        with pytest.raises(OSError) as caught:
            forking.forked(lambda _pipe: None, ())
        assert caught.value.errno == errno.EAGAIN and not descriptors() - before
    finally:
        gc.enable()
