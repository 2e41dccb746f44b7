# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What users hand to filters and tests (``bad-argument``): one object, lists of them, results of k8s_info, Lists as
kubectl has them; one of several words, whole numbers."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..._core.errors import FleetError
from ..._core.foreign import shown_value
from ..._core.schema.hints import did_you_mean


def objects(value: t.Any, name: str) -> list[dict[str, t.Any]]:
    """The objects in one object, a list of them, a List as of ``is_list`` or the result of ``k8s_info``, in the order
    given, not copied. FleetError ``bad-argument`` for something else; ``name`` is the argument's."""
    if isinstance(value, Mapping) and isinstance(value.get("resources"), list):
        value = value["resources"]
    elif is_list(value):
        value = value["items"]
    rows = list(value) if isinstance(value, (list, tuple)) else [value]
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            place = f"{name}[{index}]" if isinstance(value, (list, tuple)) else name
            raise FleetError(
                "bad-argument", f"an object is wanted, or a list of them, not {shown_value(row, 60)}", place
            )
    return rows


def is_list(value: t.Any) -> bool:
    """Whether this is a List of Kubernetes objects: its kind ends in ``List``, and its ``items`` are a list."""
    if not isinstance(value, Mapping) or not isinstance(value.get("items"), list):
        return False
    kind = value.get("kind")
    return isinstance(kind, str) and kind.endswith("List")


def one_of(value: t.Any, known: t.Sequence[str], name: str) -> str:
    """The value, if it is one of those known. FleetError ``bad-argument`` at ``name`` otherwise."""
    if value not in known:
        text = f"{shown_value(value, 60)} is not one of {', '.join(filter(None, known))}"
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        raise FleetError("bad-argument", text, name, hint)
    return str(value)


def whole_number(value: t.Any, name: str, least: int = 0, most: int = 10**9) -> int:
    """The value, if it is a whole number from ``least`` to ``most``, which true, false and texts are not. FleetError
    ``bad-argument`` at ``name`` otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise FleetError("bad-argument", f"{shown_value(value, 60)} is not a whole number from {least} to {most}", name)
    return value
