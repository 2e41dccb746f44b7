# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""JSON patches of overrides (RFC 6902), why one cannot be done, and the variables in their values, name and labels of
the cluster (``override-label-missing``, ``unclosed-variable``, ``override-value-broken``; KubeFleet's reserved
variables)."""

from __future__ import annotations

import copy
import json
import re
import typing as t

from ...errors import FleetError
from ...objects.identity import Manifest
from ...objects.overrides.override_rules import CLUSTER_NAME, LABEL_PREFIX

try:
    import jsonpatch
except ImportError:
    jsonpatch = None  # type: ignore[assignment]

Labels = t.Mapping[str, str]
Wrong = tuple[str, str, str]
_INDEX = re.compile(r"[0-9]{1,9}")


class PatchFailed(Exception):
    """Operation ``index`` of a patch cannot be done; the message shows no value."""

    def __init__(self, index: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.index, self.message, self.hint = index, message, hint


def patched(manifest: Manifest, operations: t.Sequence[Manifest]) -> dict[str, t.Any]:
    """A copy of the manifest after all operations, in order. PatchFailed names the first that cannot be done;
    FleetError ``missing-library`` where jsonpatch is not installed."""
    if jsonpatch is None:
        raise FleetError(
            "missing-library", "the Python library jsonpatch is not installed", "", "pip install jsonpatch"
        )
    document: dict[str, t.Any] = copy.deepcopy(dict(manifest))
    for index, operation in enumerate(operations):
        try:
            document = jsonpatch.apply_patch(document, [dict(operation)], in_place=True)
        except (
            jsonpatch.JsonPatchException,
            jsonpatch.JsonPointerException,
            TypeError,
            LookupError,
            ValueError,
        ) as error:
            raise PatchFailed(index, *_reason(document, operation)) from error
    return document


def filled(value: t.Any, cluster: str, labels: Labels, *, upstream: bool = False) -> tuple[t.Any, tuple[Wrong, ...]]:
    """The value with its variables (name and labels of the cluster) filled in, and (code, message, hint) of each one
    that cannot be, ``override-label-missing`` or ``unclosed-variable``: it leaves nothing in its place, one that is not
    closed takes the rest of the text along.

    ``upstream`` replaces in the JSON text before it is read: the value is None if anything is wrong, and
    ``override-value-broken`` if it is no JSON any more. Else it happens inside each text, keys of maps too, so that no
    label can change the structure; of keys that become equal the last stays.
    """
    wrong: list[Wrong] = []
    if not upstream:
        return _inside(value, cluster, labels, wrong), tuple(dict.fromkeys(wrong))
    text = _text(json.dumps(value, ensure_ascii=False, default=str), cluster, labels, wrong)
    if wrong:
        return None, tuple(wrong)
    try:
        return json.loads(text), ()
    except ValueError:
        hint = "a label's value has changed its structure"
        return None, (
            ("override-value-broken", f"the value is no JSON after its variables are filled in on {cluster}", hint),
        )


def _inside(value: t.Any, cluster: str, labels: Labels, wrong: list[Wrong]) -> t.Any:
    """The value with variables filled in inside each text, keys too; tuples become lists. What cannot be filled in is
    added to ``wrong``."""
    if isinstance(value, str):
        return _text(value, cluster, labels, wrong)
    if isinstance(value, t.Mapping):
        return {
            _text(key, cluster, labels, wrong) if isinstance(key, str) else key: _inside(one, cluster, labels, wrong)
            for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_inside(one, cluster, labels, wrong) for one in value]
    return value


def _text(text: str, cluster: str, labels: Labels, wrong: list[Wrong]) -> str:
    """The text with variables filled in, those that cannot be left out and added to ``wrong``; one that is not closed
    ends the text."""
    before, found, rest = text.replace(CLUSTER_NAME, cluster).partition(LABEL_PREFIX)
    out = [before]
    while found:
        key, closed, rest = rest.partition("}")
        if not closed:
            message = f"a variable {LABEL_PREFIX}... is not closed by a }} on {cluster}"
            wrong.append(("unclosed-variable", message, ""))
            break
        if key not in labels:
            message = f"cluster {cluster} has no label {key}"
            wrong.append(("override-label-missing", message, "label the cluster, or let the rule select by that label"))
        out.append(labels.get(key, ""))
        before, found, rest = rest.partition(LABEL_PREFIX)
        out.append(before)
    return "".join(out)


def _reason(document: t.Any, operation: Manifest) -> tuple[str, str]:
    """Why an operation could not be done to the document, without any value of it, and the way out, empty if there is
    none to tell."""
    path, op = str(operation["path"]), operation["op"]
    *parents, last = path.split("/")[1:] or [""]
    here, so_far = document, ""
    for part in parents:
        here, so_far = _child(here, part), f"{so_far}/{part}"
        if here is None:
            return f"{op} {path} is not possible, as {so_far} is not there", f"add {so_far} in a patch before it"
    if isinstance(here, list):
        hint = "items are numbered from 0; - stands for the place behind the last one, for add"
        return (
            f"{op} {path} is not possible, as {so_far or '/'} is a list of {len(here)} and {last!r} no place in it",
            hint,
        )
    if not isinstance(here, t.Mapping):
        return f"{op} {path} is not possible, as {so_far} is neither an object nor a list", ""
    return f"{op} {path} is not possible, as nothing is there", "use add" if op == "replace" else ""


def _child(here: t.Any, part: str) -> t.Any:
    """What one part of a JSON pointer leads to; None where there is nothing, or null."""
    key = part.replace("~1", "/").replace("~0", "~")
    if isinstance(here, t.Mapping):
        return here.get(key)
    if isinstance(here, list) and _INDEX.fullmatch(key) and int(key) < len(here):
        return here[int(key)]
    return None
