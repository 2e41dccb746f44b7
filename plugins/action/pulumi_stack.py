# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.stacks.stack import carry_out_stack
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """A stack of a Pulumi project: present, refreshed, absent."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Makes the stack present, refreshed or absent; in check mode it is only previewed, and the outcome is
        ``planned``. FleetError as of ``carry_out_stack``."""
        found = carry_out_stack(options, run.check_mode, run.environ, run.say)
        return Answer(
            changed=found.changed,
            outcome="planned" if run.check_mode else "done",
            data={
                "changes": dict(found.counts),
                "resources": [step.as_dict() for step in found.steps],
                "outputs": dict(found.outputs),
                "stack_warnings": list(found.warnings),
            },
            diff=[{**found.diff(), "before_header": options["stack"]}] if found.changed else (),
        )
