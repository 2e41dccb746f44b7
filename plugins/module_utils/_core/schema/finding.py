# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A finding: a repair of, or a warning about, a manifest that is accepted all the same."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A repair or a warning, with its ``code`` in ``schema.rules`` or among those of NodePools.

    ``printed``, at the field path ``old_path``, is read as ``correct``, or as if it stood at ``new_path``; in a mere
    warning both pairs are equal. ``where`` is as in a Problem.
    """

    code: str
    old_path: str
    new_path: str
    printed: t.Any
    correct: t.Any
    reason: str
    where: str = ""

    @property
    def message(self) -> str:
        """What is read in place of what, and why: the two paths if they differ, else the two values, each cut to 120
        characters; else the reason alone."""
        if self.old_path != self.new_path:
            return f"{self.old_path} is read as {self.new_path}: {self.reason}"
        if self.printed != self.correct:
            return f"{self.printed!r:.120} is read as {self.correct!r:.120}: {self.reason}"
        return self.reason
