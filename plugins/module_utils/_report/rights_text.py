# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of rights (RBAC) that were written to a file: which objects these are, and how they are granted."""

from __future__ import annotations

import shlex
import typing as t
from collections import Counter

from .text import folded


def written_lines(manifests: t.Sequence[t.Mapping[str, t.Any]], dest: str, check: bool) -> list[str]:
    """How many manifests of which kinds were written to ``dest`` (or, with ``check``, would be); then, if there are
    any, the command by which an owner of the cluster grants them."""
    kinds = Counter(str(each["kind"]) for each in manifests)
    counted = ", ".join(f"{number} {kind}{'s' * (number > 1)}" for kind, number in kinds.items())
    verb = "would be written to" if check else "written to"
    return [
        *folded(f"{verb} {dest}: {counted or 'nothing, as there is nothing to grant'}"),
        *([f"to grant them, as an owner of the cluster: kubectl apply -f {shlex.quote(dest)}"] if counted else []),
    ]
