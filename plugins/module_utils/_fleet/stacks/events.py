# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the Pulumi engine tells of a run, event by event (the JSON of ``--event-log``): steps with the inputs that
differ, resources deleted or replaced, errors, warnings, counts."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass, field

Event = t.Mapping[str, t.Any]
# Nothing was, or will be, done to these.
IDLE = ("same", "read", "refresh")
# The last one is gone in the end, or another stands in its place.
DELETING = ("delete", "delete-replaced", "replace", "create-replacement", "discard", "discard-replaced")
# Of the engine itself: stacks, and what it reaches others by.
_OWN = ("pulumi:pulumi:Stack", "pulumi:providers:")
_COLOURS = re.compile(r"<\{%[^%]*%\}>")


@dataclass(frozen=True, kw_only=True)
class StackStep:
    """What is done to one resource. ``before`` and ``after`` are the inputs that differ, secrets masked by the engine;
    both are empty for a resource that comes or goes."""

    op: str
    urn: str
    before: t.Mapping[str, t.Any] = field(default_factory=dict)
    after: t.Mapping[str, t.Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the resource, the last part of its URN."""
        return self.urn.rpartition("::")[2]

    @property
    def type(self) -> str:
        """The type of the resource as its URN has it, such as ``kubernetes:core/v1:Namespace``; empty if the URN does
        not tell."""
        return "".join(self.urn.split("::")[2:3]).rpartition("$")[2]

    def as_dict(self) -> dict[str, str]:
        """``op``, ``type``, ``name`` and ``urn``, as results have them."""
        return {"op": self.op, "type": self.type, "name": self.name, "urn": self.urn}


@dataclass
class Story:
    """A run as far as it is known, or a look at what one would do (``is_look``). ``errors`` are pairs of a resource's
    name, or an empty text, and what is wrong; ``counts`` are resources by operation; ``whole`` says that the end was
    heard; ``unreadable`` counts events that were not understood. Of an output that is secret (``has_secret_outputs``)
    nobody is told whether it differs."""

    is_look: bool = False
    steps: list[StackStep] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    outputs_differ: bool = False
    has_secret_outputs: bool = False
    whole: bool = False
    unreadable: int = 0
    _urns: set[str] = field(default_factory=set, repr=False)

    @property
    def changed(self) -> bool:
        """Whether outputs or resources are, or would be, others than before; of resources it is known from the summary
        on."""
        return self.outputs_differ or any(op not in IDLE and count for op, count in self.counts.items())

    @property
    def deleted(self) -> list[StackStep]:
        """Steps that delete or replace resources: of each resource its last one, in the order of the first ones."""
        found = {step.urn: step for step in self.steps if step.op in DELETING}
        return list(found.values())

    def heard(self, line: str) -> str:
        """Takes in one event, a line of JSON; gives what people are told of it at once, empty for nothing. One that
        cannot be read is counted in ``unreadable``, one of a kind that is not known passed over; nothing is raised."""
        try:
            return self._heard(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.unreadable += 1
            return ""

    def _heard(self, event: Event) -> str:
        """As ``heard``; raises KeyError, TypeError, ValueError or AttributeError for an event of another form. Other
        kinds of events are passed over."""
        if "diagnosticEvent" in event:
            return self._diagnosed(event["diagnosticEvent"])
        if "summaryEvent" in event:
            self.counts = dict(event["summaryEvent"].get("resourceChanges") or {})
            self.whole = True
        elif "resourcePreEvent" in event:
            return self._begun(event["resourcePreEvent"]["metadata"])
        elif "resOutputsEvent" in event:
            self._done(event["resOutputsEvent"]["metadata"])
        return ""

    def _begun(self, metadata: Event) -> str:
        """Notes a step that begins, and gives a line for people; nothing for what is idle or the engine's own. Raises
        as of ``_heard``."""
        if metadata["op"] in IDLE or metadata["type"].startswith(_OWN):
            return ""
        step = self._noted(metadata)
        return f"{'would ' if self.is_look else ''}{step.op} {step.name} ({step.type})"

    def _done(self, metadata: Event) -> None:
        """Notes whether the stack's outputs differ or are secret, and updates and deletions that no earlier event told
        of: a refresh tells what it found only when it is done. Raises as of ``_heard``."""
        old, new = metadata.get("old") or {}, metadata.get("new") or {}
        if metadata["type"] == "pulumi:pulumi:Stack":
            before, after = old.get("outputs") or {}, new.get("outputs") or {}
            self.outputs_differ, self.has_secret_outputs = before != after, holds_secret(after)
        elif metadata["type"].startswith(_OWN):
            return
        elif metadata["op"] in ("update", "delete") and metadata["urn"] not in self._urns:
            self._noted(metadata)

    def _noted(self, metadata: Event) -> StackStep:
        """The step of this event, added to ``steps``. Raises as of ``_step``."""
        step = _step(metadata)
        self.steps.append(step)
        self._urns.add(step.urn)
        return step

    def _diagnosed(self, event: Event) -> str:
        """Keeps what an error or a warning says, without colours; only a warning is told at once, else the text is
        empty. What is ephemeral or empty is passed over."""
        text = _COLOURS.sub("", str(event.get("message", ""))).strip()
        if event.get("ephemeral") or not text:
            return ""
        if event.get("severity") == "error":
            self.errors.append((str(event.get("urn", "")).rpartition("::")[2], text))
        elif event.get("severity") == "warning":
            self.warnings.append(text)
            return f"warning: {text}"
        return ""


def holds_secret(value: t.Any) -> bool:
    """Whether the engine has masked the value, or a part of it at any depth, as ``[secret]``; a text that only contains
    that counts as none."""
    if isinstance(value, dict):
        return any(map(holds_secret, value.values()))
    return any(map(holds_secret, value)) if isinstance(value, list) else value == "[secret]"


def _step(metadata: Event) -> StackStep:
    """The step with the inputs that differ, none of a resource that comes or goes. KeyError, TypeError, AttributeError
    for an event of another form."""
    old, new = metadata.get("old") or {}, metadata.get("new") or {}
    before, after = old.get("inputs") or {}, new.get("inputs") or {}
    both = bool(old) and bool(new)
    keys = sorted(key for key in {*before, *after} if before.get(key) != after.get(key)) if both else []
    if not isinstance(metadata["op"], str) or not isinstance(metadata["urn"], str):
        raise TypeError("an operation and a URN are texts")
    return StackStep(
        op=metadata["op"],
        urn=metadata["urn"],
        before={key: before[key] for key in keys if key in before},
        after={key: after[key] for key in keys if key in after},
    )
