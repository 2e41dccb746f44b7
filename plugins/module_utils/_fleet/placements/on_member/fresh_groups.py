# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Waiting up to 10 s until a member serves API groups whose kinds (CustomResourceDefinition) are defined in the very
run that writes their objects."""

from __future__ import annotations

import contextlib
import time
import typing as t
from collections import Counter

from ...._core.objects.scopes import DEFINITION
from ...._core.plan.member import MemberStep
from ...._core.values.parts import mapping, text
from ...._kube.errors import ApiError
from .gone import GONE

SERVED_SECONDS = 10.0

T = t.TypeVar("T")


class FreshGroups:
    """Those that are still waited for: an API server serves a new kind a moment after it was defined. One of which all
    definitions were refused, or that was waited for in vain once, is waited for no more."""

    def __init__(self, to_do: t.Iterable[MemberStep]) -> None:
        self._awaited = Counter(filter(None, map(defined_group, to_do)))

    def served(self, step: MemberStep, work: t.Callable[[], T]) -> T:
        """What the step's ``work`` gives; in an awaited group it is done again for up to 10 s while it meets a code of
        GONE. ApiError of the last attempt; what else it raises comes through at once."""
        end = time.monotonic() + SERVED_SECONDS
        while True:
            try:
                return work()
            except ApiError as error:
                self._awaited[defined_group(step)] -= 1
                if self._awaited[step.id.group] <= 0 or error.code not in GONE:
                    raise
                if time.monotonic() > end:
                    self._awaited[step.id.group] = 0
                    raise
            time.sleep(0.1)


def defined_group(step: MemberStep) -> str:
    """The group of the kind whose definition the step writes; empty if it writes none, or one without a group."""
    if step.manifest is not None and (step.id.group, step.id.kind) == DEFINITION:
        with contextlib.suppress(ValueError):
            return text(mapping(step.manifest, "spec"), "group")
    return ""
