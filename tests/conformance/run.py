# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""`make conformance DATA=<folder>`: asks our code every recorded case below a folder.

Ends with ``N passed, N failed, N skipped``, and with exit code 1 if a case failed or none was found. Skipped are only
the kinds that have no adapter yet.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from recorded import Result, cases, compare, files

MAX_SHOWN = 20


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare recorded answers with ours.")
    parser.add_argument("data", type=Path, help="folder that is searched for *.jsonl.gz")
    parser.add_argument("--all", action="store_true", help=f"show all failures, not only the first {MAX_SHOWN}")
    chosen = parser.parse_args(arguments)
    found = files(chosen.data)
    if not found:
        print(f"no *.jsonl.gz below {chosen.data}", file=sys.stderr)
        return 1
    results = [result for file in found for result in answers(file, chosen.data)]
    show_failures(results, chosen.data, None if chosen.all else MAX_SHOWN)
    skipped = Counter({result.kind: 0 for result in results if not result.built})
    skipped.update({kind: sum(each.cases for each in results if each.kind == kind) for kind in skipped})
    if skipped:
        print(f"\nskipped, not built yet: {', '.join(f'{kind} ({count})' for kind, count in sorted(skipped.items()))}")
    passed, failed = sum(each.passed for each in results), sum(len(each.failures) for each in results)
    print(f"\n{passed} passed, {failed} failed, {skipped.total()} skipped")
    return 1 if failed else 0


def answers(file: Path, top: Path) -> list[Result]:
    """Prints a line for each kind in the file."""
    results = []
    for kind, recorded in sorted(cases(file).items()):
        begun = time.monotonic()
        result = compare(file, kind, recorded)
        told = f"{result.passed} of {result.cases} passed" if result.built else f"{result.cases} skipped"
        print(f"{file.relative_to(top)!s:34} {kind:16} {told} ({time.monotonic() - begun:.1f} s)", flush=True)
        results.append(result)
    return results


def show_failures(results: list[Result], top: Path, limit: int | None) -> None:
    lines = [
        f"  {failure.name} ({result.file.relative_to(top)}): {failure.difference}"
        for result in results
        for failure in result.failures
    ]
    if lines:
        shown = lines[:limit]
        print(
            f"\n{'first ' if len(shown) < len(lines) else ''}{len(shown)} of {len(lines)} failures:", *shown, sep="\n"
        )


if __name__ == "__main__":
    # The checkout under the name of the collection; tools/venv.py makes the link.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".cache" / "collections"))
    sys.exit(main())
