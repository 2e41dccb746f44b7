# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Runs verbs in processes of their own, and says what they took."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIME_LIMIT = 1_800.0
Options = dict[str, t.Any]
# What every figure of a verb is.
PROCESS = "the action plugin run as by a task in a fresh Python; CPU of that process, from the import of our code on"


@dataclass(frozen=True)
class Measured:
    """One run of a verb: seconds, processor seconds, most resident memory in MB, and a digest of the result."""

    wall: float
    cpu: float
    peak_mb: float
    result: t.Mapping[str, t.Any]


def run_verb(verb: str, options: Options, profile: str = "", limit: float = TIME_LIMIT) -> Measured:
    """AssertionError with the message if the task fails; subprocess.TimeoutExpired after ``limit`` seconds.

    ``profile`` names a file for the statistics of cProfile.
    """
    with tempfile.TemporaryDirectory(prefix="bench-verb-") as name:
        given, told, output = (Path(name, part) for part in ("options.json", "result.json", "output"))
        given.write_text(json.dumps(options), encoding="utf-8")
        command = [sys.executable, str(Path(__file__).with_name("one_verb.py")), verb, str(given), str(told)]
        command += [profile] if profile else []
        with output.open("wb") as said:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, check=True, timeout=limit, env=environment())
        found = Measured(**json.loads(told.read_text(encoding="utf-8")))
    assert not found.result["failed"], found.result["msg"]
    return found


def run_playbook(name: str, variables: Options) -> Measured:
    """A playbook of the collection by ansible-playbook: processor seconds are those of all its processes, memory that
    of the largest."""
    command = [sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", f"gitops.fleet.{name}"]
    command += ["-e", json.dumps(variables)]
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        started = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment()
        )
        _pid, status, used = os.wait4(started.pid, 0)
        wall = time.perf_counter() - began
        started.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        assert started.returncode == 0, output.read()[-4000:].decode(errors="replace")
    return Measured(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6, {})


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "CI")}
    return kept | {
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache" / "collections"),
        "ANSIBLE_LOCALHOST_WARNING": "False",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "False",
    }


def percentile(values: t.Iterable[float], share: float) -> float:
    """The smallest value that so large a share of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]
