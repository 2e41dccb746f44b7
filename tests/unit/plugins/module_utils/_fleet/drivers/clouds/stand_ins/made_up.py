# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What all stand-ins share: a cloud in one file of JSON, a log of command lines, and refusals that are due."""

from __future__ import annotations

import argparse
import json
import sys
import typing as t
from pathlib import Path

Document = dict[str, t.Any]


class Cloud:
    """``cloud.json`` in ``folder``: ``clusters`` by name, and ``refusals``, each with a part of the command line that
    it is for, an exit code and a text; each is told once."""

    def __init__(self, folder: str) -> None:
        self.file = Path(folder, "cloud.json")
        self.state: Document = json.loads(self.file.read_text())
        with open(Path(folder, "commands.log"), "a") as log:
            log.write(" ".join([Path(sys.argv[0]).stem, *sys.argv[1:]]) + "\n")
        for each in self.state["refusals"]:
            if each["of"] in " ".join(sys.argv[1:]):
                self.state["refusals"].remove(each)
                self.keep()
                refuse(each["code"], each["text"])

    @property
    def clusters(self) -> dict[str, Document]:
        return t.cast(dict[str, Document], self.state["clusters"])

    def keep(self) -> None:
        self.file.write_text(json.dumps(self.state))


def refuse(code: int, text: str) -> t.NoReturn:
    print(text, file=sys.stderr)
    sys.exit(code)


def parsed(command: str, arguments: list[str], needed: str, optional: str = "", flags: str = "") -> argparse.Namespace:
    """Options of one command, of which no others are known; exit code 2 otherwise, as all three tools have it."""
    parser = argparse.ArgumentParser(prog=command, allow_abbrev=False)
    for name in needed.split():
        parser.add_argument(f"--{name}", required=True)
    for name in optional.split():
        parser.add_argument(f"--{name}")
    for name in flags.split():
        parser.add_argument(f"--{name}", action="store_true", required=True)
    return parser.parse_args(arguments)
