# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Text and data that others (a cluster, a manifest) wrote, made fit to be shown in a line, in lines, as JSON data, so
that they steer no terminal and no CI runner; whether Ansible would take it for a template; and any value as Python
writes it.

Commands of CI runners are broken by a space: GitHub's ``::error::`` counts at the beginning of a line after any white
space, its ``##[`` and those of Azure and TeamCity anywhere. What a function here has made is left alone by the same
one, unless it has become too long.
"""

from __future__ import annotations

import json
import re
import typing as t

LINE, TEXT, LINES = 2_000, 8_000, 60
FURTHER = "  | "
_NOTE = 40
_DEEPEST = 200

_BREAK = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Four hexadecimal digits after the colons belong to an IPv6 address, and no command is called so.
_COMMAND = re.compile(
    r"##(?=\[|vso\[|teamcity\[)|(?<!\S)::(?=[a-z])(?![0-9a-f]{1,4}(?![\w-]))",
    re.IGNORECASE,
)
# What JSON writes for control characters, but for line ends and tabs, which texts may hold.
_ESCAPED = re.compile(r"\\[rbfu]")
# What Ansible takes, in JSON, for a template. A text that begins with ``#jinja2:`` names its own marks
# (https://docs.ansible.com/ansible/latest/collections/ansible/builtin/template_module.html), in variables too.
_TEMPLATE = re.compile(r'\{[{%#]|"#jinja2:')
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]|\r(?!\n)"
)


def in_line(text: str, most: int = LINE) -> str:
    """The text as a part of one line: line ends, tabs and other white space become spaces, other characters that are
    not printable become ``\\x1b`` or ``\\u202e``, and commands of CI runners are broken by a space. A text of more than
    ``most`` characters keeps its first ``most`` - 40, if that is any, and the others are only counted: ``... (12 more
    characters)``."""
    text = _cut(text, most)
    if not text.isprintable():
        text = "".join(map(_seen, _BREAK.sub(" ", text)))
    return _disarmed(text)


def in_lines(text: str, most: int = TEXT) -> str:
    """The text in at most 61 lines, each as of ``in_line``. Each but the first stands behind ``FURTHER``, so that
    nobody else's words are taken for a line of ours. Further lines are only counted, in the last one; where there are
    none, what is beyond ``most`` characters is counted as of ``in_line``."""
    first, *further = _BREAK.split(_cut(text, most))
    if len(further) > LINES:
        breaks = sum(1 for _each in _BREAK.finditer(text))
        further = [*further[: LINES - 1], f"... ({breaks - LINES + 1} more lines)"]
    return f"\n{FURTHER}".join(in_line(each.removeprefix(FURTHER), most) for each in (first, *further))


def is_template(value: t.Any) -> bool:
    """Whether Ansible may take a value of JSON, or a text or key in it, for a template where a command line gives it:
    one with ``{{``, ``{%`` or ``{#``, or that begins with ``#jinja2:``, or has that behind a double quote. TypeError
    and RecursionError as of ``json.dumps``."""
    return bool(_TEMPLATE.search(json.dumps(value)))


def texts_in(value: t.Any) -> t.Iterator[str]:
    """Every text in a JSON value, keys included, in its order; a key that is no text as JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, t.Mapping):
        for key, one in value.items():
            yield key if isinstance(key, str) else json.dumps(key, default=str)
            yield from texts_in(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from texts_in(one)


def shown_value(value: t.Any, most: int = 40) -> str:
    """A value of any type as Python writes it, for a sentence: the first ``most`` characters. What Python does not
    write (numbers of thousands of digits, values that are too deep) is ``(too large to be shown)``."""
    try:
        return repr(value)[:most]
    except (ValueError, RecursionError):
        return "(too large to be shown)"


def in_data(value: t.Any, hide: t.Callable[[str], str] = str) -> t.Any:
    """A copy of JSON data, of which every text and key may be printed: control characters and those that turn the
    direction of text become ``\\x1b`` or ``\\u202e``, commands of CI runners are broken by a space. Line feeds, tabs
    and most characters without width stay, and no text is cut.

    ``hide`` takes secrets out of texts and keys first. Keys become texts, and two that come to be one leave the last.
    Lists and maps more than 200 deep become ``...``; anything else, a tuple too, is returned as it is.
    """
    return _data(value, hide, _DEEPEST)


def in_document(text: str, hide: t.Callable[[str], str] = str) -> t.Any:
    """The value of a JSON text, as of ``in_data``. ValueError if it is no JSON, RecursionError if it is too deep for
    Python to read."""
    value = json.loads(text)
    if hide is str and "##" not in text and "::" not in text and text.isprintable() and not _ESCAPED.search(text):
        level = [value]
        for _depth in range(_DEEPEST):
            level = [part for each in level for part in _parts(each) if isinstance(part, (dict, list))]
            if not level:
                return value
    return _data(value, hide, _DEEPEST)


def _parts(value: t.Any) -> t.Iterable[t.Any]:
    """The values of a map or items of a list; nothing for anything else."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _data(value: t.Any, hide: t.Callable[[str], str], depth: int) -> t.Any:
    """A copy of the value as of ``in_data``; lists and maps ``depth`` levels down become ``...``."""
    if isinstance(value, str):
        return _kept(hide(value))
    if isinstance(value, (dict, list)) and depth <= 0:
        return "..."
    if isinstance(value, dict):
        return {_kept(hide(str(key))): _data(each, hide, depth - 1) for key, each in value.items()}
    if isinstance(value, list):
        return [_data(each, hide, depth - 1) for each in value]
    return value


def _cut(text: str, most: int) -> str:
    """The text; of one longer than ``most`` its first ``most`` - 40 characters and the number of the others."""
    if len(text) <= most:
        return text
    kept = max(0, most - _NOTE)
    return f"{text[:kept]}... ({len(text) - kept} more characters)"


def _kept(text: str) -> str:
    """The text with its line ends and tabs; control characters and those that turn its direction become escapes such as
    ``\\x1b``, and commands of CI runners are broken by a space."""
    if not text.isprintable():
        text = _CONTROL.sub(lambda found: _escape(found[0]), text)
    return _disarmed(text)


def _disarmed(text: str) -> str:
    """The text with a space inside the two signs (``##`` or ``::``) that would begin a command of a CI runner."""
    if "##" not in text and "::" not in text:
        return text
    return _COMMAND.sub(lambda found: f"{found[0][0]} {found[0][0]}", text)


def _seen(character: str) -> str:
    """The character if it is printable, a space for any other white space, else its escape such as ``\\x1b``."""
    if character.isprintable():
        return character
    return " " if character.isspace() else _escape(character)


def _escape(character: str) -> str:
    """``\\x1b``, ``\\u202e`` or ``\\U000e0001``: the shortest of these forms that holds the character's number."""
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
