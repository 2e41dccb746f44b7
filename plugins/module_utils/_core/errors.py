# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Errors of the collection: ``FleetError`` with one or more ``Problem`` (what is wrong, where, and the way out), and an
exception that nobody expected as one of them, without its text."""

from __future__ import annotations

import types
import typing as t
from dataclasses import dataclass

from .foreign import in_line, in_lines

_OURS, _MOST_PLACES = "/module_utils/", 4


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. ``code`` is stable and machine-readable (``missing-field``). ``where`` is ``file:line``,
    an object, mostly with a field path (``ClusterResourcePlacement/web spec.policy``), a cluster or an option; ``hint``
    helps to mend it. Both may be empty.

    Message, where and hint are made fit to be shown (see ``foreign``), ``code`` is not.
    """

    code: str
    message: str
    where: str = ""
    hint: str = ""

    def __post_init__(self) -> None:
        """Makes message, where and hint fit to be shown (``in_lines``, ``in_line``), which cuts very long ones."""
        object.__setattr__(self, "message", in_lines(self.message))
        object.__setattr__(self, "where", in_line(self.where))
        object.__setattr__(self, "hint", in_lines(self.hint))

    def __str__(self) -> str:
        """``where: message [code] (hint)``, without what is empty of ``where`` and ``hint``."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} [{self.code}]" + (f" ({self.hint})" if self.hint else "")

    def as_dict(self) -> dict[str, str]:
        """``code``, ``message``, ``where`` and ``hint`` as a new dict, empty ones too."""
        return {"code": self.code, "message": self.message, "where": self.where, "hint": self.hint}


class FleetError(Exception):
    """A refusal or a failure that a user can cause or meet, with one problem or more; a fault of this program only as
    of ``fault``."""

    def __init__(self, code: str, message: str, where: str = "", hint: str = "") -> None:
        """An error of one problem, which has these fields."""
        problem = Problem(code, message, where, hint)
        super().__init__(problem.message)
        self.problems: tuple[Problem, ...] = (problem,)

    @classmethod
    def of(cls, problems: t.Iterable[Problem]) -> FleetError:
        """One error for several problems, in the order given, repeats too. ValueError if there is none."""
        found = tuple(problems)
        if not found:
            raise ValueError("an error needs at least one problem")
        first = found[0]
        error = cls(first.code, first.message, first.where, first.hint)
        error.problems = found
        return error

    @property
    def code(self) -> str:
        """That of the first problem."""
        return self.problems[0].code

    @property
    def message(self) -> str:
        """That of the first problem."""
        return self.problems[0].message

    @property
    def where(self) -> str:
        """That of the first problem."""
        return self.problems[0].where

    @property
    def hint(self) -> str:
        """That of the first problem."""
        return self.problems[0].hint

    def __str__(self) -> str:
        """The one problem, or the number of them and then all, each behind ``- `` in its own lines."""
        if len(self.problems) == 1:
            return str(self.problems[0])
        return f"{len(self.problems)} problems:\n" + "\n".join(f"  - {problem}" for problem in self.problems)


def fault(error: BaseException, code: str = "fault", where: str = "") -> FleetError:
    """An exception that nobody expected, as an error of that ``code``: its type and the last four different places
    (``file:line`` below ``module_utils``) of its traceback, innermost last. Its text is left out, for nobody knows what
    is in it, and so are errors that it was raised from."""
    innermost = list(dict.fromkeys(reversed(tuple(_places(error.__traceback__)))))[:_MOST_PLACES]
    places = reversed(innermost)
    text = f"unexpected {type(error).__name__} at {' > '.join(places) or 'an unknown place'}"
    return FleetError(code, text, where, "this is a fault of gitops.fleet: please report this line")


def known_error(error: Exception) -> FleetError:
    """A FleetError as it is, any other exception as of ``fault``."""
    return error if isinstance(error, FleetError) else fault(error)


def _places(trace: types.TracebackType | None) -> t.Iterator[str]:
    """``file:line`` of every step of a traceback through a file below ``module_utils``, outermost first, repeats too;
    the file is what follows ``module_utils/``. Nothing for None."""
    while trace is not None:
        _before, ours, file = trace.tb_frame.f_code.co_filename.rpartition(_OURS)
        if ours:
            yield f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
