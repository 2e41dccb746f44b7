# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where text for people goes: to who reads it, as wide as the terminal, and never between what machines read."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from playing import Player

MANIFEST = {"apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ClusterResourcePlacement"}
CALLBACK = """
import json

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = "name: machine\\ntype: stdout\\nshort_description: one JSON document\\ndescription: for tests"


class CallbackModule(CallbackBase):
    CALLBACK_NAME, CALLBACK_TYPE, CALLBACK_VERSION = "machine", "stdout", 2.0
    found = {}

    def v2_runner_on_ok(self, result):
        self.found[result._task.get_name()] = result._result

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self.v2_runner_on_ok(result)

    def v2_playbook_on_stats(self, stats):
        self._display.display(json.dumps(self.found))
"""


RESCUED = """
- hosts: localhost
  gather_facts: false
  tasks:
    - block:
        - gitops.fleet.lint:
            src: ["{{ manifests }}"]
          register: own
      rescue:
        - ansible.builtin.debug:
            msg: "rescued, with {{ [own, ansible_failed_result] | map(attribute='table') | map('length') | unique }}"
"""


def findings(folder: Path, count: int) -> list[str]:
    """The command that lints so many manifests, each with a fault that takes a long line."""
    (folder / "manifests").mkdir()
    for number in range(count):
        spec = {"policy": {"placementType": "PickAll"}, f"a-field-that-nobody-knows-{number}": "x"}
        manifest = MANIFEST | {"metadata": {"name": f"one-of-many-placements-{number}"}, "spec": spec}
        (folder / "manifests" / f"{number}.json").write_text(json.dumps(manifest))
    variables = json.dumps({"manifests": str(folder / "manifests")})
    return [sys.executable, "-m", "ansible", "playbook", "gitops.fleet.lint", "-e", variables]


def test_a_play_whose_output_nobody_reads_any_more_ends(play: Player):
    """``ansible-playbook ... | head -1``: more is left to be said than a pipe holds."""
    command = findings(play.folder, 1000)
    with subprocess.Popen(
        command, cwd=play.folder, env=play.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as playing:
        assert playing.stdout is not None
        try:
            while b"TASK" not in playing.stdout.readline():
                pass
            playing.stdout.close()
            assert playing.wait(timeout=300) != 0
        except subprocess.TimeoutExpired:
            pytest.fail("it waits for ever")
        finally:
            playing.kill()


def test_what_a_callback_writes_for_machines_stays_so(play: Player):
    (play.folder / "callbacks").mkdir()
    (play.folder / "callbacks" / "machine.py").write_text(CALLBACK)
    environ = {"ANSIBLE_STDOUT_CALLBACK": "machine", "ANSIBLE_CALLBACK_PLUGINS": str(play.folder / "callbacks")}
    done = subprocess.run(
        findings(play.folder, 3),
        cwd=play.folder,
        env=play.environment() | environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    found = json.loads(done.stdout)["Read them"]
    assert found["counts"]["error"] >= 3 and len(found["table"]) > 3
    assert [line for line in found["table"] if line not in done.stderr] == [], "people read it beside"


def test_a_failure_ends_with_why_and_not_with_the_whole_result(play: Player):
    """The result is in ``result_file``, and printed where more was asked for."""
    variables = {"manifests": str(play.folder / "manifests")}
    findings(play.folder, 20)
    file = play.folder / "result.json"
    short = play("gitops.fleet.lint", **variables, result_file=str(file))
    assert short.code == 2 and '"table"' not in short.output and '"remarks"' not in short.output
    (fatal,) = [line for line in short.output.splitlines() if line.startswith("fatal: [localhost]: FAILED! => ")]
    told = json.loads(fatal.partition(" => ")[2])
    assert sorted(told) == ["changed", "fleet", "msg"] and told["fleet"]["outcome"] == "failed"
    assert told["msg"] in " ".join(short.output.partition("[ERROR]")[2].split())
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept["counts"]["error"] >= 20 and kept["failed"] and kept["msg"].startswith(told["msg"])
    whole = play("gitops.fleet.lint", "-v", **variables)
    assert whole.code == 2 and '"table"' in whole.output


def test_who_calls_a_verb_has_its_whole_result_for_a_rescue(play: Player):
    """In a play of a user, nothing is left out, nor printed in another way."""
    findings(play.folder, 2)
    playbook = play.folder / "own.yml"
    playbook.write_text(RESCUED)
    done = play(playbook, manifests=str(play.folder / "manifests"))
    assert done.code == 0 and re.search(r"rescued, with \[\d+\]", done.output)


def test_tables_are_as_wide_as_the_terminal(play: Player):
    command = findings(play.folder, 3)
    shown, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 180, 0, 0))
    with subprocess.Popen(
        command, cwd=play.folder, env=play.environment(), stdout=terminal, stderr=subprocess.DEVNULL
    ) as playing:
        os.close(terminal)
        text = b""
        while part := _read(shown):
            text += part
        playing.wait(timeout=300)
    os.close(shown)
    lines = [line for line in text.decode().splitlines() if "one-of-many" in line]
    assert lines and max(map(len, lines)) > 80, text


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # the other end was closed
        return b""
