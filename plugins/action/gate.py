# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.updates.gate import Which, approver, complete
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Approve gates of update runs."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        which = Which(
            id=options["id"] or "",
            stage=options["stage"] or "",
            group=options["group"] or "",
            timing=options["timing"] or "",
            name=options["name"] or "",
        )
        with run.open(options) as session:
            done = complete(
                session,
                options["run"],
                which,
                approver(session),
                options["digest"],
                options["reason"],
                not run.check_mode,
                options["allow_self_approval"],
            )
        data = {
            "id": done.gate.gate.id,
            "where": done.gate.position,
            "by": done.by,
            "verified": done.verified,
            "self_approval": done.own,
        }
        data["state"] = done.state
        return Answer(changed=done.changed, data={**data, "run": done.run, "digest": done.digest})
