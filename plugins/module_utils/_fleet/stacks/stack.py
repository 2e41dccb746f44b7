# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A stack of a Pulumi project: made as its program says (``deletions``, ``stack-moved``), refreshed, taken down; in
check mode only looked at; opened for commands, its secret settings, and its outputs."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
import typing as t
from dataclasses import dataclass, replace

from ..._core.errors import FleetError, Problem
from ..._core.values.canonical import is_unicode
from ..._core.values.listed import listed
from ..._kube.login.known_secrets import SHOWN, passwords_in
from ..._local.pulumi_engine import get_engine
from ..conductor.interrupts import Interrupts
from .alone import stack_held
from .command import UNREADABLE, Commands, Say
from .events import StackStep, Story
from .place import (
    ACCESS_TOKEN,
    StackPlace,
    environment,
    files_url,
    json_bytes,
    place,
    project_name,
    ready_folder,
    workspace,
)

Options = t.Mapping[str, t.Any]
_MOST_NAMED, _SHORTEST = 20, 8
PRESENT, REFRESHED = "present", "refreshed"
STATES = (PRESENT, REFRESHED, "absent")
_UP = ("up", "--yes", "--skip-preview")


@dataclass(frozen=True, kw_only=True)
class StackReport:
    """``counts`` are resources by operation, ``same`` ones too; ``steps`` are in the order in which the engine told
    them; ``outputs`` have secrets masked by the engine, and are empty after a preview and for a stack that is taken
    down."""

    changed: bool
    counts: t.Mapping[str, int]
    steps: tuple[StackStep, ...]
    outputs: t.Mapping[str, t.Any]
    warnings: tuple[str, ...]

    def diff(self) -> dict[str, t.Any]:
        """``before`` and ``after``, each by the names of resources (or URNs where several share a name) with the inputs
        that were, and are or would be, other. What is created or imported stands only in ``after``, what is deleted or
        discarded only in ``before``, with nothing in it."""
        before: dict[str, dict[str, t.Any]] = {}
        after: dict[str, dict[str, t.Any]] = {}
        whose: dict[str, set[str]] = {}
        for step in self.steps:
            whose.setdefault(step.name, set()).add(step.urn)
        for step in self.steps:
            key = step.name if len(whose[step.name]) == 1 else step.urn
            if step.op not in ("create", "import"):
                before.setdefault(key, {}).update(step.before)
            if step.op not in ("delete", "discard"):
                after.setdefault(key, {}).update(step.after)
        return {"before": before, "after": after}


def carry_out_stack(options: Options, check: bool, environ: t.Mapping[str, str], say: Say) -> StackReport:
    """Carries out the ``state`` that the options of the verb ``pulumi_stack`` ask for; ``allow_delete`` and what
    ``place`` needs must be among them. With ``check`` it only looks, though an engine is built and the folder of a
    state in files made if need be; else it is ``stack_held``. Told to end, it ends the engine.

    FleetError ``stack-failed`` with what the engine says, ``stack-locked``, ``stack-unreadable``, ``stack-moved``,
    ``deletions``, ``no-such-stack``, ``no-passphrase``, ``stack-timeout``, ``interrupted``, ``bad-config``,
    ``bad-option``, and as of ``place``, ``stack_held`` and ``opened_stack``; OSError as of ``workspace`` and
    ``Commands.output_of``.
    """
    _refuse_no_targets(options)
    if options["state"] not in STATES:
        text = f"{options['state']!r:.80} is none of {', '.join(STATES)}"
        raise FleetError("bad-option", text, "state", "nothing was done")
    where = place(options)
    held = contextlib.nullcontext() if check else stack_held(where)
    with held, opened_stack(where, options, environ, say) as opened, Interrupts() as told:
        commands = replace(opened, told=told)
        if options.get("force_unlock") and not check and commands.known():
            commands.output_of("cancel", "--yes")
        if options["state"] == PRESENT:
            return _present(where, options, commands, check)
        if options["state"] == REFRESHED:
            return _refreshed(options, commands, check)
        return _absent(options, commands, check)


def _refuse_no_targets(options: Options) -> None:
    """FleetError ``bad-option`` for targets of which one is empty or none is there, as of a variable that lost its
    content: without any the whole stack is meant."""
    targets = options.get("targets")
    if targets is not None and not (targets and all(map(str.strip, targets))):
        hint = "leave the option out if the whole stack is meant"
        raise FleetError("bad-option", "targets is empty, or one of them", "targets", hint)


@contextlib.contextmanager
def opened_stack(
    where: StackPlace, options: Options, environ: t.Mapping[str, str], say: Say, build: bool = True
) -> t.Iterator[Commands]:
    """Commands for a stack, with its settings in a folder that is gone afterwards; the folder of a state in files is
    made. What the engine logs in with and secret settings (lines of 8 characters or more) are hidden from now on in all
    that is shown: the engine tells whole URLs, and a program may make of such a setting something that is not secret to
    the engine. FleetError as of ``get_engine`` (``build`` too), ``ready_folder`` and ``workspace``, and OSError as of
    that."""
    secret = (*passwords_in(where.backend), environ.get(ACCESS_TOKEN, ""), *_lines(options.get("secret_config")))
    SHOWN.add(*filter(is_unicode, secret))
    engine = get_engine(environ, say=say, build=build)
    ready_folder(where)
    with workspace(where, options.get("config") or {}) as folder:
        yield Commands(
            pulumi=engine.pulumi,
            stack=where.stack,
            program=where.project,
            workspace=folder,
            environ=environment(where, engine, environ),
            seconds=float(options.get("timeout") or 3600),
            say=say,
        )


def _lines(value: t.Any) -> t.Iterator[str]:
    """The lines of all texts in the value, at any depth; none with fewer than 8 characters, which may be any word."""
    if isinstance(value, str):
        yield from (each for each in value.splitlines() if len(each) >= _SHORTEST)
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _lines(each)


def stack_outputs(commands: Commands) -> t.Mapping[str, t.Any]:
    """The outputs of the stack by name, ``[secret]`` for secret ones. FleetError ``stack-unreadable``, and as of
    ``Commands.output_of``."""
    found = commands.json_of("stack", "output", "--json", empty={})
    if not isinstance(found, dict):
        raise FleetError(UNREADABLE, "the engine tells no mapping of outputs", f"stack {commands.stack}")
    return found


def _present(where: StackPlace, options: Options, commands: Commands, check: bool) -> StackReport:
    """Makes or updates the stack; with ``check`` a preview, of a new one in a backend of its own. One that is there is
    previewed first unless deletions are allowed: FleetError ``deletions``; ``stack-moved`` if another run changed it
    meanwhile. A preview without changes is the report then, unless there are secret outputs, of which no event tells
    whether they differ. Otherwise as of ``carry_out_stack``."""
    known = commands.known()
    if check and not known:
        with _elsewhere(where, commands) as other:
            return _previewed(options, _made(where, options, other))
    if not known:
        return _report(_made(where, options, commands).run_with_events(*_UP, *_chosen(options)), commands)
    _settled(where, options, commands)
    if check:
        return _previewed(options, commands)
    if options["allow_delete"]:
        return _report(commands.run_with_events(*_UP, *_chosen(options)), commands)
    state = _state(commands)
    before = commands.run_with_events("preview", *_chosen(options))
    _refuse_deletions(before, commands.stack)
    if not (before.changed or before.has_secret_outputs):
        return _report(before, commands)
    if _state(commands) != state:
        text = "another run has changed the stack since it was previewed"
        raise FleetError("stack-moved", text, f"stack {commands.stack}", "run it again")
    return _report(commands.run_with_events(*_UP, *_chosen(options), keep=True), commands)


def _state(commands: Commands) -> dict[str, t.Any]:
    """What the backend has of the stack, but for when and by what it was written; secrets are encrypted. FleetError as
    of ``Commands.json_of``, ``stack-unreadable`` where there is no deployment."""
    found = commands.json_of("stack", "export", empty={})
    deployment = found.get("deployment") if isinstance(found, dict) else None
    if not isinstance(deployment, dict):
        raise FleetError(UNREADABLE, "the engine tells no state", f"stack {commands.stack}")
    return {key: value for key, value in deployment.items() if key != "manifest"}


def _refreshed(options: Options, commands: Commands, check: bool) -> StackReport:
    """Brings the state in line with what is there; with ``check`` only tells. Outputs are the recorded ones. FleetError
    as of ``Commands.run_with_events`` and ``stack_outputs``."""
    only = ("--preview-only",) if check else ("--yes", "--skip-preview")
    return _report(commands.run_with_events("refresh", *only, *_chosen(options)), commands)


def _absent(options: Options, commands: Commands, check: bool) -> StackReport:
    """Removes its resources, and then the stack itself with its history; with targets only those that are there; with
    ``check`` only tells. Unchanged where there is no stack, or no target; a whole one is a change even without
    resources. FleetError as of ``Commands.known``, ``run_with_events`` and ``output_of``, and ``_there``."""
    known, whole = commands.known(), not options.get("targets")
    targets = _there(options["targets"], commands) if known and not whole else []
    if not known or not (whole or targets):
        return StackReport(changed=False, counts={}, steps=(), outputs={}, warnings=())
    only = ("--preview-only",) if check else ("--yes", "--skip-preview")
    found = commands.run_with_events("destroy", *only, *_chosen({**options, "targets": targets}))
    if whole and not check:
        commands.output_of("stack", "rm", "--yes", "--preserve-config")
    return replace(_report(found, None), changed=whole or found.changed)


def _there(targets: t.Iterable[str], commands: Commands) -> list[str]:
    """Those of the targets that the stack has, in their order, for the engine refuses all if one is gone already; and
    patterns, of which it does not. FleetError as of ``_state``, ``stack-unreadable`` for resources that are no list."""
    resources = _state(commands).get("resources") or []
    if not isinstance(resources, list):
        raise FleetError(UNREADABLE, "the engine tells no list of resources", f"stack {commands.stack}")
    urns = {each.get("urn") for each in resources if isinstance(each, dict)}
    return [each for each in targets if "*" in each or each in urns]


def _previewed(options: Options, commands: Commands) -> StackReport:
    """What would be done, without outputs. FleetError ``deletions`` unless they are allowed, and as of
    ``Commands.run_with_events``."""
    found = commands.run_with_events("preview", *_chosen(options))
    if not options["allow_delete"]:
        _refuse_deletions(found, commands.stack)
    return _report(found, None)


@contextlib.contextmanager
def _elsewhere(where: StackPlace, commands: Commands) -> t.Iterator[Commands]:
    """Commands for the same stack in an empty backend of its own, gone afterwards, for a look at what would be made. It
    is a state in files, which needs a passphrase also where a service encrypts for the stack."""
    lacks = where.passphrase_file is None and where.backend.startswith(("http:", "https:"))
    own = {"PULUMI_CONFIG_PASSPHRASE": secrets.token_hex()} if lacks else {}
    with tempfile.TemporaryDirectory(prefix="gitops-fleet-state-") as folder:
        backend = {"PULUMI_BACKEND_URL": f"{files_url(folder)}?metadata=skip"}
        yield replace(commands, environ={**own, **commands.environ, **backend})


def _made(where: StackPlace, options: Options, commands: Commands) -> Commands:
    """The commands, after the stack was made in their backend and has its secret settings. FleetError as of
    ``Commands.output_of`` and ``_settled``."""
    commands.output_of("stack", "init", "--no-select")
    return _settled(where, options, commands)


def _settled(where: StackPlace, options: Options, commands: Commands) -> Commands:
    """The commands, after the stack got its secret settings, which the engine encrypts; they go to it by no argument,
    for those anybody can read. FleetError ``bad-config``, and as of ``Commands.output_of`` and ``project_name``."""
    for name, value in (options.get("secret_config") or {}).items():
        full = name if ":" in name else f"{project_name(where)}:{name}"
        text = value if isinstance(value, str) else json_bytes(value, f"secret_config.{name}").decode()
        if not is_unicode(text):
            raise FleetError("bad-config", "it holds the half of a character", f"secret_config.{name}")
        # The engine takes the last line break away.
        commands.output_of("config", "set", "--secret", full, given=f"{text}\n")
    return commands


def _chosen(options: Options) -> list[str]:
    """Arguments for the targets and for how many at once; none where nothing was said of either."""
    parallel = options.get("parallel")
    targets = [word for urn in options.get("targets") or () for word in ("--target", urn)]
    return [*targets, *(["--parallel", str(parallel)] if parallel else [])]


def _refuse_deletions(found: Story, name: str) -> None:
    """FleetError ``deletions`` if the story deletes or replaces resources; up to 20 are named."""
    gone = found.deleted
    if not gone:
        return
    named = listed([f"{step.name} ({step.type})" for step in gone], _MOST_NAMED)
    text = f"{len(gone)} would be deleted or replaced: {named}"
    raise FleetError.of([Problem("deletions", text, f"stack {name}", "if that is meant: allow_delete: true")])


def _report(found: Story, commands: Commands | None) -> StackReport:
    """The story as a report; without ``commands`` it has no outputs. FleetError as of ``stack_outputs``."""
    outputs = stack_outputs(commands) if commands is not None else {}
    return StackReport(
        changed=found.changed,
        counts=found.counts,
        steps=tuple(found.steps),
        outputs=outputs,
        warnings=tuple(found.warnings),
    )
