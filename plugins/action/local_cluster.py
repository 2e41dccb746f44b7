# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.environments.local import LOCAL_UP, local_clusters
from ..module_utils._report.commands.next_steps import after_local_down
from ..plugin_utils._libraries import KEYS, SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Local control planes (etcd and kube-apiserver on this machine): present, started, stopped, absent."""

    LIBRARIES: t.ClassVar = {**SERVERS, **KEYS}

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Makes local clusters present, started, stopped or absent; in check mode it only tells what would change.
        FleetError as of ``local_clusters``, where others may be done all the same."""
        fleet = local_clusters(options, run.check_mode, run.say)
        if options["fleet"] == LOCAL_UP and options["state"] == "absent":
            for line in run.next_lines(after_local_down(fleet.others, options["root"] or "")):
                run.say(line)
        return Answer(
            changed=any(each.changed for each in fleet.outcomes),
            data={
                "clusters": [{**each.after.as_dict(), "changes": list(each.changes)} for each in fleet.outcomes],
                "kubeconfig": fleet.kubeconfig,
                "kubectl": fleet.kubectl,
                "others": list(fleet.others),
            },
            diff=[
                {"before": each.before.as_diff(), "after": each.after.as_diff(), "before_header": each.name}
                for each in fleet.outcomes
                if each.changed
            ],
        )
