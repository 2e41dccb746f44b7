# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The diff of a plan: which objects are new or changed, and in which fields, against what was applied last or is live,
fields that are given up among them; values of Secrets masked."""

from __future__ import annotations

import typing as t

from ..objects.identity import Manifest, ObjectId, annotations_of, identify, labels_of
from ..resources.comparison.compare import RESERVED_DOMAINS, differences
from ..resources.comparison.fields import field_path, is_secret
from ..resources.comparison.given_up import becomes, given_up
from ..resources.comparison.left_alone import as_live, ignored_paths
from ..resources.sealing import has_secrets, shows_left_out, without_source
from .changes import CHANGED, NEW, UNKNOWN, Earlier, FieldChange, ObjectChange
from .document import Rendered

MASKED = "<masked>"
MOST_FIELDS = 100


def object_changes(objects: t.Iterable[Rendered], earlier: Earlier) -> tuple[ObjectChange, ...]:
    """The objects that were not held before or are another now (changed, or perhaps so), in their order: by fields
    where ``earlier`` has the manifest, else by its hash alone; UNKNOWN where contents cannot be compared, as where
    values of a Secret were left out. FleetError as of ``identify`` for a manifest of ``earlier``."""
    manifests = {identify(each).key: each for each in earlier.manifests}
    found = (_change(each, manifests.get(each.id.key), earlier.hashes.get(each.id.key)) for each in objects)
    return tuple(each for each in found if each is not None)


def manifest_changes(new: Manifest, old: Manifest, each: ObjectId) -> tuple[FieldChange, ...]:
    """What differs between two manifests of ours in their sealed form, of the object ``each``, at most ``MOST_FIELDS``;
    reserved labels and annotations that are gone come last. Status and finalizers that are gone are not told, nor is
    where the content of Secrets came from. Values of Secrets are masked, labels apart."""
    new, old = without_source(new), without_source(old)
    rows = [(one.path, one.live, one.desired) for one in differences(new, old, MOST_FIELDS, full=True)]
    for part, of in (("labels", labels_of), ("annotations", annotations_of)):
        gone = (key for key in of(old) if key not in of(new) and any(domain in key for domain in RESERVED_DOMAINS))
        rows += [(field_path(f".metadata.{part}", key), of(old)[key], None) for key in gone]
    return _told(rows[:MOST_FIELDS], each, is_secret(new), {})


def live_changes(desired: Manifest, live: Manifest, manager: str, each: ObjectId) -> tuple[FieldChange, ...]:
    """What an apply of ``desired`` as ``manager`` changes in the live object ``each``, at most ``MOST_FIELDS``; fields
    that it gives up come last, and so are cut first. Values of Secrets are masked, labels apart. ``live`` has passed
    ``check_managed_fields``."""
    rows = [(one.path, one.live, one.desired) for one in differences(desired, live, MOST_FIELDS)]
    left = given_up(desired, live, manager)
    rows += [(one.path, one.live, None) for one in left]
    return _told(rows[:MOST_FIELDS], each, is_secret(desired), {one.path: one.managers for one in left})


def _told(
    rows: t.Iterable[tuple[str, t.Any, t.Any]], each: ObjectId, secret: bool, managers: t.Mapping[str, tuple[str, ...]]
) -> tuple[FieldChange, ...]:
    """Rows of path, old and new value as changes, with the effect of giving the field up where there is no new one;
    values of Secrets masked. ``managers`` are, by path, those who own a field too."""
    found = []
    for path, old, new in rows:
        effect = becomes(each, path, managers.get(path, ())) if new is None else ""
        hidden = secret and not path.startswith(".metadata.labels")
        found.append(FieldChange(path, _masked(old, hidden), _masked(new, hidden), effect))
    return tuple(found)


def _masked(value: t.Any, hidden: bool) -> t.Any:
    """``MASKED`` in place of a value to hide; None stays."""
    return MASKED if hidden and value is not None else value


def _change(new: Rendered, old: Manifest | None, digest: str | None) -> ObjectChange | None:
    """What becomes of one object, of which ``old`` is the manifest held before, or ``digest`` its hash where only that
    is known: NEW without either, CHANGED, UNKNOWN where the contents cannot be compared, None if nothing changes."""
    if old is None:
        if digest is None:
            return ObjectChange(id=new.id, action=NEW)
        if _hides(new):
            return ObjectChange(id=new.id, action=UNKNOWN)
        return None if digest == new.hash else ObjectChange(id=new.id, action=CHANGED)
    sealed = new.sealed if new.sealed is not None else new.manifest
    if _hides(new) or (new.sealed is None and has_secrets(new.manifest)) or _only_named(old, sealed):
        return ObjectChange(id=new.id, action=UNKNOWN)
    fields = manifest_changes(_without_ignored(sealed, old, new.manifest), old, new.id)
    return ObjectChange(id=new.id, action=CHANGED, fields=fields) if fields else None


def _without_ignored(sealed: Manifest, old: Manifest, readable: Manifest) -> Manifest:
    """The ``sealed`` manifest with what it ignores taken from ``old``, since that does not change where an object is
    already; as it is if the annotation is no good. ``readable`` is the same unsealed, for in a sealed Secret the
    annotation cannot be read."""
    try:
        return as_live(sealed, old, ignored_paths(readable))
    except ValueError:  # the member refuses it, and says why
        return sealed


def _hides(new: Rendered) -> bool:
    """Whether values of a Secret were left out, for want of the key of the records; False for an envelope."""
    return new.sealed is not None and shows_left_out(new.sealed)


def _only_named(old: Manifest, new: Manifest) -> bool:
    """Whether the old manifest has API version, kind and metadata alone, as one that was rebuilt from members, and the
    new one more."""
    return set(old) <= {"apiVersion", "kind", "metadata"} < set(new)
