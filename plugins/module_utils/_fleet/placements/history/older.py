# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a checkout is older than what was applied last, which it would undo (brake ``allow_older``,
``revision-unknown``); overrides that a roll back would take back (``overrides-missing``); ``records-moved``."""

from __future__ import annotations

import typing as t

from ...._core.errors import FleetError, Problem
from ...._core.plan.brakes import Brake, older_source_brake
from ...._store.revision import fetch_command, is_descendant
from ..recorded import REVISION, RecordedPlacement


def revision_unknown_problem(record: RecordedPlacement, revision: str, folder: str) -> t.Iterator[Problem]:
    """A finding ``revision-unknown`` where the ``record`` has the revision of the last apply, and the ``folder`` of
    this one tells none; nothing without a ``folder``."""
    last = _last_revision(record)
    if last and folder and not revision:
        message = f"it was applied last from revision {last[:12]}, and which one this is is not known"
        hint = f"{folder} is no Git checkout, or Git cannot or may not read it"
        yield Problem("revision-unknown", f"{message}: it may be older", hint=hint)


def _last_revision(record: RecordedPlacement) -> str | None:
    """The Git commit that was applied last; empty where files of no known one came after it, None where there never was
    any."""
    annotations = (record.document or {}).get("metadata", {}).get("annotations") or {}
    return str(annotations[REVISION]) if REVISION in annotations else None


def older_revision_brake(
    name: str,
    record: RecordedPlacement,
    revision: str,
    folder: str,
    allow: bool,
    environ: t.Mapping[str, str] | None = None,
) -> Brake | None:
    """The brake ``allow_older``, as of ``older_source_brake``. It has tripped unless the checkout in ``folder`` tells
    that ``revision`` descends from that of the last apply (``record``). ``allow`` lifts it, ``environ`` is as of
    ``asked_git``. None where this revision is not known, is that of the last apply, or where none was ever recorded."""
    last = _last_revision(record)
    if last is None or not revision or last == revision:
        return None
    descends = is_descendant(folder, last, revision, environ)
    deepen = fetch_command(folder, last, environ) if last and descends is None else ""
    return older_source_brake(name, revision, last, None if descends is None else not descends, allow, deepen)


def missing_overrides_problem(record: RecordedPlacement) -> t.Iterator[Problem]:
    """A problem ``overrides-missing`` where bindings of the ``record`` name overrides, which a roll back without any
    would undo; else none. Whether some are given now is for the caller to ask."""
    specs = [each.spec for each in record.known.bindings]
    if any(each.cluster_resource_override_snapshots or each.resource_override_snapshots for each in specs):
        text = "clusters hold the placement with overrides, and none are given now: a roll back would undo them too"
        hint = "give the files with the overrides as option src, which is placements in the playbook"
        yield Problem("overrides-missing", text, hint=hint)


def records_moved(name: str, message: str) -> FleetError:
    """The FleetError ``records-moved`` at the placement ``name``, not raised; ``message`` says what has changed."""
    return FleetError("records-moved", message, name, "run again")
