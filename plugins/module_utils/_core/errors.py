# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The one family of errors: what is wrong, where, and the way out."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    ``code`` is stable and machine-readable (``missing-field``). ``where`` is ``file:line``, an object with a
    field path (``ClusterResourcePlacement/web spec.policy``), or a cluster. ``hint`` says how to mend it.
    """

    code: str
    message: str
    where: str = ""
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} [{self.code}]" + (f" ({self.hint})" if self.hint else "")

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message, "where": self.where, "hint": self.hint}


class FleetError(Exception):
    """A refusal or a failure that a user can cause or meet; never a fault of this program."""

    def __init__(self, code: str, message: str, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.problems: tuple[Problem, ...] = (Problem(code, message, where, hint),)

    @classmethod
    def of(cls, problems: t.Iterable[Problem]) -> FleetError:
        """One error for several problems, in the order given; ``problems`` must not be empty."""
        found = tuple(problems)
        if not found:
            raise ValueError("an error needs at least one problem")
        first = found[0]
        error = cls(first.code, first.message, first.where, first.hint)
        error.problems = found
        return error

    @property
    def code(self) -> str:
        return self.problems[0].code

    @property
    def message(self) -> str:
        return self.problems[0].message

    @property
    def where(self) -> str:
        return self.problems[0].where

    @property
    def hint(self) -> str:
        return self.problems[0].hint

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return str(self.problems[0])
        return f"{len(self.problems)} problems:\n" + "\n".join(f"  - {problem}" for problem in self.problems)
