# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Words in braces in the commands of users, such as ``{operation}``, filled in for one piece of work, and as variables
(``GITOPS_FLEET_MEMBER``); which nothing stands for; what would become an option or a script is refused
(``unsafe-argument``). Other braces stay as they are."""

from __future__ import annotations

import re
import typing as t

from ..._core.errors import FleetError
from .contract import Work

NAMES = ("member", "target", "operation", "attempt", "run", "type", "pool", "image", "reference")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
# And halves of characters, which are not UTF-8.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# What makes an argument look like a script, and what means the same inside of one and outside.
_SCRIPT = re.compile(r"[\s;|&$()<>`]")
_PLAIN = re.compile(r"[A-Za-z0-9_.:/@+=,%-]*")


def placeholder_values(work: Work, reference: str) -> dict[str, str]:
    """What stands for each of ``NAMES``, by name; ``reference`` is the platform's name of the operation, empty if it
    has none. FleetError ``unsafe-argument`` for a control character."""
    found = {
        "member": work.member,
        "target": work.target,
        "operation": work.operation,
        "attempt": str(work.attempt),
        "run": work.run,
        "type": work.upgrade_type,
        "pool": work.pool,
        "image": work.image,
        "reference": reference,
    }
    _refuse_control(found)
    return found


def filled_arguments(argv: t.Iterable[str], known: t.Mapping[str, str]) -> tuple[str, ...]:
    """The arguments, in their order, each placeholder replaced once; one that nothing stands for stays as it is, braces
    and all.

    FleetError ``unsafe-argument`` if what is put in would become an option, or, in an argument with spaces or
    characters such as ``;`` and ``$``, words of a script; as of ``placeholder_values`` for anything that is ``known``,
    put in or not, for commands have it in their environment."""
    _refuse_control(known)
    return tuple(_filled(each, known) for each in argv)


def environment_of(known: t.Mapping[str, str]) -> dict[str, str]:
    """The same values as variables, such as ``GITOPS_FLEET_MEMBER``, empty ones too."""
    return {f"GITOPS_FLEET_{name.upper()}": value for name, value in known.items()}


def _refuse_control(known: t.Mapping[str, str]) -> None:
    """FleetError ``unsafe-argument`` for a value with control characters."""
    for name, value in known.items():
        if _CONTROL.search(value):
            message = f"the {name} {value!r:.80} holds control characters"
            raise FleetError("unsafe-argument", message, known.get("member", ""))


def _filled(argument: str, known: t.Mapping[str, str]) -> str:
    """One argument, with what is known put in. FleetError ``unsafe-argument``."""
    script = _SCRIPT.search(argument) is not None

    def put_in(found: re.Match[str]) -> str:
        """What stands for the placeholder; itself, braces and all, if nothing does. FleetError ``unsafe-argument``
        where it would become words of a script."""
        value = known.get(found[1], found[0])
        if script and found[1] in known and not _PLAIN.fullmatch(value):
            message = f"the {found[1]} {value!r:.80} would be put into a script"
            hint = f'write "$GITOPS_FLEET_{found[1].upper()}" there, in quotes'
            raise FleetError("unsafe-argument", message, known.get("member", ""), hint)
        return value

    out = _PLACEHOLDER.sub(put_in, argument)
    if out.startswith("-") and not argument.startswith("-"):
        message = f"{out!r:.80} for {argument} would be taken for an option"
        raise FleetError("unsafe-argument", message, known.get("member", ""))
    return out


def unknown_placeholders(argv: t.Iterable[str], known: t.Collection[str] = NAMES) -> tuple[str, ...]:
    """Names of placeholders that nothing stands for, each once, in the order they are used."""
    used = (name for each in argv for name in _PLACEHOLDER.findall(each))
    return tuple(dict.fromkeys(name for name in used if name not in known))
