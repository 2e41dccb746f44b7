# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Runs benchmarks, prints a table and writes ``build/bench.json``.

    python tests/bench/run.py [NAME]

The other files of this folder hold benchmarks and what they stand on: functions named ``bench_<name>`` that return
rows, each a tuple (name, value, unit, setup). The name of a row is that of its benchmark, or begins with it; names
never change, so that runs can be compared. With NAME only that benchmark runs, and the rows of others in ``bench.json``
are kept.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "bench.json"

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
    for name, benchmark in known.items():
        if only in ("", name):
            for row, value, unit, setup in benchmark():
                results[row] = {"value": value, "unit": unit, "setup": setup}
                print(f"{row:<28} {value:>12,.2f} {unit:<6} {setup}", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
