# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of our playbooks: which names a playbook knows, which options they set; other variables of the command line
(``-e``), such as misspelt ones, are refused (``unknown-variable``), for they would be passed over; options in a printed
command.

``-e aproved_plan=plan.json`` would apply what nobody approved. What a playbook knows is what its own text uses. Private
to this collection.
"""

from __future__ import annotations

import difflib
import os
import types
import typing as t
from functools import cache

import yaml
from ansible import context
from ansible.parsing.dataloader import DataLoader
from ansible.utils.vars import load_extra_vars
from jinja2 import Environment, nodes

from ..module_utils._core.errors import FleetError, Problem

COLLECTION = "gitops.fleet."
PLAYBOOKS = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "playbooks"))
OURS_TO_LIST = "extra_variables"
# What Ansible and its job runners give to every play.
_OF_RUNNERS = ("ansible_", "awx_", "tower_")
NO_OPTIONS: t.Mapping[str, str] = types.MappingProxyType({})
# What is compared with known names, which takes time and memory that grow with it.
_LONGEST = 200
_BLOCK = ("block", "rescue", "always")
# Where Ansible puts words of ``-e`` that set nothing.
_WORDS = "_raw_params"
# What playbooks call what they are about, clusters, and placements by name; the usual word first.
_WORDS_FOR = (("clusters", "members", "evacuate", "member", "cluster"), ("placement", "names"))
_CONDITIONS = ("when", "that", "failed_when", "changed_when", "until")


def check_extra_variables(task_path: str, loader: DataLoader) -> None:
    """FleetError ``unknown-variable`` for variables of the command line that the playbook of the task does not use, if
    it is one of ours; those of runners (``ansible_`` and the like) and the user's own, listed in ``extra_variables``,
    pass. Where ours is part of a larger playbook, less is refused (see ``unknown_variables``). ``bad-option`` where the
    user's own are no list and no text. ``task_path`` as of ``is_of_ours``."""
    if not is_of_ours(task_path):
        return
    file = _file(task_path)
    given = load_extra_vars(loader)
    mine = _listed(given.get(OURS_TO_LIST))
    names = [str(each) for each in given if not str(each).startswith(_OF_RUNNERS) and each not in mine]
    started = [str(each) for each in context.CLIARGS.get("args") or ()]
    alone = bool(started) and all(each.startswith(COLLECTION) for each in started)
    problems = unknown_variables(known_variables(file), names, alone, variables_by_option(file))
    if problems:
        raise FleetError.of(problems)


def _listed(names: t.Any) -> list[t.Any]:
    """Names given as a list, or as a text with spaces or commas between them; none for what is empty. FleetError
    ``bad-option`` for anything else."""
    if isinstance(names, str):
        return names.replace(",", " ").split()
    if isinstance(names, list) or not names:
        return names or []
    raise FleetError("bad-option", "a list of names is wanted", OURS_TO_LIST)


def is_of_ours(task_path: str) -> bool:
    """Whether the task stands in a playbook of this collection. ``task_path`` is ``file:line``, empty where the task
    stands in no file."""
    return os.path.dirname(_file(task_path)) == PLAYBOOKS


def _file(task_path: str) -> str:
    """The file of ``file:line``, its links resolved; empty for an empty text, as of ``ansible -m``."""
    file = task_path.rpartition(":")[0]
    return os.path.realpath(file) if file else ""


def unknown_variables(
    known_names: t.Collection[str], given: t.Iterable[str], alone: bool, options: t.Mapping[str, str] = NO_OPTIONS
) -> list[Problem]:
    """A problem ``unknown-variable`` for each of the names that were given and not known, by name, that of words
    without a variable (``_raw_params``) first. Unless they are ``alone``, so that nobody else can mean them, those that
    are near no known name are passed over, but for words without a variable. ``options`` are variables by the option of
    the verb that they set: one that is given in its variable's place is a problem in any case, and the hint names the
    variable."""
    problems = []
    for name in sorted(set(given) - set(known_names), key=lambda each: (each != _WORDS, each)):
        near = [options[name]] if name in options else _near(name, known_names)
        if alone and not near:
            near = [each for same in _WORDS_FOR if name in same for each in same if each in known_names]
        text = f"this playbook has no variable {name!r:.100}"
        if name == _WORDS:
            text = "a value with blanks wants quotes inside those of the shell: -e reason=\"'it loses requests'\""
            hint = "Ansible took the words behind the blank for something else"
        elif near:
            hint = f"did you mean {near[0]}?"
        elif alone:
            hint = f"known are {', '.join(sorted(known_names))}; name variables of your own in {OURS_TO_LIST}"
        else:
            continue
        problems.append(Problem("unknown-variable", text, "-e" if name == _WORDS else name[:100], hint))
    return problems


def _near(name: str, known_names: t.Collection[str]) -> list[str]:
    """The known name that is most like this one, alone in a list; empty if none is near, or the name is longer than 200
    characters."""
    return difflib.get_close_matches(name, known_names, 1, 0.75) if len(name) <= _LONGEST else []


@cache
def known_variables(playbook: str) -> frozenset[str]:
    """The names that a playbook uses and neither makes itself nor has from Ansible (``ansible_check_mode``), and
    OURS_TO_LIST. OSError if the file cannot be read."""
    with open(playbook, encoding="utf-8") as file:
        plays = yaml.safe_load(file)
    used: set[str] = {OURS_TO_LIST}
    made: set[str] = {"omit", "item", *Environment().globals}
    _collect(plays, used, made)
    return frozenset(each for each in used - made if not each.startswith(_OF_RUNNERS))


@cache
def variables_by_option(playbook: str) -> t.Mapping[str, str]:
    """For options of our verbs that no variable of the playbook has the name of: the one variable that sets them in all
    of its tasks. Options that are set by several, or by one that the playbook makes, are left out. OSError if the file
    cannot be read."""
    with open(playbook, encoding="utf-8") as file:
        plays = yaml.safe_load(file)
    found: dict[str, set[str]] = {}
    for task in (task for play in plays for task in _tasks(play.get("tasks"))):
        for module, options in task.items():
            for option, value in options.items() if module.startswith(COLLECTION) and isinstance(options, dict) else ():
                if isinstance(value, str):
                    found.setdefault(option, set()).update(_setting(value))
    names = known_variables(playbook)
    return {
        option: next(iter(variables))
        for option, variables in found.items()
        if option not in names and len(variables) == 1 and variables <= names
    }


def variables_for_missing(task_path: str, message: str) -> str:
    """Which variables set the options that a ``message`` on missing ones names, where these have other names; empty if
    none has, and for tasks of other playbooks. ``task_path`` as of ``is_of_ours``."""
    _before, _colon, missing = message.partition("missing required arguments: ")
    if not missing or not is_of_ours(task_path):
        return ""
    variables = variables_by_option(_file(task_path))
    asked = [each.strip() for each in missing.partition(" found in ")[0].split(",")]
    return ", ".join(f"{each} is given by the variable {variables[each]}" for each in asked if each in variables)


def lists_parted(given: t.Mapping[str, t.Any], spec: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The options as they were given; one that is a list by its argument spec, and was given as a text, is parted at
    commas, as Ansible does: in a command that is printed, the text would be a single name."""
    lists = {name for name, option in spec.items() if option.get("type") == "list"}
    return {name: each.split(",") if name in lists and isinstance(each, str) else each for name, each in given.items()}


def _setting(template: str) -> set[str]:
    """The variable that a template gives as it is, or filtered; of any other template all names that it uses but
    ``omit``. TemplateSyntaxError as of ``names_in``."""
    outputs = list(Environment().parse(template).find_all(nodes.Output))
    value = outputs[0].nodes[0] if len(outputs) == 1 and len(outputs[0].nodes) == 1 else None
    while isinstance(value, nodes.Filter):
        value = value.node
    return {value.name} if isinstance(value, nodes.Name) else {each.name for each in names_in(template)} - {"omit"}


def _tasks(listed: t.Any) -> t.Iterator[dict[str, t.Any]]:
    """The tasks of a list (None: none), in order; a block comes itself, and then the tasks inside of it."""
    for task in listed or ():
        yield task
        for part in _BLOCK:
            yield from _tasks(task.get(part))


def _collect(value: t.Any, used: set[str], made: set[str], key: str = "") -> None:
    """Adds to ``used`` the names that the value uses, and those of a play's ``vars``; to ``made`` those that it
    registers or sets, and those of other ``vars``. ``key`` is what the value stands under, as conditions are templates
    without braces. Both sets are changed. TemplateSyntaxError as of ``names_in``."""
    if isinstance(value, dict):
        if isinstance(value.get("register"), str):
            made.add(value["register"])
        (used if "hosts" in value else made).update(value.get("vars") or ())
        for name, each in value.items():
            _collect(each, used, made, str(name))
    elif isinstance(value, list):
        for each in value:
            _collect(each, used, made, key)
    elif isinstance(value, str):
        bare = key in _CONDITIONS and "{{" not in value  # options of verbs may have such names too
        for name in names_in(f"{{{{ {value} }}}}" if bare else value):
            (used if name.ctx == "load" else made).add(name.name)


def names_in(template: str) -> t.Iterator[nodes.Name]:
    """Every name of a template, as it is read or set, as often as it stands there. TemplateSyntaxError of Jinja for
    what is no template."""
    return Environment().parse(template).find_all(nodes.Name)
