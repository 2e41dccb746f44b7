# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""NodePools that people write: whole objects, patches and fragments; repairs (``expireAfter-misplaced``), and all
problems at once (``expireAfter-conflict``, ``alternatives``, ``invalid-duration``).

A patch names a pool and a part of its ``spec``; a fragment begins at ``spec:``, ``disruption:`` or ``budgets:``, or is
the list of budgets itself. Neither is a complaint here, but no pool is created from one.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...errors import FleetError, Problem
from ...schema.checking import Check, Written, check_object, no_written_text
from ...schema.finding import Finding
from ...schema.meta import ObjectMeta
from ...schema.rules import Found
from ...values.duration import TOO_LONG
from ...values.field_path import field, with_field
from .node_pool import (
    API_VERSION,
    KIND,
    POLICIES,
    Budget,
    NodePool,
    decode_budgets,
    decode_node_pool,
)
from .node_pool_schema import (
    BUDGETS,
    POLICY,
    Policies,
    admit,
    duration_parses,
    durations,
)

MISPLACED, PLACE = "spec.disruption.expireAfter", "spec.template.spec.expireAfter"
DRIFTS = "it is part of the drift hash, so that all existing nodes of the pool count as Drifted and are replaced"
_CLAIM = ("spec.template.spec.nodeClassRef", "spec.template.spec.requirements")
_WHOLE = ("spec.template", "spec.template.spec", *_CLAIM)
_GROUP = "spec.template.spec.nodeClassRef.group"
OLDER_GROUP = "spec.template.spec.nodeClassRef.apiVersion"
MISSING, UNKNOWN = "missing-field", "unknown-field"
Document = Mapping[str, t.Any]


@dataclass(frozen=True)
class Examined:
    """A manifest of a NodePool, a patch or a fragment, with all that was found. ``written`` is the manifest, and a
    fragment in the place where it belongs; ``repaired``, what should be written; ``stored``, what an API server makes
    of that. ``missing`` are the paths that a new pool needs besides, empty for a whole one, or what ``examine`` counts
    as that; ``fragment``: it has neither ``apiVersion`` nor ``kind``, or is no mapping."""

    written: Document
    repaired: Document
    stored: Document
    problems: tuple[Found, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...]
    fragment: bool

    @property
    def budgets(self) -> tuple[Budget, ...] | None:
        """The budgets, defaults included, in their order; None if anything is wrong with one of them, with ``spec``,
        ``spec.disruption`` or the document as a whole."""
        if any(each.path in ("", "spec", "spec.disruption") or each.path.startswith(BUDGETS) for each in self.problems):
            return None
        return decode_budgets(self.stored["spec"]["disruption"]["budgets"])


def read_node_pool(document: t.Any, where: str = "", strict: bool = False) -> tuple[NodePool, tuple[Finding, ...]]:
    """The pool that a manifest describes, whole or as a patch, with the repaired manifest in it, and the repairs; with
    ``strict`` these are problems. FleetError with all problems: those of ``examine``, ``missing-field`` for a fragment
    and for a pool without a name, and ``wrong-type`` and ``placeholder`` in metadata; ``where`` (such as ``file:line``)
    stands before each."""
    examined = examine(document, strict)
    name = field(examined.repaired, "metadata.name")
    about = " ".join(filter(None, (where, f"{KIND}/{name if isinstance(name, str) and name else '?'}")))
    problems = list(examined.problems)
    if examined.fragment:
        problems.append(Found("missing-field", "apiVersion, kind, metadata.name", "this is a fragment, not an object"))
    elif not (isinstance(name, str) and name):
        problems.append(Found("missing-field", "metadata.name", "name is required"))
    problems += _unreadable_metadata(examined.repaired)
    if problems:
        raise FleetError.of(Problem(each.code, each.message, f"{about} {each.path}", each.hint) for each in problems)
    pool = replace(decode_node_pool(examined.stored), manifest=examined.repaired)
    return pool, tuple(replace(each, where=f"{about} {each.old_path}") for each in examined.findings)


def _unreadable_metadata(document: Document) -> list[Found]:
    """The problems ``wrong-type`` and ``placeholder`` of metadata, which no server reads; the rest of it is judged with
    that of all kinds."""
    check = Check()
    check_object(check, ObjectMeta, document.get("metadata") or {}, "metadata")
    return [each for each in check.problems if each.code in ("wrong-type", "placeholder")]


def examine(
    document: t.Any, strict: bool = False, policies: Policies = None, written: Written = no_written_text
) -> Examined:
    """What can be said about a NodePool, a patch or a fragment without its cluster; problems are returned, not raised.
    Of what a server would refuse one problem is told for each path, and before what it would drop (``unknown-field``).
    Budgets are not evaluated, and metadata is not judged.

    What only a new pool needs is no problem in a fragment, nor in a patch; what lacks just one of nodeClassRef and
    requirements counts as a whole pool, with ``missing`` empty, and that as a problem unless it is a fragment.
    ``strict`` makes problems of repairs. ``policies`` and ``written`` as of ``admit``.
    """
    check = Check(strict)
    whole, fragment = _whole(check, document)
    repaired = _move_expiry(check, whole)
    judged = _without_alternatives(check, repaired)
    admission = admit(judged, strict, policies, written)
    missing = tuple(each.path for each in admission.problems if each.code == MISSING and each.path in _WHOLE)
    if len(missing) == 1 and missing[0] in _CLAIM:
        missing = ()  # who writes one of the two writes a pool, and not a part of one
    lenient = bool(missing) or fragment
    told: set[str] = set()
    # What a server would drop comes after what it would refuse.
    for each in sorted(admission.problems, key=lambda found: found.code == UNKNOWN):
        absent = each.code == MISSING and lenient and each.path in (*_WHOLE, "spec.disruption.consolidateAfter")
        if not absent and each.path not in told and not _said_otherwise(each, judged):
            told.add(each.path)
            check.problems.append(each)
    check.problems += _too_long(admission.stored)
    check.findings += admission.findings
    return Examined(whole, repaired, admission.stored, tuple(check.problems), tuple(check.findings), missing, fragment)


def _said_otherwise(found: Found, document: Document) -> bool:
    """Whether the problem is that ``nodeClassRef.group`` is missing where its older form ``apiVersion`` stands: that
    one is told, with what to write."""
    return found.code == MISSING and found.path == _GROUP and bool(field(document, OLDER_GROUP))


def _whole(check: Check, document: t.Any) -> tuple[Document, bool]:
    """The document in the place where it belongs in a NodePool, and whether it is a fragment. What is no NodePool, or
    no part of one, is added to ``check``; where nothing can be made of it, the document is empty."""
    if isinstance(document, (list, tuple)):
        return {"spec": {"disruption": {"budgets": document}}}, True
    if not isinstance(document, Mapping):
        check.problem("not-an-object", "", f"a NodePool or a part of one is wanted, not {document!r:.60}")
        return {}, True
    if "apiVersion" not in document and "kind" not in document:
        if "budgets" in document:
            return {"spec": {"disruption": document}}, True
        if "disruption" in document:
            return {"spec": document}, True
        if document.get("spec") is None:
            check.problem("missing-field", "spec", "neither spec, disruption nor budgets is here")
            return {}, True
        return document, True
    for key, wanted, code in (("apiVersion", API_VERSION, "unsupported-version"), ("kind", KIND, "unknown-kind")):
        if document.get(key) != wanted:
            check.problem(code, key, f"{document.get(key)!r:.60} is not {wanted}", f"write {wanted}")
    return document, False


_MOVES = f"v1 has the field there; where it is put, {DRIFTS}"


def _move_expiry(check: Check, document: Document) -> Document:
    """The document with ``expireAfter`` moved from ``disruption``, where an older API had it and a server drops it, to
    the template: the repair ``expireAfter-misplaced``, also where the template says the same. It stays as it is, with
    ``expireAfter-conflict``, if the template says another, and without a word where the template is no mapping."""
    value, there = field(document, MISPLACED), field(document, PLACE)
    if value is None:
        return document
    if there is not None and there != value:
        check.problem(
            "expireAfter-conflict", MISPLACED, f"{PLACE} says {there!r:.40}, this says {value!r:.40}", "keep one"
        )
        return document
    if not all(isinstance(field(document, way) or {}, Mapping) for way in _WHOLE[:2]):
        return document
    reason = "v1 has the field there, and it says the same already" if there is not None else _MOVES
    check.repair(Finding("expireAfter-misplaced", MISPLACED, PLACE, value, value, reason), f"write {PLACE}")
    return with_field(with_field(document, MISPLACED, None), PLACE, value)


def _without_alternatives(check: Check, document: Document) -> Document:
    """The document without a consolidationPolicy such as ``A | B``, as documentation prints it where one is to be
    chosen: the problem ``alternatives``. Any other stays."""
    value = field(document, POLICY)
    words = [word.strip() for word in value.split("|")] if isinstance(value, str) else []
    if len(words) < 2:
        return document
    chosen = " or ".join(word for word in words if word in POLICIES) or " or ".join(POLICIES)
    check.problem("alternatives", POLICY, f"{value!r:.80} lists the values to choose from", f"write {chosen}")
    return with_field(document, POLICY, None)


def _too_long(stored: Document) -> t.Iterator[Found]:
    """``invalid-duration`` for durations that admission lets through and no client can read, which breaks every list of
    NodePools."""
    for path, text in durations(stored):
        digits = re.fullmatch(r"([0-9]++[hms])++", text, re.ASCII) if isinstance(text, str) else None
        if digits and not duration_parses(text):
            yield Found("invalid-duration", path, f"{text!r:.60} {TOO_LONG}", "write a shorter one")
