# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What goes to a terminal, a log or a result, made fit for it: without secrets that we have shown to a server, and what
steers a terminal; data as plain JSON."""

from __future__ import annotations

import json
import typing as t

from .._core.foreign import in_data, in_document, in_lines
from .._kube.login.known_secrets import SHOWN


def without_secrets(text: str) -> str:
    """The text without credentials that we know."""
    return SHOWN.without_secrets(text)


def said(text: str) -> str:
    """What is said while a verb works, without credentials that we know, as of ``in_lines``."""
    return in_lines(SHOWN.without_secrets(text))


def plain_json(value: t.Any) -> t.Any:
    """Data as plain JSON values, without credentials that we know and characters that steer a terminal, and without the
    tags of Ansible's data model. Values that JSON does not know become text, lists and maps more than 200 deep are cut,
    NaN and infinite numbers stay. TypeError for keys that JSON does not know, ValueError for data within itself."""
    try:
        text = json.dumps(value, default=str, ensure_ascii=False)
    except RecursionError:
        text = json.dumps(in_data(value), default=str, ensure_ascii=False)
    return in_document(text, SHOWN.masker_of(text))
