# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Words in braces in the commands of users, such as ``{member}``. Other braces (JSON, queries) are left as they are."""

from __future__ import annotations

import re
import typing as t

from .contract import Work

NAMES = ("member", "target", "operation", "attempt", "run", "reference")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def values(work: Work, reference: str) -> dict[str, str]:
    """What stands for each name."""
    return {
        "member": work.member,
        "target": work.target,
        "operation": work.operation,
        "attempt": str(work.attempt),
        "run": work.run,
        "reference": reference,
    }


def filled(argv: t.Iterable[str], known: t.Mapping[str, str]) -> tuple[str, ...]:
    """Each placeholder replaced once: what is put in is not looked at again."""
    return tuple(_PLACEHOLDER.sub(lambda found: known.get(found[1], found[0]), each) for each in argv)


def unknown(argv: t.Iterable[str], known: t.Collection[str] = NAMES) -> tuple[str, ...]:
    """Placeholders that nothing stands for, in the order they are used."""
    used = (name for each in argv for name in _PLACEHOLDER.findall(each))
    return tuple(dict.fromkeys(name for name in used if name not in known))
