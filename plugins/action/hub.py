# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.environments.hub import install_by_options, outcome_lines
from ..module_utils._report.text import folded
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Our CRDs and policies on an API server, installed or updated, with our namespace."""

    LIBRARIES = SERVERS

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Installs or updates our CRDs and policies and makes our namespace; in check mode it only looks. FleetError as
        of ``install_by_options``."""
        outcome = install_by_options(options, run.environ, write=not run.check_mode)
        for line in outcome_lines(outcome, run.check_mode):
            for part in folded(line):
                run.say(part)
        return Answer(
            changed=outcome.changed,
            data={
                "created": list(outcome.created),
                "updated": list(outcome.updated),
                "unchanged": list(outcome.unchanged),
                "policies": dict(outcome.policies),
                "namespace": outcome.namespace,
            },
            diff=[{"before": "", "after": f"{name}\n", "before_header": name} for name in outcome.new],
        )
