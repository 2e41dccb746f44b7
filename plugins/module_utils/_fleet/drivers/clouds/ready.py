# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The ready definitions of the driver ``command``, and how one is run: as a program of ours (``observe``, ``begin``,
``poll``, ``begin_pool``) with settings, and its exit codes."""

from __future__ import annotations

import argparse
import json
import os
import sys
import typing as t
from pathlib import Path

from ...._core.errors import FleetError, fault
from ..contract import FAILED, IN_PROGRESS, SUCCEEDED
from .az_aks import AZ_AKS
from .definition import PACE, Definition, Document, PoolWork, Settings
from .eksctl import EKSCTL
from .gcloud import GCLOUD
from .tool import Tool, without_folder

DEFINITIONS: t.Mapping[str, Definition] = {"az_aks": AZ_AKS, "eksctl": EKSCTL, "gcloud": GCLOUD}
VERBS = ("observe", "begin", "poll", "begin_pool")
PLUGINS = Path(__file__).absolute().parents[4]
# Found by its place in the collection, whatever the collection is called and by whomever it was loaded.
_MODULE = "module_utils._fleet.drivers.clouds.ready"
_EXIT_CODES = {SUCCEEDED: 0, FAILED: 1, IN_PROGRESS: 75}
_NOTHING_TOLD = 4


def settings_of(name: str) -> dict[str, str | None]:
    """All settings of a definition, those of its pace among them, with their defaults; None for one that has to be
    given. KeyError for an unknown name."""
    return {**DEFINITIONS[name].settings, **PACE}


def argv_of(name: str, verb: str, settings: Settings) -> tuple[str, ...]:
    """The command for that verb of the definition ``name``; empty for ``poll`` if it does without it. Neither verb nor
    settings are checked."""
    if verb == "poll" and DEFINITIONS[name].poll is None:
        return ()
    given = (f"--set={key}={value}" for key, value in settings.items())
    return (sys.executable, "-P", "-m", _MODULE, name, verb, *given)


def environ_of(environ: t.Mapping[str, str]) -> dict[str, str]:
    """A copy of the environment, with our folder first in ``PYTHONPATH``: there the commands of ``argv_of`` find their
    module."""
    found = os.pathsep.join(filter(None, (str(PLUGINS), environ.get("PYTHONPATH", ""))))
    return {**environ, "PYTHONPATH": found}


def main(arguments: t.Sequence[str], environ: t.Mapping[str, str]) -> int:
    """Carries out one verb of a definition, for target, pool and so on as the driver ``command`` sets them in its
    environment; what it has to tell is a line of JSON on the output, what is wrong goes to the error output. The exit
    code: 0 if it is done, 1 if it failed; of ``poll`` also 75 while it goes on, and 4 if the tool does not tell.
    SystemExit with 2 for arguments that are none of its own; KeyError or ValueError for settings ``patience`` and
    ``interval`` that are missing, or no numbers."""
    parser = argparse.ArgumentParser(prog="ready")
    parser.add_argument("definition", choices=sorted(DEFINITIONS))
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("--set", action="append", default=[])
    given = parser.parse_args(arguments)
    settings = dict(each.partition("=")[::2] for each in given.set)
    definition = DEFINITIONS[given.definition]
    tool = Tool(
        environ=without_folder(environ, PLUGINS),
        refusals=definition.refusals,
        patience=float(settings["patience"]),
        interval=float(settings["interval"]),
    )
    try:
        return _carried_out(definition, given.verb, tool, settings, environ)
    except FleetError as error:
        told = error
    except Exception as error:  # noqa: BLE001  # Python would end with 1, which says that the operation has failed
        told = fault(error)
    for problem in told.problems:
        sys.stderr.write("; ".join(filter(None, (problem.message, problem.hint))) + "\n")
    return _NOTHING_TOLD if given.verb == "poll" else 1


def _carried_out(
    definition: Definition, verb: str, tool: Tool, settings: Settings, environ: t.Mapping[str, str]
) -> int:
    """Carries out the verb, prints what it tells, and gives the exit code as of ``main``. What the
    definition raises comes through."""

    def value(name: str) -> str:
        """What the driver ``command`` has set of that name; empty if it has not."""
        return environ.get(f"GITOPS_FLEET_{name}", "")

    target = value("TARGET").removeprefix("v")  # as people may write it, and clouds do not
    if verb == "observe":
        _tell(definition.observe(tool, settings))
    elif verb == "begin":
        _tell({"reference": definition.begin(tool, settings, target)})
    elif verb == "begin_pool":
        work = PoolWork(pool=value("POOL"), version=target, image=value("IMAGE"))
        definition.begin_pool(tool, settings, work)
    elif definition.poll is not None:
        progress = definition.poll(tool, settings, value("REFERENCE"))
        _tell({"state": progress.state, "message": progress.message})
        return _EXIT_CODES[progress.state]
    return 0


def _tell(document: Document) -> None:
    """Prints it as a line of JSON."""
    sys.stdout.write(json.dumps(document) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))  # pylint: disable=ansible-bad-function  # a command
