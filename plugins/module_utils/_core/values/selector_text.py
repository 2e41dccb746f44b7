# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Label selectors read from one line of text, as ``kubectl -l`` and API servers take them (``labels.Parse`` of
k8s.io/apimachinery), and written so."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .selector import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    LabelSelector,
    LabelSelectorRequirement,
    check_selector,
)

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_SIGNS = frozenset(("=", "==", "!=", "!", "(", ")", ",", "<", ">"))
_EQUAL = {"=": IN, "==": IN, "!=": NOT_IN}
_SETS = {"in": IN, "notin": NOT_IN}
_WORDS = {operator: word for word, operator in _SETS.items()}


def parse_selector(text: str) -> LabelSelector:
    """The selector of a text such as ``tier=gold,region in (eu,us),!canary``; all its parts are ``match_expressions``.

    ``!=`` and ``notin`` also match where the label is absent. ValueError for anything else: malformed keys and values,
    the operators ``<`` and ``>``, and an empty text, which would select everything.
    """
    tokens = _Tokens(tuple(_TOKEN.findall(text)))
    found = [_requirement(tokens)]
    while tokens.take(","):
        found.append(_requirement(tokens))
    if tokens.next:
        raise ValueError(f"',' is wanted before {tokens.next!r}")
    selector = LabelSelector(match_expressions=tuple(found))
    problems = check_selector(selector)
    if problems:
        raise ValueError("; ".join(message for _path, message in problems))
    return selector


def selector_text(selector: LabelSelector) -> str:
    """The text of a valid selector, such as ``tier=gold,region in (eu,us),!canary``: matchLabels by their keys, then
    expressions in their order. Empty for one that selects everything, which ``parse_selector`` refuses. KeyError for an
    unknown operator."""
    labels = (f"{key}={value}" for key, value in sorted(selector.match_labels.items()))
    return ",".join((*labels, *map(_requirement_text, selector.match_expressions)))


def _requirement_text(one: LabelSelectorRequirement) -> str:
    """One expression as text; KeyError for an operator that is none."""
    if one.operator == EXISTS:
        return one.key
    if one.operator == DOES_NOT_EXIST:
        return f"!{one.key}"
    return f"{one.key} {_WORDS[one.operator]} ({','.join(one.values)})"


@dataclass
class _Tokens:
    tokens: tuple[str, ...]
    at: int = 0

    @property
    def next(self) -> str:
        """The next token, empty at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, sign: str) -> bool:
        """Takes the next token if it is ``sign``; returns whether it was."""
        taken = self.next == sign
        self.at += taken
        return taken

    def word(self) -> str:
        """Takes the next token if it is no sign, and returns it; an empty text otherwise, with nothing taken."""
        word = "" if self.next in _SIGNS else self.next
        self.at += bool(word)
        return word


def _requirement(tokens: _Tokens) -> LabelSelectorRequirement:
    """Takes one expression up to a comma or what follows it, and returns it, keys and values not judged yet. ValueError
    for what is none."""
    absent = tokens.take("!")
    key = tokens.word()
    if not key or key in _SETS:
        raise ValueError(f"a label key is wanted, not {tokens.next or key or 'the end'!r}")
    if absent:
        return LabelSelectorRequirement(key, DOES_NOT_EXIST)
    if tokens.next in ("", ","):
        return LabelSelectorRequirement(key, EXISTS)
    operator = tokens.next
    tokens.at += 1
    if operator in _EQUAL:
        return LabelSelectorRequirement(key, _EQUAL[operator], (tokens.word(),))
    if operator in _SETS:
        return LabelSelectorRequirement(key, _SETS[operator], _values(tokens))
    raise ValueError(f"{operator!r} is none of =, ==, !=, in, notin")


def _values(tokens: _Tokens) -> tuple[str, ...]:
    """Takes a list of values in parentheses and returns them, each once; an empty one is an empty text. ValueError for
    anything else."""
    if not tokens.take("("):
        raise ValueError(f"values stand in parentheses, not {tokens.next or 'the end'!r}")
    values = [tokens.word()]
    while tokens.take(","):
        values.append(tokens.word())
    if not tokens.take(")"):
        raise ValueError(f"')' is wanted, not {tokens.next or 'the end'!r}")
    return tuple(dict.fromkeys(values))
