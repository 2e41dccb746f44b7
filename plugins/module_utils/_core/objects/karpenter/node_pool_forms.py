# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The forms of durations, counts and schedules of budgets, and label values in a NodePool (CRD of Karpenter v1.14.1),
as details of a ``prop``; that of keys and taints is in ``claim_schema``.

They are those of the CRD, and weaker than what Karpenter evaluates.
"""

from __future__ import annotations

import re
import typing as t

_SOME_DURATION = "hours, minutes and seconds such as 1h30m"
# Possessive: a text of megabytes takes no memory for ways back that lead nowhere.
DURATION: dict[str, t.Any] = {
    "pattern": r"([0-9]++(s|m|h))++",
    "form": _SOME_DURATION,
    "code": "invalid-duration",
}
DURATION_OR_NEVER: dict[str, t.Any] = {
    "pattern": r"([0-9]++(s|m|h))++|Never",
    "form": f"{_SOME_DURATION}, or Never",
    "code": "invalid-duration",
}
HOURS_AND_MINUTES: dict[str, t.Any] = {
    "pattern": r"([0-9]+[hm]|[0-9]+h[0-9]+m)(0s)?",
    "form": "hours and minutes such as 8h, 30m or 10h5m",
    "code": "invalid-duration",
}
COUNT: dict[str, t.Any] = {
    "pattern": r"(100|[0-9]{1,2})%|[0-9]+",
    "form": 'a number or a percentage in quotes, such as "5" or "10%"',
    "code": "invalid-nodes",
}
LABEL_VALUE: dict[str, t.Any] = {
    "pattern": r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
    "form": "a label value: letters, digits, '-', '_' and '.', a letter or digit at each end",
}
_MACRO = re.compile(r"@(annually|yearly|monthly|weekly|daily|midnight|hourly)")
# Five groups with white space between, at the end of the text. Read backwards, so that long texts cost no time; Go's
# white space has no vertical tab.
_FIVE_BACKWARDS = re.compile(r".+?[\t\n\f\r ].+?[\t\n\f\r ].+?[\t\n\f\r ].+?[\t\n\f\r ].")


def is_schedule(text: str) -> bool:
    """Whether the CRD of NodePools takes a text for the schedule of a budget: one that begins with a word such as
    ``@daily``, whatever follows, or ends with five groups of characters with white space between them. Karpenter cannot
    evaluate all of these."""
    return bool(_MACRO.match(text) or _FIVE_BACKWARDS.match(text[::-1]))


SCHEDULE: dict[str, t.Any] = {
    "matches": is_schedule,
    "form": "five cron fields, or @daily, @hourly, @weekly, @monthly, @yearly",
    "code": "invalid-schedule",
}
