# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How many columns of a terminal a text takes (Unicode Standard Annex 11: East Asian letters and emoji two, combining
marks none), and text padded, or wrapped into lines, by that; for how many columns text is made now, and secrets hidden
in foreign text before it is cut."""

from __future__ import annotations

import contextlib
import re
import textwrap
import typing as t
import unicodedata
from contextvars import ContextVar

from .._core.foreign import LINE, in_data, in_line

WIDTH = 80
_COLUMNS = ContextVar("columns", default=WIDTH)
_HIDE: ContextVar[t.Callable[[str], str]] = ContextVar("hide", default=str)

# Asks for the coloured form of the sign before it, which takes two columns.
_AS_EMOJI = "\N{VARIATION SELECTOR-16}"
# Stands for the second column while lines are broken; no text that is shown has one.
_SECOND = "\0"
_PART = re.compile(r"(?<=/)(?=[^/])|(?<=\w\.)(?=\w)")


def columns() -> int:
    """How many columns text may take now: ``WIDTH``, or as ``fitting`` says in this thread."""
    return _COLUMNS.get()


@contextlib.contextmanager
def fitting(width: int, hide: t.Callable[[str], str] = str) -> t.Iterator[None]:
    """While entered, in this thread, text is made for ``width`` columns, and ``hide`` takes secrets out of what others
    wrote before it is cut or wrapped, for nobody would know them again after that."""
    before, shown = _COLUMNS.set(width), _HIDE.set(hide)
    try:
        yield
    finally:
        _COLUMNS.reset(before)
        _HIDE.reset(shown)


def told_text(text: str) -> str:
    """Foreign text without what ``fitting`` hides."""
    return _HIDE.get()(text)


def told_data(value: t.Any) -> t.Any:
    """JSON data as of ``in_data``, without what ``fitting`` hides."""
    return in_data(value, told_text)


def told_line(text: str, most: int = LINE) -> str:
    """Foreign text as of ``in_line``, without what ``fitting`` hides."""
    return in_line(told_text(text), most)


def columns_of(text: str) -> int:
    """The columns that a text without line ends takes on a terminal."""
    if text.isascii():
        return len(text)
    taken = before = 0
    for sign in text:
        wide = 2 - before if sign == _AS_EMOJI and before else _columns(sign)
        taken += wide
        before = wide
    return taken


def padded(text: str, columns: int) -> str:
    """The text with spaces behind it, up to so many columns; one that takes more stays as it is."""
    return text + " " * (columns - columns_of(text))


def wrapped(text: str, columns: int, first: str = "", further: str = "") -> list[str]:
    """Lines of at most so many columns, begun by ``first`` and ``further``, and longer only where these leave no room;
    none for a text without words. A word that has no room in a line, such as a path, is broken behind ``/`` or ``.``
    where it has one. ValueError for less than one column, or than two where wide letters have to go on in the next."""
    if not text.isascii():
        text = "".join(sign + _SECOND if _columns(sign) == 2 else sign for sign in text)
    lines = _lines(text, columns, first, further)
    # A sign at the end of a line whose second column has no room there.
    if any(line.startswith(further + _SECOND) for line in lines[1:]):
        lines = _lines(text, columns - 1, first, further)
    return [line.replace(_SECOND, "") for line in lines]


def _lines(text: str, columns: int, first: str, further: str) -> list[str]:
    """The lines as of ``wrapped`` for a text in which each character takes one column."""
    wrapper = _PathWrapper(columns, initial_indent=first, subsequent_indent=further, break_on_hyphens=False)
    return wrapper.wrap(text)


class _PathWrapper(textwrap.TextWrapper):
    """One that parts words too long for a line behind each ``/`` and ``.``, before it parts them anywhere."""

    def _split(self, text: str) -> list[str]:
        """The words with the blanks between them, as ``textwrap`` wants them; those that have no room in a line in
        parts that end with ``/`` or ``.``."""
        room = self.width - max(len(self.initial_indent), len(self.subsequent_indent))
        parts: list[str] = []
        for word in super()._split(text):
            parts += filter(None, _PART.split(word)) if len(word) > room else [word]
        return parts


def _columns(sign: str) -> int:
    """The columns that a character takes: 0 for marks that combine and those of format, 2 for wide ones, else 1."""
    if unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1
