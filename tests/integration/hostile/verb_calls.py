# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verbs carried out in this process, options checked and defaults filled in as Ansible does: thousands of calls."""

from __future__ import annotations

import functools
import importlib
import os
import typing as t
from datetime import datetime

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import present
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Answer, Run, _options

Options = dict[str, t.Any]
PLUGINS = "ansible_collections.gitops.fleet.plugins"


@functools.cache
def spec_of(verb: str) -> Options:
    """As the verb itself reads it, but for the loader of Ansible, which wants a process of its own."""
    documented = yaml.safe_load(importlib.import_module(f"{PLUGINS}.modules.{verb}").DOCUMENTATION)
    options = dict(documented.get("options") or {})
    for named in documented.get("extends_documentation_fragment") or ():
        module, _dot, part = named.removeprefix("gitops.fleet.").partition(".")
        fragment = importlib.import_module(f"{PLUGINS}.doc_fragments.{module}").ModuleDocFragment
        options |= yaml.safe_load(getattr(fragment, part.upper() or "DOCUMENTATION")).get("options") or {}
    return _options(options)


def call(verb: str, options: Options, check_mode: bool = True, now: datetime | None = None) -> Answer | FleetError:
    """What the verb gives back, or how it refuses; whatever else it raises is a fault of ours."""
    checked = ArgumentSpecValidator(spec_of(verb)).validate(options)
    assert not checked.errors.messages, checked.errors.messages
    plugin = importlib.import_module(f"{PLUGINS}.action.{verb}").ActionModule
    run = Run(
        check_mode=check_mode,
        clock=(lambda: now) if now else present,
        say=lambda _line: None,
        environ={name: value for name, value in os.environ.items() if name != "CI"},
    )
    try:
        return t.cast(Answer, plugin.carry_out(object.__new__(plugin), checked.validated_parameters, run))
    except FleetError as error:
        assert all(problem.code and problem.message for problem in error.problems)
        return error
