# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.stacks.info import info
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """What is known of a stack of a Pulumi project: outputs, resources, the last run, pending operations, locks."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Gives outputs, resources, the last run, pending operations and locks of the stack; one that is not there is
        no error. FleetError as of ``info``."""
        found = info(options, run.environ, run.say)
        return Answer(
            changed=False,
            data={
                "exists": found.exists,
                "outputs": dict(found.outputs),
                "resources": dict(found.types),
                "urns": list(found.urns),
                "last_run": dict(found.last),
                "pending_operations": dict(found.pending),
                "locks": [dict(each) for each in found.locks],
            },
        )
