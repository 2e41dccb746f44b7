# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The key of all digests that stand in records in place of Secret values, made once and kept with the records."""

from __future__ import annotations

import secrets

from .records import Records

_NAME = "digest-key"
_BYTES = 32


def digest_key(records: Records) -> bytes:
    """32 random bytes, made once and kept with the records (a meta row of the file; a Secret on the hub).

    Makes the key if there is none, so it writes; of several that do so at once, all get the same one. FleetError as of
    ``Records.keep_secret``.
    """
    return known_digest_key(records) or records.keep_secret(_NAME, secrets.token_bytes(_BYTES))


def known_digest_key(records: Records) -> bytes:
    """The key if there is one, else no bytes: for runs that only read. FleetError as of ``Records.secret``."""
    return records.secret(_NAME)
