# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How a field of a manifest is described where it is declared: for reading, writing, checking and the CRD at once."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass

REQUIRED: t.Any = dataclasses.MISSING
MAX_INT32 = 2**31 - 1  # the published types hold such counts in 32 bits


@dataclass(frozen=True, kw_only=True)
class Prop:
    """What the type annotation of a field does not say.

    ``doc`` stands in the CRD, and as a hint where the field is missing or of a wrong type and no better one is known.
    ``json`` is the name in manifests (camelCase of the attribute if empty). Limits are inclusive; None leaves those of
    the type. ``rules`` are CEL rules ``(expression, message)`` for the API server. An empty ``enum`` takes any text.
    All of a text has the form ``pattern`` (in what RE2 and Python have in common; anchored in kinds that we install),
    in words ``form``, with the problem ``code``; ``matches``, a function, stands for a pattern that would take too
    long, in kinds that we never install. ``digits`` takes a whole number for its digits, as a repair. A ``quantity``
    map holds quantities; a ``raw`` one is an object of any form. A ``unique`` list holds each value once.
    """

    doc: str
    json: str = ""
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    form: str = ""
    code: str = "wrong-form"
    matches: Callable[[str], object] | None = None
    digits: bool = False
    quantity: bool = False
    raw: bool = False
    unique: bool = False
    rules: tuple[tuple[str, str], ...] = ()


def prop(doc: str, default: t.Any = REQUIRED, **details: t.Any) -> t.Any:
    """A dataclass field with its description, ``details`` being the other fields of ``Prop``; without a default it is
    required in manifests. TypeError for a detail that ``Prop`` does not have."""
    metadata = {"prop": Prop(doc=doc, **details)}
    if isinstance(default, Mapping):
        # Python 3.11 takes any default without a hash for a mutable one; the empty mapping is shared all the same.
        return dataclasses.field(default_factory=lambda: default, metadata=metadata)  # pylint: disable=invalid-field-call  # for a dataclass body
    return dataclasses.field(default=default, metadata=metadata)  # pylint: disable=invalid-field-call  # for a dataclass body
