# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is known of a Pulumi stack without running its program: outputs, all or one by name (``no-such-output``,
``secret-output``), resources, its last run, what was cut off (``pending``), locks."""

from __future__ import annotations

import contextlib
import typing as t
from collections import Counter
from dataclasses import dataclass, field

from ..._core.errors import FleetError
from ..._core.values.parts import mapping, name, rows
from ..files import json_file
from .command import NO_SUCH_STACK, UNREADABLE, Commands, Say
from .events import holds_secret
from .place import StackPlace, place, project_name
from .stack import opened_stack, stack_outputs

Options = t.Mapping[str, t.Any]
_LAST = ("kind", "result", "startTime", "endTime", "version", "resourceChanges")


@dataclass(frozen=True, kw_only=True)
class StackInfo:
    """``types`` counts resources by type, ``urns`` names them in the order of the state; ``last`` is what the engine
    tells of its last run; ``pending`` are URNs of operations that were cut off, with what they were; ``locks`` have
    username, hostname, pid and timestamp."""

    exists: bool = False
    outputs: t.Mapping[str, t.Any] = field(default_factory=dict)
    types: t.Mapping[str, int] = field(default_factory=dict)
    urns: tuple[str, ...] = ()
    last: t.Mapping[str, t.Any] = field(default_factory=dict)
    pending: t.Mapping[str, str] = field(default_factory=dict)
    locks: tuple[t.Mapping[str, t.Any], ...] = ()


def info(options: Options, environ: t.Mapping[str, str], say: Say) -> StackInfo:
    """All that is known of the stack, without its program; an empty one where there is no stack or no state. FleetError
    ``stack-unreadable``, and as of ``place``, ``project_name``, ``opened_stack`` and ``Commands.output_of``."""
    where = place(options)
    try:
        with _reading(where, environ, say) as commands:
            state = commands.json_of("stack", "export")
            runs = commands.json_of("stack", "history", "--json", "--page-size", "1", empty=[])
            outputs = stack_outputs(commands)
    except FleetError as error:
        if error.code == NO_SUCH_STACK:
            return StackInfo()
        raise
    try:
        return _told(where, state, runs, outputs)
    except ValueError as error:
        hint = "is this an engine that the collection was tried with?"
        raise FleetError(
            UNREADABLE, f"what the engine tells is damaged: {error}", f"stack {where.stack}", hint
        ) from None


def _told(where: StackPlace, state: t.Any, runs: t.Any, outputs: t.Mapping[str, t.Any]) -> StackInfo:
    """What the engine's answers tell, with the locks. ValueError for what the engine does not tell in this way;
    FleetError as of ``project_name``."""
    deployment = mapping({"state": state}, "state")
    deployment = mapping(deployment, "deployment")
    resources, pending = rows(deployment, "resources"), rows(deployment, "pending_operations")
    last = (rows({"history": runs}, "history") or [{}])[0]
    return StackInfo(
        exists=True,
        outputs=outputs,
        types=dict(sorted(Counter(name(each, "type") for each in resources).items())),
        urns=tuple(name(each, "urn") for each in resources),
        last={key: last[key] for key in _LAST if key in last},
        pending={name(mapping(each, "resource"), "urn"): name(each, "type") for each in pending},
        locks=tuple(_locks(where)),
    )


def output(options: Options, wanted: str, environ: t.Mapping[str, str], say: Say) -> t.Any:
    """The output of that name; it may be null. FleetError ``no-such-stack``, ``no-such-output`` (with those there are),
    ``secret-output``, and as of ``place``, ``opened_stack`` and ``stack_outputs``."""
    where = place(options)
    with _reading(where, environ, say) as commands:
        found = stack_outputs(commands)
    if wanted not in found:
        known = ", ".join(sorted(found)) or "none"
        text = f"there is no output {wanted!r}"
        raise FleetError("no-such-output", text, f"stack {where.stack}", f"outputs: {known}")
    if holds_secret(found[wanted]):
        text = f"the output {wanted} is secret, or something in it, and is not given"
        raise FleetError("secret-output", text, f"stack {where.stack}", "hand over a path or another reference")
    return found[wanted]


@contextlib.contextmanager
def _reading(where: StackPlace, environ: t.Mapping[str, str], say: Say) -> t.Iterator[Commands]:
    """Commands that read a stack. Nothing is built, and the folder of a state is not made, by who only reads:
    FleetError ``no-such-stack`` where there is none, else as of ``opened_stack``."""
    if where.folder is not None and not where.folder.is_dir():
        raise FleetError(NO_SUCH_STACK, f"there is no state in {where.folder}", f"stack {where.stack}")
    with opened_stack(where, {}, environ, say, build=False) as commands:
        yield commands


def _locks(where: StackPlace) -> t.Iterator[t.Mapping[str, t.Any]]:
    """Locks of a state in files, by the names of their files, those that cannot be read left out; another backend does
    not tell. FleetError as of ``project_name``."""
    if where.folder is None:
        return
    folder = where.folder / ".pulumi" / "locks" / "organization" / project_name(where) / where.stack
    for path in sorted(folder.glob("*.json")):
        try:
            found = json_file(str(path), "lock-missing", "lock-invalid")
        except FleetError:  # given back, or being written
            continue
        if isinstance(found, dict):
            yield {key: found.get(key) for key in ("username", "hostname", "pid", "timestamp")}
