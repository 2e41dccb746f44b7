# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The command behind the driver of local clusters: upgrades one, and says what it does. Ends with 0 or 1, with 2
for arguments that are none of its own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..._core.errors import FleetError
from ..._local import cluster
from ..._local.spec import TIMEOUT


def main(arguments: list[str] | None = None) -> int:
    """Upgrades the local cluster, and prints what it does. The exit code: 0 if the cluster is at its target, 1 with a
    line that says why not. SystemExit with 2 for arguments that are none of its own."""
    # pylint: disable=ansible-bad-function  # a command, which prints
    parser = argparse.ArgumentParser(prog="upgrade_local")
    for name in ("root", "member", "target", "operation", "binaries-dir"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--timeout", type=float, default=TIMEOUT)
    given = parser.parse_args(arguments)
    try:
        outcome = cluster.upgraded(
            given.member,
            given.target,
            Path(given.root),
            _say,
            operation=given.operation,
            binaries_dir=Path(given.binaries_dir) if given.binaries_dir else None,
            timeout=given.timeout,
        )
    except FleetError as error:
        _say(str(error))
        return 1
    _say(f"{given.member}: at {outcome.version}")
    return 0


def _say(text: str) -> None:
    """Prints a line at once."""
    # pylint: disable=ansible-bad-function
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())  # pylint: disable=ansible-bad-function  # a command, which has an exit code
