# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from dataclasses import replace

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.audit.actor import user
from ..module_utils._fleet.audit.maintenance import record_with_evidence
from ..module_utils._fleet.files import refuse_empty
from ..module_utils._fleet.updates.automatic.profiles import delete_profile, evaluate_profiles, record_profiles
from ..module_utils._fleet.updates.sources import update_manifests
from ..module_utils._report.profiles_text import profiles_text
from ..module_utils._report.text import notes_text
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Record auto-upgrade profiles, and make the runs that they want, or start them; or delete profiles."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Records the given profiles with their strategies, catalogues and windows; the states ``evaluated`` and
        ``generated`` then make the runs that those in ``names``, or all, want now, and ``evaluated`` starts them.
        ``absent`` only deletes those in ``names``. In check mode nothing is written. The outcome is ``waiting`` while
        somebody else evaluates, ``partial`` where a profile failed. FleetError ``nothing-asked`` for ``absent`` without
        names, ``bad-option`` for empty ones, and as of ``update_manifests``, ``record_profiles`` and
        ``evaluate_profiles``."""
        given = update_manifests(options["src"], options["definition"], options["strict"])
        names, state, write = options["names"] or (), options["state"], not run.check_mode
        if state == "absent" and not names:
            raise FleetError("nothing-asked", "state absent needs the names of profiles", "names")
        refuse_empty(options, "names")
        with run.open(options) as session:
            if state == "absent":
                gone = [delete_profile(session.records, name, write) for name in names]
                return Answer(changed=any(gone))
            profiles = record_profiles(session.records, given, write=False)
            changed = record_with_evidence(session, given.maintenance.values(), write, options["src"]) or profiles
            if write and profiles:  # last, for whoever evaluates one from now on is to find its freezes
                record_profiles(session.records, given, write)
            for line in notes_text(given.findings):
                run.say(line)
            data: dict[str, t.Any] = {"notes": [each.as_dict() for each in given.findings]}
            if state == "present":
                return Answer(changed=changed, data=data)
            who = user(session) if write else ""
            found = evaluate_profiles(session, given, names, who, write=write, start=state == "evaluated")
        if found.held:
            run.say(found.held)
            changed = changed or found.changed
            return Answer(changed=changed, outcome="waiting", code="lease-held", message=found.held, data=data)
        rows = [each.as_dict() for each in found.profiles]
        lines = profiles_text(rows)
        for line in lines:
            run.say(line)
        answer = Answer(changed=changed or found.changed, data=data | {"profiles": rows, "table": lines})
        if found.failures:
            message = "\n".join(map(str, found.failures))
            return replace(answer, outcome="partial", code=found.failures[0].code, message=message)
        return replace(answer, outcome="planned" if run.check_mode else "done")
