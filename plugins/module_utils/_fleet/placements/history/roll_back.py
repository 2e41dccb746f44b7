# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rolling back: the content of an earlier resource snapshot (``no-such-snapshot``, ``snapshot-not-whole``), Secrets
read again from Git (``secret-gone``, ``revision-gone``); whether a plan rolls forward again (``rolls-forward``);
manifests gathered by their keys.

Records hold no content of Secrets. That is read again, from the Git revision that it came from.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...._core.errors import FleetError, Problem
from ...._core.objects.identity import (
    Manifest,
    ObjectId,
    ObjectKey,
    identify,
)
from ...._core.plan.document import Rendered
from ...._core.resources.cleaning import cleaned
from ...._core.resources.envelopes import is_envelope
from ...._core.resources.history import KeptSnapshot, RolledBack
from ...._core.resources.sealing import object_hash, sealed
from ...._core.resources.snapshots import resource_hash
from ...._core.values.duration import span_words
from ...._core.values.listed import number_of
from ...._store.digest_key import known_digest_key
from ...._store.documents_in_files import documents_of
from ...._store.revision import fetch_command
from ...._store.revision_files import files_of
from ...session import Session
from ..recorded import RecordedPlacement, all_placements, names_of, no_such_placement, recorded_placement
from ..sources import EarlierContent, LoadedPlacement
from .kept import kept_snapshots

GIT = "git:"
LATER = "an apply of the manifests as they are now rolls forward again"


@dataclass(frozen=True, kw_only=True)
class RollBack:
    """``to`` is the index of a snapshot; None for the one before the latest, or, where the latest was made by a roll
    back, for that one again. ``checkouts`` are paths in Git checkouts of the resources, from which Secrets are read
    again."""

    to: int | None = None
    checkouts: tuple[str, ...] = ()


def earlier_placements(session: Session, names: t.Sequence[str], asked: RollBack) -> tuple[LoadedPlacement, ...]:
    """The recorded placements, in the order of ``names``, each with the content that it is rolled back to and the
    findings ``rolls-back`` and ``applies-forward``. FleetError with the problems of all of them: ``no-such-placement``,
    ``placement-deleting``, ``no-such-snapshot``, ``snapshot-not-whole``, and those of ``recorded_placement`` and
    ``content_of``."""
    found, problems = [], list[Problem]()
    for name in names:
        try:
            found.append(_earlier(session, name, asked))
        except FleetError as error:
            problems += error.problems
    if problems:
        raise FleetError.of(problems)
    return tuple(found)


def rolls_forward_problem(recorded: RecordedPlacement, objects: t.Iterable[Rendered]) -> t.Iterator[Problem]:
    """A problem ``rolls-forward`` where the latest snapshot that is ``recorded`` is a roll back and ``objects`` are
    other content; else none. FleetError as of ``kept_snapshots``."""
    kept = kept_snapshots(recorded)
    back = kept[-1].rolled_back if kept else None
    if back is None or resource_hash(each.hash for each in objects) == kept[-1].hash:
        return
    message = (
        f"the placement was rolled back to snapshot {back.index}; this rolls it forward again, to what is given here"
    )
    yield Problem(
        "rolls-forward", message, hint="if it is to stay: bring what is given here back to that content first"
    )


def _earlier(session: Session, name: str, asked: RollBack) -> LoadedPlacement:
    """One placement as of ``earlier_placements``, with findings that say to what it goes back and that a later apply
    goes forward again. FleetError as there."""
    recorded = recorded_placement(session.records, name)
    if recorded.placement is None or recorded.document is None:
        raise no_such_placement(name, names_of(all_placements(session.records)), session.records.place)
    if recorded.placement.metadata.deletion_timestamp is not None:
        raise FleetError("placement-deleting", "the placement is being deleted", name)
    kept = _chosen(name, kept_snapshots(recorded), asked.to)
    objects = content_of(session, name, kept, asked)
    back = kept.rolled_back or RolledBack(index=kept.index, revision=kept.revision)
    of = f" of revision {back.revision[:12]}" if back.revision else ""
    old = f", {span_words(session.clock() - kept.created)} old" if kept.created else ""
    told = Problem("rolls-back", f"to snapshot {back.index}{of}{old}: {number_of(len(objects), 'object')}", name)
    later = Problem("applies-forward", LATER, name, "revert them in Git if this is to stay")
    return LoadedPlacement(
        placement=recorded.placement,
        document=recorded.document,
        where=kept.name,
        findings=(told, later),
        earlier=EarlierContent(objects=objects, of=back),
        of_record=True,
    )


def _chosen(name: str, kept: t.Sequence[KeptSnapshot], to: int | None) -> KeptSnapshot:
    """The snapshot asked for, without ``to`` the one before the latest. A roll back that was made already stays what it
    is: one that was cut short goes on, and asking twice does not roll forward; of one that is not whole any more that
    counts to which it was made. FleetError ``no-such-snapshot``, ``snapshot-not-whole``."""
    latest = kept[-1] if kept else None
    if latest is not None and latest.rolled_back and to in (None, latest.rolled_back.index, latest.index):
        same = [each for each in kept if each.index == latest.rolled_back.index and to != latest.index]
        return require_whole(next((each for each in (latest, *same) if each.is_whole), latest), name)
    there = [each.index for each in kept]
    if to is None and len(kept) < 2:
        text = "there is no snapshot before the latest one"
        raise FleetError("no-such-snapshot", text, name, "placement_info with snapshots lists those that are kept")
    if to is not None and to not in there:
        text = f"snapshot {to} is not kept; there are {', '.join(map(str, there)) or 'none'}"
        hint = "revisionHistoryLimit says how many are kept; bring an older content back from its source"
        raise FleetError("no-such-snapshot", text, name, hint)
    return require_whole(kept[-2] if to is None else kept[there.index(to)], name)


def require_whole(kept: KeptSnapshot, name: str) -> KeptSnapshot:
    """The snapshot as it is; FleetError ``snapshot-not-whole`` where its content is not known."""
    if kept.is_whole:
        return kept
    text = f"what is recorded of snapshot {kept.index} is not its content: it was rebuilt from members, or altered"
    raise FleetError("snapshot-not-whole", text, name, "choose another one, or apply that content from its source")


def content_of(
    session: Session,
    name: str,
    kept: KeptSnapshot,
    asked: RollBack,
    present: t.Mapping[ObjectKey, t.Sequence[Manifest]] | None = None,
) -> tuple[Rendered, ...]:
    """The objects of a snapshot that is whole (``require_whole``), as they are sent, in its order. Secrets are looked
    for in ``present`` (cleaned manifests by key, as of ``add_by_key``) and then in their revision, in the checkouts
    that are ``asked`` for; only what has the recorded hash counts. FleetError ``no-key``, or ``secret-gone``,
    ``revision-gone`` and ``no-checkout`` about those that are not found, ``missing-library``, and of the records."""
    again = _secrets(session, name, kept, asked, present or {})
    out = []
    for each in kept.manifests:
        found = identify(each)
        out.append(Rendered(id=found, hash=object_hash(each), manifest=again.get(found, each), sealed=each))
    return tuple(out)


def _secrets(
    session: Session,
    name: str,
    kept: KeptSnapshot,
    asked: RollBack,
    present: t.Mapping[ObjectKey, t.Sequence[Manifest]],
) -> dict[ObjectId, Manifest]:
    """The sealed objects of the snapshot with their content, proved to be what was applied then; none without any.
    FleetError as of ``content_of``."""
    if not kept.secret_sources:
        return {}
    key = known_digest_key(session.records)
    if not key:
        text = "the key of these records cannot be read, so that nobody can tell whether a Secret is what it was"
        raise FleetError("no-key", text, session.records.place, "roll back with an account that may read it")
    wanted = {identify(each): each for each in kept.manifests}
    problems = list[Problem]()
    found = {
        each: one
        for each in kept.secret_sources
        for one in present.get(each.key, ())
        if _is_recorded(one, wanted[each], key)
    }
    left = {each: source for each, source in kept.secret_sources.items() if each not in found}
    for source in sorted(set(left.values())):
        here = [each for each, one in left.items() if one == source]
        try:
            read, unread = _read_again(source, kept, asked, session.environ)
        except FleetError as error:
            problems += _told_of(", ".join(map(str, here)), error.problems, name)
            continue
        for each in here:
            same = [one for one in read.get(each.key, ()) if _is_recorded(one, wanted[each], key)]
            if same:
                found[each] = same[0]
            elif unread and not read.get(each.key):
                problems += _told_of(str(each), unread, name)
            else:
                problems.append(_gone(each, source, name, bool(read.get(each.key))))
    if problems:
        raise FleetError.of(problems)
    return found


def _told_of(objects: str, problems: t.Iterable[Problem], name: str) -> list[Problem]:
    """The problems of reading these objects again, with their names before them, at the placement's ``name``."""
    return [Problem(each.code, f"{objects}: {each.message}", name, each.hint) for each in problems]


def _is_recorded(found: Manifest, recorded: Manifest, key: bytes) -> bool:
    """Whether the manifest, sealed under the key, is what was recorded."""
    return object_hash(sealed(found, key, "")) == object_hash(recorded)


def _gone(each: ObjectId, source: str, name: str, other: bool) -> Problem:
    """The problem ``secret-gone``; ``other`` says that its source holds another content of it."""
    text = (
        "does not hold it"
        if not other
        else "holds another content of it: the checkout was not clean when it was applied"
    )
    hint = "choose another snapshot, or apply the content from files"
    return Problem("secret-gone", f"{each}: {source} {text}", name, hint)


def _read_again(
    source: str, kept: KeptSnapshot, asked: RollBack, environ: t.Mapping[str, str]
) -> tuple[dict[t.Any, list[Manifest]], list[Problem]]:
    """All objects below the checkouts as they were in the revision that the source names, by key; documents that cannot
    be read are passed over. And a problem ``revision-gone`` for each checkout in which it cannot be read. FleetError
    ``secret-gone`` for a source that is not Git, ``no-checkout``, ``missing-library``."""
    if not source.startswith(GIT):
        text = f"snapshot {kept.index} has its content from {source or 'the hub'}, which does not keep what it was"
        raise FleetError("secret-gone", text, hint="only what came from a Git checkout can be read again: apply it")
    if not asked.checkouts:
        text = f"its content is in {source}, and no checkout is given to read it from"
        raise FleetError("no-checkout", text, hint="give the folder of the resources with the option resources")
    revision = source.removeprefix(GIT)
    found: dict[t.Any, list[Manifest]] = {}
    unread: list[Problem] = []
    for path in asked.checkouts:
        files = files_of(path, revision, environ)
        if files is None:
            hint = f"{fetch_command(path, revision, environ)} may bring it back; else choose another snapshot"
            unread.append(Problem("revision-gone", f"revision {revision} cannot be read in {path}", hint=hint))
        for file, text in files or ():
            for each in documents_of(text, file):
                if not isinstance(each, Problem) and isinstance(each.value, dict):
                    add_by_key(found, each.value)
    return found, unread


def add_by_key(found: dict[t.Any, list[Manifest]], document: Manifest) -> None:
    """Adds the manifest, cleaned, under its key to ``found``, after those that it holds if it is an envelope; what has
    no identity is passed over."""
    inner = document.get("data")
    if is_envelope(document) and isinstance(inner, dict):
        for each in inner.values():
            if isinstance(each, dict):
                add_by_key(found, each)
    try:
        clean = cleaned(document)
        found.setdefault(identify(clean).key, []).append(clean)
    except FleetError:
        return  # it was no object of the placement either
