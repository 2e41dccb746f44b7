# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.updates.automatic.catalogue import CatalogSources, catalogued, delete_catalogue
from ..module_utils._fleet.updates.sources import update_manifests
from ..module_utils._report.text import notes_text
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Record which versions platforms offer where, from manifests, options, feeds or members, or delete such a
    catalogue."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Records the given catalogues and the one that the options describe, and says its notes, or deletes the one of
        that ``name``; in check mode nothing is written. FleetError ``nothing-asked`` for ``absent`` without a name, and
        as of ``catalogued`` and ``update_manifests``."""
        given = update_manifests(options["src"], options["definition"], options["strict"])
        write = not run.check_mode
        with run.open(options) as session:
            if options["state"] == "absent":
                if not options["name"]:
                    raise FleetError("nothing-asked", "state absent needs the name of a catalogue", "name")
                return Answer(changed=delete_catalogue(session.records, options["name"], write))
            asked = CatalogSources(
                name=options["name"] or "",
                provider=options["provider"],
                location=options["location"],
                versions=tuple(options["versions"]),
                feeds=tuple(options["feeds"]),
                from_members=options["from_members"],
                supported_minors=options["supported_minors"],
                exact=options["exact"],
            )
            made = catalogued(session.records, given, asked, session.clock(), write)
        for line in notes_text(made.notes):
            run.say(line)
        data = {
            "catalogues": [each.name for each in made.catalogues],
            "notes": [each.as_dict() for each in made.notes],
        }
        return Answer(changed=made.changed, data=data)
