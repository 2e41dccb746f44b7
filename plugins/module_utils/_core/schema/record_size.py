# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The size of an object or status as JSON, the most that is written (1.2 MiB), and the condition that tells that
something was left out (``StatusTrimmed``)."""

from __future__ import annotations

import typing as t

from ..values.canonical import canonical_json
from .codec import encode

LIMIT = 1_258_291
"""1.2 MiB; a request of more than 1.5 MiB is refused by etcd, and the spec has to fit in as well."""
TRIMMED = "StatusTrimmed"
REASON = "TooLarge"


def size_of(part: t.Any) -> int:
    """Bytes of an object of ours, or a dataclass in one, as canonical JSON. FleetError and RecursionError as of
    ``canonical_json``."""
    return size_of_json(encode(part))


def size_of_json(document: t.Any) -> int:
    """Bytes of what is encoded already, as canonical JSON. FleetError and RecursionError as of ``canonical_json``."""
    return len(canonical_json(document))
