# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Answers that no API server gives, as steps of a misbehaving server; many are the real answer, damaged."""

from __future__ import annotations

import copy
import json
import typing as t

from misbehaving import Misbehaving, Step, answer, failure, listing, raw

Change = t.Callable[[t.Any], t.Any]

# Whatever was asked for: these are no answers at all.
WHOLE: dict[str, Step] = {
    "empty": answer(b""),
    "html": answer(b"<html>please log in</html>", content_type="text/html"),
    "html as json": answer(b"<html>please log in</html>"),
    "half": answer(b'{"kind": "Pod", "metadata": {'),
    "a list": answer([1, 2, 3]),
    "a number": answer(17),
    "null": answer(None),
    "no utf-8": answer(b'{"kind": "\xff\xfe"}'),
    "half a surrogate": answer(b'{"kind": "NodeList", "items": [], "gitVersion": "v1.36.0\\ud800"}'),
    "nan": answer(b'{"kind": "NodeList", "items": NaN}'),
    "a huge number": answer(b'{"kind": "NodeList", "items": [' + b"9" * 100_000 + b"]}"),
    "deep": answer(b'{"a": ' * 1_000_000 + b"1" + b"}" * 1_000_000),
    "deep enough": answer(b'{"kind": "NodeList", "metadata": ' + b'{"a": ' * 900 + b"1" + b"}" * 901),
    "a failure with 200": answer(failure(500, "InternalError", "so sorry")),
    "a Status": answer({"kind": "Status", "status": "Success"}),
    "an empty object": answer({}),
    "another list": answer(listing("Secret", [])),
    "no kind": answer({"items": []}),
    "kind is no text": answer({"kind": ["NodeList"], "items": []}),
    "items are a map": answer({"kind": "NodeList", "items": {"a": 1}}),
    "items are text": answer({"kind": "ConfigMapList", "items": "abc"}),
    "items are no maps": answer({"kind": "ConfigMapList", "metadata": {}, "items": [1, None, "x"]}),
    "metadata is a list": answer({"kind": "NodeList", "metadata": [], "items": []}),
    "no http": raw(b"SSH-2.0-OpenSSH_9.9\r\n"),
}


def _every(document: t.Any, change: Change) -> t.Any:
    """The object, or every item of the list, changed."""
    if isinstance(document.get("items"), list):
        return {**document, "items": [change(each) for each in document["items"]]}
    return change(document)


def _metadata(**fields: t.Any) -> Change:
    def change(document: t.Any) -> t.Any:
        return {**document, "metadata": {**(document.get("metadata") or {}), **fields}}

    return lambda document: _every(document, change)


def _fields(**fields: t.Any) -> Change:
    return lambda document: _every(document, lambda each: {**each, **fields})


def _without(key: str) -> Change:
    return lambda document: _every(document, lambda each: {name: each[name] for name in each if name != key})


def _twice(document: t.Any) -> bytes:
    """Every key of the document twice: the last one counts, as in all clients of Kubernetes."""
    text = json.dumps(document)
    return (text[:-1] + "," + text[1:]).encode()


# The real answer, damaged in one place.
DAMAGED: dict[str, Change] = {
    "metadata missing": _without("metadata"),
    "metadata null": _fields(metadata=None),
    "metadata is text": _fields(metadata="x"),
    "name missing": _metadata(name=None),
    "name is a number": _metadata(name=7),
    "name is another": _metadata(name="another"),
    "labels are a list": _metadata(labels=["a"]),
    "labels hold numbers": _metadata(labels={"applyset.kubernetes.io/id": 1}),
    "annotations are text": _metadata(annotations="x"),
    "uid is a map": _metadata(uid={}),
    "no uid": _metadata(uid=None),
    "no resourceVersion": _metadata(resourceVersion=None),
    "generation is text": _metadata(generation="x"),
    "managedFields are a map": _metadata(managedFields={}),
    "managedFields hold text": _metadata(managedFields=["x"]),
    "managedFields hold no tree": _metadata(
        managedFields=[{"manager": "gitops-fleet", "operation": "Apply", "fieldsV1": {"f:data": {"k:{": {}}}}]
    ),
    "status is a list": _fields(status=[]),
    "status null": _fields(status=None),
    "spec is text": _fields(spec="x"),
    "data is a list": _fields(data=["x"]),
    "data holds maps": _fields(data={"placement": {}, "record": [], "inventory": 1}),
    "kind is another": _fields(kind="Secret"),
    "everything twice": _twice,
}


def steps(server: Misbehaving) -> dict[str, Step]:
    """All of them, by name."""
    return WHOLE | {name: server.changed(_on_a_copy(change)) for name, change in DAMAGED.items()}


def _on_a_copy(change: Change) -> Change:
    def work(document: t.Any) -> t.Any:
        if not isinstance(document, dict) or document.get("kind") == "Status":
            return document
        return change(copy.deepcopy(document))

    return work


# What a damaged ApplySet may hold: ``data`` of its ConfigMap is replaced by it.
PLACEMENT = {"name": "web", "uid": "u", "generation": 1}
RECORD: dict[str, t.Any] = {"policySnapshot": "", "policyHash": "", "resourceSnapshot": "", "resourceHash": ""}
RECORD["decision"] = None
HELD = ["", "v1", "ConfigMap", "a", "b", ""]
PARENTS: dict[str, dict[str, t.Any]] = {
    "text": {"placement": '"x"', "record": "{}", "inventory": "[]"},
    "lists": {"placement": "[]", "record": "[]", "inventory": "[]"},
    "no json": {"placement": "{", "record": "}", "inventory": "["},
    "deep": {"placement": "[" * 10**5, "record": "{}", "inventory": "[]"},
    "deeper": {"inventory": "[" * 800 + "]" * 800},
    "another name": {"placement": PLACEMENT | {"name": "another"}},
    "a number for a name": {"placement": PLACEMENT | {"name": 7}},
    "a number for a uid": {"placement": PLACEMENT | {"uid": 7}},
    "text for a generation": {"placement": PLACEMENT | {"generation": "x"}},
    "a list for a decision": {"record": RECORD | {"decision": [1]}},
    "text for a score": {"record": RECORD | {"decision": {"affinityScore": "\x1b[2J"}}},
    "a number for a snapshot": {"record": RECORD | {"resourceSnapshot": 7}},
    "nothing of the record": {"record": {}},
    "a map for an inventory": {"inventory": {"a": 1}},
    "five texts": {"inventory": [HELD[:5]]},
    "numbers": {"inventory": [[1, 2, 3, 4, 5, 6]]},
    "null": {"inventory": [[None] * 6]},
    "a way out": {"inventory": [[*HELD[:3], "..", "../../secrets/x", ""]]},
    "a way up": {"inventory": [[*HELD[:4], "..", ""]]},
    "a command": {"inventory": [[*HELD[:2], "::error::x", "a", "b", ""]]},
    "unseen": {"inventory": [[*HELD[:4], "b\x1b[2J\n", ""]]},
    "a huge hash": {"inventory": [[*HELD[:5], "x" * 10**5]]},
}


def parent(name: str, damage: str) -> Change:
    """A change that damages the ApplySet of that name, wherever it is read."""
    good = {"placement": PLACEMENT | {"name": name}, "record": RECORD, "inventory": []}
    bad = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in (good | PARENTS[damage]).items()
    }
    return _on_a_copy(lambda document: _every(document, lambda each: {**each, "data": bad}))
