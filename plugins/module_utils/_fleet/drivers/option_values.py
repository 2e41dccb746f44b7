# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an option of a driver may hold, by its kind (path, name, seconds, flag, mapping, argv, texts), and why a value
is not of that kind."""

from __future__ import annotations

import json
import os
import typing as t

from ..._kube.files import is_impossible_name

# Seconds: eleven days. Clocks of sockets and selectors end not far above.
MOST_SECONDS = 1_000_000
WANTED_SECONDS = f"a number of seconds above 0 is wanted, {MOST_SECONDS} at most"


def why_wrong(kind: str, value: t.Any) -> str:
    """Why ``value`` is not of that kind; empty if it is. Kinds: settings (anything), path, name, seconds, flag, mapping
    (of what JSON knows), argv (a program and its arguments), texts (a list, which may be empty). An empty text is no
    path, name or program, and None is of no kind but settings."""
    if kind == "settings":
        return ""
    if kind in ("path", "name"):
        found = isinstance(value, str) and value and not is_impossible_name(value)
        return ("" if kind == "name" else _wrong_path(value)) if found else "a text is wanted"
    if kind == "seconds":
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return "" if number and 0 < value <= MOST_SECONDS else WANTED_SECONDS
    if kind == "flag":
        return "" if isinstance(value, bool) else "true or false is wanted"
    if kind == "mapping":
        return _wrong_mapping(value)
    texts = isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)
    if texts and any(map(is_impossible_name, value)):
        return "there is a character in it that no program can be given"
    if kind == "argv":
        return "" if texts and value and value[0] else "a list of arguments is wanted, the program first"
    return "" if texts else "a list of texts is wanted"


def _wrong_path(value: str) -> str:
    """That there is no home for the ``~`` that it begins with; empty if it is a path."""
    return f"there is no home for {value:.80}" if os.path.expanduser(value).startswith("~") else ""


def _wrong_mapping(value: t.Any) -> str:
    """Why it is no map that JSON can hold; empty if it is."""
    if not isinstance(value, t.Mapping):
        return "a mapping is wanted"
    try:
        json.dumps(dict(value))
    except (TypeError, ValueError, RecursionError):
        return "only texts, numbers, booleans, lists and mappings can be passed on"
    return ""
