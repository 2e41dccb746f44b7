# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The terms of approvals that a run, an UpdateRun or a staged one, keeps in its annotations (``keep_terms``), and the
line that tells where they are stricter than those given."""

from __future__ import annotations

import typing as t

from .._core.errors import FleetError
from .._core.schema.meta import ObjectMeta
from .._core.updates.terms import Terms, kept_words, terms_to_keep
from .._store.records import Record, replace_unless_moved
from .session import Session

_ATTEMPTS = 10


class KeepingRun(t.Protocol):
    """A run in whose annotations terms stand."""

    @property
    def metadata(self) -> ObjectMeta:
        """As it was read."""


R = t.TypeVar("R", bound=KeepingRun)


def keep_terms(
    session: Session,
    name: str,
    run: R,
    given: Terms,
    document: t.Callable[[], Record],
    read: t.Callable[[Record], R],
    may_keep: t.Callable[[R], bool],
) -> R:
    """The run, which from now on keeps the ``given`` terms, too, for whoever carries it on; a line with its ``name`` is
    said where those that it keeps are stricter. One that has no more to keep, or of which ``may_keep`` says no, is
    given back as it was read last.

    ``document`` gives its record as it is now, of which ``read`` makes a run. FleetError of these and ``may_keep``, of
    the records, and ``conflict`` if others write the record at every attempt.
    """
    words = kept_words(run.metadata.annotations, given)
    if words:
        session.say(f"{name}: {words}")
    for _attempt in range(_ATTEMPTS):
        added = terms_to_keep(run.metadata.annotations, given)
        if not added or not may_keep(run):
            return run
        found = document()
        metadata = {
            **found["metadata"],
            "annotations": {**run.metadata.annotations, **added},
            "resourceVersion": run.metadata.resource_version,
        }
        kept = replace_unless_moved(session.records, {**found, "metadata": metadata})
        if kept is not None:
            return read(kept)
        run = read(document())
    raise FleetError("conflict", "the run is being written all the time", name, "try again")
