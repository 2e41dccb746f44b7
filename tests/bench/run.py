# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Runs benchmarks, prints a table and writes ``build/bench.json``.

    python tests/bench/run.py [NAME]

The other files of this folder hold benchmarks and what they stand on: functions named ``bench_<name>`` that return
rows, each a tuple (name, value, unit, setup). The name of a row is that of its benchmark, or begins with it; names
never change, so that runs can be compared. With NAME only that benchmark runs, and the rows of others in ``bench.json``
are kept. Standard error tells which one is running; one that fails is named there, and the others run all the same.

Processors differ, and those of a virtual machine from hour to hour. So after each benchmark the row ``yardstick`` says
how long a fixed piece of Python takes here at that time: figures of two machines are compared by their ratio to it.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "bench.json"

YARDSTICK = "a fixed loop of plain Python, here and now: what the figures above are compared by between machines"

Row = tuple[str, float, str, str]
Benchmark = t.Callable[[], t.Iterable[Row]]


def benchmarks() -> dict[str, Benchmark]:
    """By name, in the order of the files' names."""
    found: dict[str, Benchmark] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name == Path(__file__).name:
            continue
        module = importlib.import_module(path.stem)
        found |= {name.removeprefix("bench_"): one for name, one in vars(module).items() if name.startswith("bench_")}
    return found


def yardstick() -> float:
    """Processor seconds of one loop over five million whole numbers in plain Python, the best of three."""
    return min(_loop() for _time in range(3))


def _loop() -> float:
    began, total = time.process_time(), 0
    for number in range(5_000_000):
        total += number * number
    return time.process_time() - began


def importable() -> None:
    """Make a plain checkout importable as ``ansible_collections.gitops.fleet``."""
    tree = ROOT / ".cache" / "collections"
    link = tree / "ansible_collections" / "gitops" / "fleet"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(ROOT, target_is_directory=True)
    sys.path.insert(0, str(tree))


def main(only: str = "") -> int:
    importable()
    known = benchmarks()
    if only and only not in known:
        print(f"there is no benchmark {only}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, {platform.machine()}\n")
    results = json.loads(RESULTS.read_text()) if only and RESULTS.exists() else {}
    asked = [name for name in known if only in ("", name)]
    began, failed = time.monotonic(), []
    for number, name in enumerate(asked, start=1):
        minutes = (time.monotonic() - began) / 60
        print(f"{name} ({number} of {len(asked)}, after {minutes:.0f} min)", file=sys.stderr, flush=True)
        try:
            for row, value, unit, setup in (*known[name](), ("yardstick", yardstick(), "CPU-s", YARDSTICK)):
                results[row] = {"value": value, "unit": unit, "setup": setup}
                print(f"{row:<28} {value:>12,.2f} {unit:<6} {setup}", flush=True)
        except Exception as error:  # noqa: BLE001  # an hour of other figures is not lost for one
            print(f"{name} failed: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            failed.append(name)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=2, sort_keys=True) + "\n")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
