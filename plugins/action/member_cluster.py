# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from dataclasses import replace

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.members.join import MemberSpec, join, specs_of_contexts
from ..module_utils._fleet.members.leave import LeaveRequest, leave
from ..module_utils._fleet.placements.checks import removal_limit
from ..module_utils._fleet.session import Session
from ..module_utils._report.commands.next_steps import after_join
from ..module_utils._report.members_text import joined_text, left_text, strangers_text, without_driver_text
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb

FIELDS = ("group", "provider", "location", "driver", "maintenance")


class ActionModule(Verb):
    """Members that join, change and leave, as they are listed or by ``context_pattern``; what they and the task both
    say (labels, taints, group)."""

    LIBRARIES = SERVERS

    RULES: t.ClassVar[dict[str, t.Any]] = {
        "required_one_of": [["members", "context_pattern"]],
        "required_by": {"context_pattern": ["kubeconfig"]},
    }

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Lets clusters join or change, or leave, as ``state`` says; in check mode nothing is written. FleetError as of
        ``_joined`` and ``_left``."""
        with run.open(options) as session:
            if options["state"] == "absent":
                return _left(options, session, run.check_mode)
            return _joined(options, session, run)


def _joined(options: dict[str, t.Any], session: Session, run: Run) -> Answer:
    """The answer after the wished members have joined or were changed, or in check mode only would be, with those that
    have no driver. FleetError as of ``join`` and ``specs_of_contexts``."""
    wishes = _wishes(options)
    if options["context_pattern"]:
        session.say(f"meant by the pattern, {len(wishes)} in all: {', '.join(each.name for each in wishes)}")
    outcome = join(session, wishes, write=not run.check_mode)
    lines = joined_text(outcome.joined, outcome.changed, outcome.unchanged, outcome.versions or {})
    for line in (*lines, *without_driver_text(outcome.without_driver)):
        session.say(line)
    answer = Answer(
        changed=bool(outcome.joined or outcome.changed),
        data={
            "joined": list(outcome.joined),
            "updated": list(outcome.changed),
            "unchanged": list(outcome.unchanged),
            "versions": dict(outcome.versions or {}),
            "without_driver": list(outcome.without_driver),
        },
        diff=outcome.diff,
    )
    others = len(outcome.without_driver) < len(wishes)
    steps = [] if run.check_mode else after_join(run.given, outcome.without_driver, others)
    return run.with_next(answer, steps, fails=False)


def _wishes(options: dict[str, t.Any]) -> tuple[MemberSpec, ...]:
    """The members that are listed, then one for each context that matches the pattern, which is as the task says.
    FleetError as of ``specs_of_contexts``."""
    listed = [_wish(each, options) for each in options["members"] or ()]
    if options["context_pattern"] is not None:
        found = specs_of_contexts(options["kubeconfig"], options["context_pattern"])
        listed += [
            replace(
                each,
                labels=options["labels"],
                taints=options["taints"],
                fields={name: options[name] for name in FIELDS},
            )
            for each in found
        ]
    return tuple(listed)


def _wish(each: dict[str, t.Any], options: dict[str, t.Any]) -> MemberSpec:
    """The wish for one listed member; labels, taints and fields that it lacks (None), and with a ``context`` the
    kubeconfig, are those of the task. No connection (None) where it names none."""
    kubeconfig = each["kubeconfig"] or (options["kubeconfig"] if each["context"] else None)
    secret = each["secret_ref"]
    given = {
        "kubeconfig": kubeconfig,
        "context": each["context"],
        "secretRef": {key: value for key, value in secret.items() if value} if secret else None,
        "inCluster": each["in_cluster"] or None,
    }
    return MemberSpec(
        name=each["name"],
        connection=given if any(given.values()) else None,
        **{name: _own_value(each, options, name) for name in ("labels", "taints")},
        fields={name: _own_value(each, options, name) for name in FIELDS},
        rebuilt=each["rebuilt"],
    )


def _own_value(each: dict[str, t.Any], options: dict[str, t.Any], name: str) -> t.Any:
    """What the member says of ``name``, else what the task says; None where neither does."""
    return each[name] if each[name] is not None else options[name]


def _left(options: dict[str, t.Any], session: Session, check: bool) -> Answer:
    """The answer after the named members have left, or with ``check`` only would; ``partial``, with their problems,
    where some are not done; changed also where objects were written on members that stay. FleetError ``no-members``
    without names, or with an empty one, and as of ``leave`` and ``removal_limit``."""
    names = [each["name"] for each in options["members"] or ()]
    if not names or not all(each.strip() for each in names):
        raise FleetError("no-members", "state absent needs the names of the members", "members")
    wish = LeaveRequest(
        names=tuple(names),
        remove=options["placed"] == "remove",
        forget_unreachable=options["forget_unreachable"],
        max_removals=removal_limit(options["max_removals"], "max_removals"),
        prune_kinds=tuple(options["prune_kinds"]),
        patience=options["removal_timeout"],
    )
    outcome = leave(session, wish, write=not check)
    told = left_text(
        outcome.left, outcome.outcomes, outcome.unreachable, outcome.doubles, outcome.others, written=not check
    )
    for line in (*told, *strangers_text(outcome.strangers)):
        session.say(line)
    data = {
        "left": list(outcome.left),
        "unasked": list(outcome.unreachable),
        "doubles": list(outcome.doubles),
        "others": {name: list(placements) for name, placements in outcome.others.items()},
        "members": {
            name: {placement: each.as_dict() for placement, each in by_placement.items()}
            for name, by_placement in outcome.outcomes.items()
        },
        "problems": [each.as_dict() for each in outcome.failed],
    }
    written = any(each.wrote or each.doubtful for by in outcome.outcomes.values() for each in by.values())
    changed = bool(outcome.left) or written
    if outcome.failed:
        message = "\n".join(str(each) for each in outcome.failed)
        return Answer(changed=changed, outcome="partial", code=outcome.failed[0].code, message=message, data=data)
    return Answer(changed=changed, data=data)
