# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One verb in a process of its own, as a task of ansible-playbook would run it but without ansible-playbook around it.

    python tests/bench/one_verb.py VERB OPTIONS.json RESULT.json [PROFILE]

Ansible's own libraries are imported before the clock starts; everything of this collection, from the first import to
the result, is counted. With PROFILE the statistics of cProfile, over all threads, are written there: the figures are
then those of a slower program.
"""

from __future__ import annotations

import cProfile
import importlib
import json
import os
import resource
import sys
import threading
import time
import typing as t
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".cache" / "collections"))

ACTIONS = "ansible_collections.gitops.fleet.plugins.action"


def main(verb: str, options: str, result: str, profile: str = "") -> int:
    task = _task(verb, json.loads(Path(options).read_text(encoding="utf-8")))
    profiles: list[cProfile.Profile] = []
    if profile:
        _profile_threads(profiles)
    began, cpu = time.perf_counter(), _cpu()
    told = task(importlib.import_module(f"{ACTIONS}.{verb}").ActionModule)
    used = {"wall": time.perf_counter() - began, "cpu": _cpu() - cpu, "peak_mb": _peak(), "result": _short(told)}
    if profile:
        _write_profile(profiles, profile)
    Path(result).write_text(json.dumps(used), encoding="utf-8")
    return 0


def _task(verb: str, options: dict[str, t.Any]) -> t.Callable[[t.Any], dict[str, t.Any]]:
    """What runs the task with an action plugin's class; all that Ansible needs for it is imported here."""
    from ansible.parsing.dataloader import DataLoader
    from ansible.playbook.play_context import PlayContext
    from ansible.playbook.task import Task
    from ansible.plugins import action as _action
    from ansible.plugins import loader
    from ansible.template import Templar
    from ansible.utils import plugin_docs as _docs

    assert _action and _docs
    loader.init_plugin_loader([])
    files, context, task = DataLoader(), PlayContext(), Task()
    task.action, task.args = f"gitops.fleet.{verb}", options
    connection = loader.connection_loader.get("ansible.builtin.local", context)

    def run(plugin: t.Any) -> dict[str, t.Any]:
        made = plugin(task, connection, context, files, Templar(files), loader)
        return t.cast("dict[str, t.Any]", made.run(task_vars={}))

    return run


def _cpu() -> float:
    """User and system seconds of this process, its threads and the children that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _peak() -> float:
    """Most memory that was resident, in MB. (ru_maxrss would count what the parent held when it started us.)"""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise AssertionError("the kernel tells no peak")


def _short(told: dict[str, t.Any]) -> dict[str, t.Any]:
    """Of the result what benchmarks check: the whole may have megabytes."""
    return {key: told.get(key) for key in ("changed", "failed", "msg", "fleet", "digest")} | {
        "placements": len((told.get("plan") or {}).get("placements") or ()),
        "members": sum(len(each) for each in (told.get("members") or {}).values()),
        "read": len(told.get("read") or ()),
        "joined": len(told.get("joined") or ()),
        "nodes": len(told.get("nodes") or ()),
    }


def _profile_threads(profiles: list[cProfile.Profile]) -> None:
    """A profile for each thread, by its own processor time: several threads share one interpreter."""
    original = threading.Thread.run

    def run(self: threading.Thread) -> None:
        mine = cProfile.Profile(time.thread_time)
        profiles.append(mine)
        mine.runcall(original, self)

    threading.Thread.run = run  # type: ignore[method-assign]
    profiles.append(cProfile.Profile(time.thread_time))
    profiles[0].enable()


def _write_profile(profiles: list[cProfile.Profile], path: str) -> None:
    import pstats

    profiles[0].disable()
    whole = pstats.Stats(profiles[0])
    for each in profiles[1:]:
        whole.add(each)
    whole.dump_stats(path)


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
