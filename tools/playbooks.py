# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make playbooks`: writes docs/playbooks.md, every playbook with its variables, from the playbooks and their verbs.

A variable means what the option of the verb means that it is given to; what the playbook does with others it says in
``OWN``.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "playbooks.md"
PLAYBOOKS = ROOT / "playbooks"
VERB = "gitops.fleet."
# Options that are no variables, by playbook: what it fixes itself, and what belongs to another playbook or to a task.
FIXED = {
    "apply": {"state", "definition"},
    "plan": {"state", "definition", "validate", "removal_timeout"},
    "drift": {
        *("state", "definition", "digest", "approved_plan", "facts", "prune_kinds", "max_removals", "validate"),
        *("max_object_removals", "allow_empty", "allow_no_objects", "allow_older", "removal_timeout"),
        *("write_plan", "write_markdown"),
    },
    "facts": {"return_snapshot"},
    "join": {"state", "members", "forget_unreachable", "max_removals", "placed", "prune_kinds", "removal_timeout"},
    "approve": {"name"},
    "update": {"state", "definition", "force", "targets"},
    "local_up": {"state"},
    "local_down": {"state"},
}
# Variables that are no option of a verb by themselves.
OWN = {
    "restart": "start a run again that is Stopped or Failed, and conduct it",
    "members": "how many members the local fleet has",
    "nodes": "how many simulated nodes each member has",
    "version": "version of Kubernetes of hub and members",
    "subject": "name of the user, group or service account that gets the rights",
    "subject_kind": "User, Group or ServiceAccount",
    "subject_namespace": "namespace of a ServiceAccount",
}
HEAD = """# Playbooks and their variables

Made by `make playbooks`. Each is started as `ansible-playbook gitops.fleet.<name> -e <variable>=<value>`; lists
and maps as JSON (`-e '{"placements": ["a", "b"]}'`) or from a file (`-e @variables.yml`). A variable that the
playbook does not know is refused, with the name that was probably meant. Variables of your own, which stand in
values that you give, are named in `extra_variables`; those of Ansible, AWX and Tower are let pass. Where a
playbook of ours is part of a larger one, only names are refused that are nearly one of its own.
"""

Document = dict[str, t.Any]


def page() -> str:
    sections = [section(file.stem) for file in sorted(PLAYBOOKS.glob("*.yml")) if file.stem != "demo"]
    return "\n".join([HEAD, *sections])


def section(name: str) -> str:
    (play,) = yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text(encoding="utf-8"))
    lines = [f"## {name}", "", f"{play['name']}.", "", "| variable | default | meaning |", "| --- | --- | --- |"]
    defaults = play.get("vars") or {}
    for variable, (option, told) in sorted(variables(play).items()):
        default = defaults.get(variable, told.get("default", ""))
        meaning = OWN.get(variable) if not option else _first(told)
        lines.append(f"| `{variable}` | {f'`{_plain(default)}`' if default not in ('', None) else ''} | {meaning} |")
    return "\n".join([*lines, ""])


def variables(play: Document) -> dict[str, tuple[str, Document]]:
    """Each variable with the option that it is given to, and its documentation; nothing for those of the play."""
    found: dict[str, tuple[str, Document]] = {}
    for verb, arguments in calls(play):
        for option, value in arguments.items():
            for name in re.findall(r"\{\{ (?:\[)?(\w+)", str(value)) if isinstance(value, str) else ():
                found[name] = (option, options(verb)[option])
    text = yaml.safe_dump(play)
    found |= {name: ("", {}) for name in OWN if re.search(rf"\b{name}\b(?! ?:)", text) and _is_own(play, name)}
    return {name: each for name, each in found.items() if name not in ("found", "wanted")}


def _is_own(play: Document, name: str) -> bool:
    return name in (play.get("vars") or {}) or name in ("restart", "subject", "subject_kind", "subject_namespace")


def calls(play: Document) -> t.Iterator[tuple[str, Document]]:
    def tasks(rows: t.Iterable[Document]) -> t.Iterator[tuple[str, Document]]:
        for row in rows:
            for key, value in row.items():
                if key.startswith(VERB):
                    yield key.removeprefix(VERB), value or {}
                elif key in ("block", "always", "rescue"):
                    yield from tasks(value)

    yield from tasks(play.get("tasks") or ())


@functools.cache
def documented() -> dict[str, Document]:
    """Every module as ansible-doc tells it, fragments included."""
    names = [VERB + file.stem for file in (ROOT / "plugins" / "modules").glob("*.py") if file.stem != "__init__"]
    command = [sys.executable, "-m", "ansible", "doc", "--type", "module", "--json", *sorted(names)]
    environ = os.environ | {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache" / "collections")}
    found = subprocess.run(command, env=environ, capture_output=True, check=True).stdout
    return {name.removeprefix(VERB): each["doc"] for name, each in json.loads(found).items()}


def options(verb: str) -> dict[str, Document]:
    return dict(documented()[verb].get("options") or {})


def _first(option: Document) -> str:
    text = option.get("description") or ""
    first = str(text[0] if isinstance(text, list) else text).strip()
    return re.sub(r"[A-Z]+\(([^)]*)\)", r"`\1`", first).replace("|", "\\|")


def _plain(value: t.Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
