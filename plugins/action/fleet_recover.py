# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.files import refuse_empty
from ..module_utils._fleet.placements.placement import PlacementRequest
from ..module_utils._fleet.placements.recovery.recovering import recover_records
from ..module_utils._report.members_text import recovered_text
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Records of placements rebuilt from the members, by what these hold."""

    LIBRARIES = SERVERS

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Rebuilds the records of the placements that the files describe, by what the members hold, and says which; in
        check mode it only says so. FleetError ``bad-option`` for empty lists, and as of ``recover_records``."""
        refuse_empty(options, "src", "resources")
        asked = PlacementRequest(
            src=tuple(options["src"] or ()),
            resources=tuple(options["resources"]) if options["resources"] else None,
            timeout=options["timeout"],
            write=not run.check_mode,
        )
        with run.open(options) as session:
            found = recover_records(session, asked, options["former"])
        for line in recovered_text(found.recovered, found.unknown, asked.write):
            run.say(line)
        return Answer(
            changed=bool(found.recovered),
            data={
                "recovered": {name: list(clusters) for name, clusters in found.recovered.items()},
                "unknown": {name: list(clusters) for name, clusters in found.unknown.items()},
            },
        )
