# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Codes of errors that speak of a whole member, and not of one object or one request: it does not answer
(``unreachable``, ``timeout``), does not let us in (``certificate``, ``credentials-expired``, ``unauthorized``), or is
asked too much (``too-many-requests``)."""

from __future__ import annotations

# It does not answer at all.
SILENT = ("unreachable", "timeout")
# It may be there, and is not known to be the one that is meant, or does not let us in.
NOT_LET_IN = ("certificate", "credentials-expired", "unauthorized")
# Nothing can be found out, or done, there for now: another run may.
OUT_OF_REACH = (*SILENT, *NOT_LET_IN)
# Whatever else would be asked of it now would come to the same.
WHOLE_MEMBER = (*OUT_OF_REACH, "too-many-requests")
