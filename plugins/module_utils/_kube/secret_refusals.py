# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What may be told of a refused Secret without its values: the reason and field paths, but not the words of API servers
and webhooks; whether a request holds a Secret.

Kubernetes 1.36 puts values of the Secret into its message, for instance where one is of another type, a key is not
valid or a field is unknown; an admission webhook says whatever it likes.
"""

from __future__ import annotations

import re
import typing as t

from .._core.resources.comparison.fields import field_path

HINT = "kubectl apply --dry-run=server shows the server's own words; they may hold values of the Secret"
# metav1.StatusReason in k8s.io/apimachinery; other words in its place are the server's own.
REASONS = (
    *("Unauthorized", "Forbidden", "NotFound", "AlreadyExists", "Conflict", "Gone", "Invalid", "ServerTimeout"),
    *("StoreReadError", "Timeout", "TooManyRequests", "BadRequest", "MethodNotAllowed", "NotAcceptable"),
    *("RequestEntityTooLarge", "UnsupportedMediaType", "InternalError", "Expired", "ServiceUnavailable"),
)
# Phrases of API servers, and what they mean in our words.
_MEANINGS = {
    "illegal base64 data": "a value under data is not base64",
    "field not declared in schema": "there is no such field",
    "unknown field": "there is no such field",
    "expected string": "a value is no text",
    "expected map": "it is no map",
    "cannot unmarshal": "a value is of another type",
    "field is immutable": "the Secret is immutable",
    "Too long": "it is too large",
    "admission webhook": "an admission webhook denied it",
    "Apply failed with": "other managers own these fields",
    **{
        f'cannot {verb} resource "secrets"': f'the account cannot {verb} resource "secrets"'
        for verb in ("get", "list", "create", "update", "patch", "delete")
    },
}
_KEY = re.compile(r"[-._A-Za-z0-9]{1,253}")
_DEEPEST, _MOST_PATHS, _MOST_SHOWN = 8, 2_000, 10


def holds_secrets(path: str, body: t.Any) -> bool:
    """Whether a request speaks of a Secret: ``secrets`` is a part of its path, or its body, down to eight levels, holds
    one, as within an envelope. A reference, with kind and name alone, is none."""
    return "secrets" in path.split("?")[0].split("/") or _has_secret(body, _DEEPEST)


def refusal_message(status: int, document: t.Mapping[str, t.Any], request: str, body: t.Any) -> str:
    """The message about a refused Secret in our words alone: the request, the reason if it is a known one, else the
    status, ``refused_paths``, and what known phrases in the server's message mean."""
    reason, message = document.get("reason"), str(document.get("message") or "")
    why = reason if isinstance(reason, str) and reason in REASONS else f"status {status}"
    paths = refused_paths(document, body)
    more = [meaning for phrase, meaning in _MEANINGS.items() if phrase in message]
    text = f"{request} was refused: {why}" + (f" at {', '.join(paths)}" if paths else "")
    return text + (f" ({'; '.join(dict.fromkeys(more))})" if more else "")


def refused_paths(document: t.Mapping[str, t.Any], body: t.Any) -> tuple[str, ...]:
    """Paths in the body that the server names, the deepest where one begins another; ten at the most. Looked for in
    maps within maps, eight levels deep, among 2,000 keys. From the first key on that no Secret can have, where a value
    may have slipped in, a path is ``[...]``."""
    words = f"{document.get('message') or ''}\n{_causes(document)}"
    named = [keys for keys in _paths(_as_stored(body), (), _DEEPEST, [_MOST_PATHS]) if _is_named(keys, words)]
    deepest = [keys for keys in named if not any(other[: len(keys)] == keys and other != keys for other in named)]
    return tuple(dict.fromkeys(_shown(keys) for keys in deepest))[:_MOST_SHOWN]


def _as_stored(body: t.Any) -> t.Any:
    """The body with the keys of data and stringData under ``data``, without their values, where stringData was sent:
    servers speak of data there. Any other body as it is."""
    if not isinstance(body, t.Mapping) or "stringData" not in body:
        return body
    parts = [part for part in (body["stringData"], body.get("data")) if isinstance(part, t.Mapping)]
    return {**body, "data": {key: None for part in parts for key in part}}


def _causes(document: t.Mapping[str, t.Any]) -> str:
    """The field paths in the causes of the Status, one a line; empty if there are none."""
    details = document.get("details")
    causes = details.get("causes") if isinstance(details, t.Mapping) else None
    rows = causes if isinstance(causes, list) else []
    return "\n".join(str(row.get("field") or "") for row in rows[:_MOST_PATHS] if isinstance(row, t.Mapping))


def _paths(value: t.Any, above: tuple[str, ...], depth: int, left: list[int]) -> t.Iterator[tuple[str, ...]]:
    """The paths, as tuples of keys, of all that maps within maps hold, a map before what is in it. It ends ``depth``
    levels down, and when ``left``, which is counted down in place, is used up."""
    if not isinstance(value, t.Mapping) or depth <= 0:
        return
    for key, inner in value.items():
        if left[0] <= 0:
            return
        left[0] -= 1
        yield (*above, str(key))
        yield from _paths(inner, (*above, str(key)), depth - 1, left)


def _is_named(keys: tuple[str, ...], words: str) -> bool:
    """Whether the words name the path: a top key where it stands alone, as in ``.data:``, ``data[x]`` or ``Secret.data
    of type``; a deeper one behind the keys above it, as ``data[password]`` or ``data.password``, and not where the name
    of another key only begins with it."""
    *above, last = keys
    if not above:
        return bool(re.search(rf"(?:^|[\s.\[\"]){re.escape(last)}(?=[:.\[\"]|$| of type)", words, re.MULTILINE))
    before = ".".join(above)
    return f"{before}[{last}]" in words or bool(re.search(rf"{re.escape(f'{before}.{last}')}(?![-\w])", words))


def _shown(keys: tuple[str, ...]) -> str:
    """The path as text, down to the first key that no Secret can have, for which ``[...]`` stands."""
    path = ""
    for key in keys:
        if not _KEY.fullmatch(key):
            return f"{path}[...]"
        path = field_path(path, key)
    return path


def _has_secret(value: t.Any, depth: int) -> bool:
    """Whether the value is or holds a Secret, up to ``depth`` levels deep; a reference is none."""
    if depth <= 0:
        return False
    if isinstance(value, t.Mapping):
        # A reference to one has kind and name only.
        is_one = value.get("kind") == "Secret" and not value.keys().isdisjoint(("metadata", "data", "stringData"))
        return is_one or any(_has_secret(one, depth - 1) for one in value.values())
    return isinstance(value, list) and any(_has_secret(one, depth - 1) for one in value)
