# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The approved plan that a file of ``write_plan`` holds, from its parsed JSON: form and schema are checked
(``plan-invalid``, ``plan-too-old``, ``plan-too-new``), and one that was edited is refused (``plan-doctored``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..errors import FleetError, Problem
from ..foreign import shown_value
from ..values.canonical import is_unicode
from .digest import document_digest, plans_digest
from .document import (
    GAINED,
    KEPT,
    LEAVING,
    LOST,
    SCHEMA,
)

REFERENCE = {"apiVersion": str, "object": str}
CLUSTER = {"cluster": str, "change": (GAINED, KEPT, LOST), **{way: [REFERENCE] for way in LEAVING}}
RENDERING = {"clusters": [str], "objects": [{**REFERENCE, "hash": str}], "leftOut": [REFERENCE]}
PLACEMENT = {
    "placement": str,
    "digest": str,
    "spec": str,
    "deleting": bool,
    "emptyFirst": bool,
    "objects": [{**REFERENCE, "hash": str}],
    "renderings": [RENDERING],
    "clusters": [CLUSTER],
    "brakes": [{"name": str, "lifted": bool}],
}
# Plans of older versions have no renderings, and most plans evacuate nothing.
OPTIONAL = frozenset({"renderings", "emptyFirst"})
SHAPE = {"digest": str, "placements": [PLACEMENT]}
AGAIN = "plan again with write_plan, and have that approved"


@dataclass(frozen=True, kw_only=True)
class Approved:
    """``digest`` was computed from what the file shows; ``changes`` has a line for each placement with its clusters,
    kept ones too, in the order of the file: ``web: west lost, east kept``, or ``web: `` without clusters."""

    digest: str
    changes: tuple[str, ...]


def read_approved(document: t.Any, where: str) -> Approved:
    """The plan in ``document``, the parsed JSON of a file that ``write_plan`` made; ``where`` names the file in
    problems. Whether it is approved is not asked here.

    FleetError ``plan-invalid`` with everything that has not its form (but for fields that no digest covers),
    ``plan-too-old`` (also without ``schema``) or ``plan-too-new`` for another schema, ``plan-doctored`` where the file
    shows something else than its digests stand for, or lists a placement or a cluster of one twice.
    """
    if not isinstance(document, dict) or "digest" not in document:
        raise FleetError("plan-invalid", "this is no plan: it has no digest", where, "write one with write_plan")
    schema = document.get("schema", 1)
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise FleetError("plan-invalid", f"schema is no whole number, but {shown_value(schema)}", where, AGAIN)
    if schema != SCHEMA:
        code = "plan-too-new" if schema > SCHEMA else "plan-too-old"
        raise FleetError(code, f"the plan has schema {schema}, this version reads {SCHEMA}", where, AGAIN)
    wrong = [Problem("plan-invalid", f"{path}: {message}", where, AGAIN) for path, message in _wrong(document, SHAPE)]
    if wrong:
        raise FleetError.of(wrong)
    return _checked(document, where)


def _checked(document: t.Mapping[str, t.Any], where: str) -> Approved:
    """The plan of a document that has the right form. FleetError ``plan-doctored`` with each placement whose digest is
    not that of what it shows, or that lists a cluster twice, and with the whole if its digest is another, or a
    placement comes twice."""
    digests = {plan["placement"]: document_digest(plan) for plan in document["placements"]}
    doctored = [
        f"placement {plan['placement']}"
        for plan in document["placements"]
        if plan["digest"] != digests[plan["placement"]] or _repeats(plan)
    ]
    digest = plans_digest(digests)
    if digest != document["digest"] or len(digests) != len(document["placements"]):
        doctored.append("the whole")
    if doctored:
        raise FleetError.of(
            [
                Problem("plan-doctored", f"{what} shows something else than its digest stands for", where, AGAIN)
                for what in doctored
            ]
        )
    changes = tuple(
        f"{plan['placement']}: " + ", ".join(f"{row['cluster']} {row['change']}" for row in plan["clusters"])
        for plan in document["placements"]
    )
    return Approved(digest=digest, changes=changes)


def _repeats(plan: t.Mapping[str, t.Any]) -> bool:
    """Whether two rows of a placement's plan are for one cluster, of which its digest would see one."""
    names = [row["cluster"] for row in plan["clusters"]]
    return len(set(names)) < len(names)


def _wrong(value: t.Any, shape: t.Any, path: str = "") -> t.Iterator[tuple[str, str]]:
    """Each path where the value is not of the shape (``placements[0].spec``), with what is wanted there, or that it is
    missing. Fields of ``OPTIONAL`` may be missing, and other fields may be there too."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            yield path or "the plan", "an object is wanted"
            return
        for key, inner in shape.items():
            if key in value:
                yield from _wrong(value[key], inner, f"{path}.{key}".lstrip("."))
            elif key not in OPTIONAL:
                yield f"{path}.{key}".lstrip("."), "is missing"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield path, "a list is wanted"
            return
        for place, one in enumerate(value):
            yield from _wrong(one, shape[0], f"{path}[{place}]")
    elif isinstance(shape, tuple):
        if value not in shape:
            yield path, f"one of {', '.join(shape)} is wanted"
    elif not isinstance(value, shape):
        yield path, f"{'a text' if shape is str else 'true or false'} is wanted"
    elif shape is str and not is_unicode(value):
        yield path, "a text without halves of surrogate pairs is wanted"
