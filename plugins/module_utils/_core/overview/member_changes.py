# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is other about a member that was changed, field by field, in words: its labels, its taints, how it is reached
and run."""

from __future__ import annotations

import typing as t

from .maintenance_changes import Words, difference

Document = t.Mapping[str, t.Any]


def member_changes(before: t.Iterable[Document], after: t.Iterable[Document]) -> str:
    """What the records of a member (MemberCluster, FleetMember) say otherwise than before, of labels and specs:
    ``driver local -> command, label env prod -> none``; empty if nothing. Of a connection that is the path of a
    kubeconfig and its context, or the name of a Secret, and never what stands in them. Where two documents of one side
    have a field or label of the same name, the last one counts. KeyError for a document without metadata, and for a
    taint without a key."""
    return difference(_words(before), _words(after))


def _words(documents: t.Iterable[Document]) -> Words:
    """What the documents say, by the name of the field; what is empty, or false, is left out."""
    found: Words = {}
    for document in documents:
        spec = dict(document.get("spec") or {})
        taints = spec.pop("taints", None) or ()
        found |= _fields(spec, "")
        found |= {f"label {key}": str(value) for key, value in (document["metadata"].get("labels") or {}).items()}
        for each in taints:
            name = f"taint {each['key']}"
            found[name] = " and ".join(filter(None, (found.get(name), _taint(each))))
    return found


def _fields(given: Document, above: str) -> Words:
    """The fields below ``above``, those of a mapping in it by both names: ``connection context``."""
    found: Words = {}
    for name, value in given.items():
        if isinstance(value, t.Mapping):
            found |= _fields(value, f"{above}{name} ")
        elif value:
            found[f"{above}{name}"] = "true" if value is True else str(value)
    return found


def _taint(given: Document) -> str:
    """``value:effect``, or the effect alone."""
    return ":".join(filter(None, (given.get("value"), given.get("effect"))))
