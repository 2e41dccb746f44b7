# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is left of a credential plugin when its supervisor ends."""

from __future__ import annotations

import os
import subprocess

from ansible_collections.gitops.fleet.plugins.module_utils._kube.login import plugin_process


def test_a_child_that_ended_is_left_until_it_is_reaped(monkeypatch):
    """One that ended between the reaping and the look below /proc stayed a zombie for process 1, which takes no
    orphans in many containers."""
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        with monkeypatch.context() as patched:
            patched.setattr(plugin_process.os, "waitpid", lambda *_asked: (0, 0))
            left = plugin_process._descendants()
    assert child.pid in left
