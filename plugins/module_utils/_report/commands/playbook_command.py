# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The command for a playbook with its variables, safe for a shell, and for Ansible behind it, whatever names are in
it."""

from __future__ import annotations

import json
import re
import shlex
import typing as t

from ..._core.foreign import is_template

# What stands in a shell, and behind the = of Ansible's -e, for itself.
_PLAIN = re.compile(r"[A-Za-z0-9_.,:/+-]+")
Variables = t.Mapping[str, t.Any]


def playbook_command(playbook: str, variables: Variables) -> str:
    """The command that starts the playbook of our collection, quoted for a shell, variables in the order given; empty
    where a value would be a template. TypeError for a value that JSON has not."""
    words = ["ansible-playbook", f"gitops.fleet.{playbook}"]
    for name, value in variables.items():
        if is_template(value):
            return ""
        words += ["-e", shlex.quote(_assignment(name, value))]
    return " ".join(words)


def _assignment(name: str, value: t.Any) -> str:
    """``name=value`` for truth values (``true``), whole numbers and plain texts; else a JSON object with the one
    name."""
    if isinstance(value, bool):
        return f"{name}={str(value).lower()}"
    if isinstance(value, int) or (isinstance(value, str) and _PLAIN.fullmatch(value)):
        return f"{name}={value}"
    return json.dumps({name: value})
