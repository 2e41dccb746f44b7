# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules on ``metadata`` of custom resources (``invalid-name``, ``name-too-long``, ``invalid-label``,
``namespace-missing``; apimachinery ``ValidateObjectMeta``), on names and on references to objects
(``invalid-reference``); a name cut to fit with an ending."""

from __future__ import annotations

import re
import typing as t

from ..values.selector import DNS_LABEL, DNS_SUBDOMAIN, label_key_problem, label_value_problem
from .meta import ObjectMeta
from .rules import Found

# Names are used as label values, and those have at most this many characters.
NAME_LIMIT = 63


def name_with_ending(name: str, ending: str, limit: int = NAME_LIMIT) -> str:
    """The name with the ending behind it, in at most ``limit`` characters: a longer name is cut, so that two can come
    to be one. ``-`` and ``.`` right before the ending are dropped. The ending must be shorter than the limit."""
    return name[: limit - len(ending)].rstrip("-.") + ending


def name_problem(name: str) -> str:
    """Why this cannot be the name of an object (RFC 1123 subdomain of 1 to 253 characters), in words, or an empty
    text."""
    if len(name) <= 253 and re.fullmatch(DNS_SUBDOMAIN, name):
        return ""
    wanted = "1 to 253 lower-case letters, digits, '-' and '.' are wanted, a letter or digit at each end"
    return f"{name!r} is not a name: {wanted}"


def check_reference(name: str, path: str) -> t.Iterator[Found]:
    """What is wrong with a name at ``path`` that refers to another object: ``empty-text``, ``invalid-reference`` or
    nothing."""
    if not name:
        yield Found("empty-text", path, f"{path.rpartition('.')[2]} must not be empty")
    elif name_problem(name):
        yield Found("invalid-reference", path, name_problem(name), "nothing can be called so")


def check_metadata(
    metadata: ObjectMeta, name_limit: int | None, pattern: str = "", form: str = "", namespaced: bool = False
) -> t.Iterator[Found]:
    """What is wrong with the metadata of an object, in this order: ``invalid-name`` (an empty one too),
    ``name-too-long``, ``unexpected-namespace`` or, if its kind is ``namespaced``, ``namespace-missing`` or
    ``invalid-namespace``, and ``invalid-label`` for each bad key or value of a label and each bad key of an annotation.

    ``name_limit`` is in characters, None for no other; ``pattern``, in words ``form``, is what names must match
    besides.
    """
    problem = name_problem(metadata.name)
    if not problem and pattern and not re.fullmatch(pattern, metadata.name):
        problem = f"{metadata.name!r} is not {form}"
    if problem:
        yield Found("invalid-name", "metadata.name", problem)
    if name_limit is not None and len(metadata.name) > name_limit:
        yield Found("name-too-long", "metadata.name", f"{len(metadata.name)} characters, {name_limit} are allowed")
    yield from _check_namespace(metadata.namespace, namespaced)
    for key, value in metadata.labels.items():
        for message in (label_key_problem(key), label_value_problem(value)):
            if message:
                yield Found("invalid-label", f"metadata.labels[{key}]", message)
    for key in metadata.annotations:
        # The API server compares annotation keys in lower case.
        message = label_key_problem(key.lower())
        if message:
            yield Found("invalid-label", f"metadata.annotations[{key}]", message)


def _check_namespace(namespace: str, namespaced: bool) -> t.Iterator[Found]:
    """At most one problem: ``unexpected-namespace``, or if ``namespaced``, ``namespace-missing`` or
    ``invalid-namespace``."""
    path = "metadata.namespace"
    if not namespaced:
        if namespace:
            yield Found("unexpected-namespace", path, "objects of this kind have no namespace", "leave it out")
    elif not namespace:
        message = "objects of this kind lie in a namespace; none is guessed"
        yield Found("namespace-missing", path, message, "name the namespace")
    elif len(namespace) > NAME_LIMIT or not re.fullmatch(DNS_LABEL, namespace):
        wanted = f"up to {NAME_LIMIT} lower-case letters, digits and '-'"
        message = f"{namespace!r:.80} is not the name of a namespace: {wanted}"
        yield Found("invalid-namespace", path, message)
