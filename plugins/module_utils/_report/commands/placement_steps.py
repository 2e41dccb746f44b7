# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What to type next after placements were planned, looked at for drift, applied, readmitted or rolled back: carry out
just this plan, repair, go on, wait, give it to clusters by a staged run, go back."""

from __future__ import annotations

import typing as t

from ..._core.plan.going_on.ways_on import WaysOn
from ..._core.plan.looked import Looked
from .next_steps import FILES, MOST, NextStep, one_or_all, short_digest
from .playbook_command import Variables

# Options of placements that a plan, and an apply that goes on, are made with.
SOURCES = {"src": "placements", "resources": "resources"}
REPEATED = (
    *("names", "strict", "unreachable", "prune_kinds", "max_removals", "max_object_removals"),
    *("allow_empty", "allow_no_objects", "allow_older", "nodes_file", "max_replaced_nodes"),
)
# Options that a roll back which goes on is made with, beside its placement and the snapshot.
BACK_WITH = (
    *("resources", "strict", "unreachable", "prune_kinds", "max_removals", "max_object_removals"),
    *("allow_empty", "allow_no_objects", "nodes_file", "max_replaced_nodes"),
)
GOES_ON = {"waiting": "go on", "partial": "go on with what is not done"}
# Options of a look for drift that another one is made with.
LOOKED_WITH = ("names", "strict", "unreachable", "result_file")
NO_WAYS = WaysOn()
_A_RUN = {"runs": "FOLDER", "run": "NAME"}
OF_OTHERS = ("definition", "to")
# Options by which placements move from clusters, or may come back to them: of the playbook `evacuate`.
MOVES = ("evacuate", "readmit", "empty_first")


def after_placement(
    given: Variables,
    outcome: str,
    changed: bool,
    digest: str,
    looked: Looked | None = None,
    ways: WaysOn = NO_WAYS,
) -> list[NextStep]:
    """How placements go on that were planned, looked at, applied or rolled back with the ``given`` options, in a run
    that ended as ``outcome``. ``looked`` is what was seen where nothing was to be written, None after an apply;
    ``ways`` says what can be done after one. A plan with changes (``changed``) is carried out by the file that it was
    written to, else by the ``digest``.

    Where placements are not given by ``src`` alone, there is only the staged run that they wait for, what follows a
    readmission, and how one goes back. A roll back goes on, or has such a staged run; after ``absent`` there is
    nothing.
    """
    own = given.get("state", "present") in ("present", "planned")
    if given.get("state") == "rolled_back" and looked is None and outcome in ("waiting", "partial"):
        return [_rolls_back_on(given, outcome)]
    back = _back(given, ways) if own else []
    by_run = _by_run(given, ways) if looked is None and outcome == "done" else []
    if not own or not given.get("src") or any(given.get(name) for name in OF_OTHERS):
        readmitted = own and looked is None and outcome == "done" and bool(given.get("readmit"))
        return by_run + (_after_readmission() if readmitted else []) + back
    sources = {name: one_or_all(given[option]) for option, name in SOURCES.items() if given.get(option)}
    variables = sources | {name: one_or_all(given[name]) for name in REPEATED if name in given}
    writing = "rollout" if given.get("wait") else "apply"
    moves = {name: given[name] for name in MOVES if given.get(name)}
    if moves:
        writing = "evacuate"
        variables |= moves | ({"wait": True} if given.get("wait") else {})
    found: list[NextStep] = []
    if looked and looked.unseen and not moves:
        again = sources | {name: one_or_all(given[name]) for name in LOOKED_WITH if given.get(name)}
        found.append(NextStep(to="look again", playbook="drift", variables=again))
    if outcome == "planned" and changed:
        plan = given.get("write_plan")
        approval = {"approved_plan": plan} if plan else {"digest": short_digest(digest)}
        carries_out = "evacuate" if moves else "apply"
        found.append(NextStep(to="carry out just this", playbook=carries_out, variables={**variables, **approval}))
    elif looked and (outcome == "drifted" or (outcome == "partial" and looked.drifted)):
        found.append(NextStep(to=_repairs(looked), playbook=writing, variables=variables))
    elif looked is None and outcome in ("waiting", "partial"):
        found.append(NextStep(to=GOES_ON[outcome], playbook=writing, variables=variables))
    elif looked is None and outcome == "done":
        found += by_run + _late(given, variables, ways)
        found += _after_readmission() if given.get("readmit") else []
    return found + back


def after_unfinished(name: str, src: t.Sequence[str], *, deleting: bool, on_hub: bool) -> NextStep:
    """How a recorded placement goes on that was begun and is not through (playbook ``rollout``), or, if it is being
    deleted (``deleting``), comes to its end (``end``). ``src`` are the paths that its manifest came from; without any
    it is ``on_hub``, or people know where."""
    if deleting:
        return NextStep(to="end it", playbook="end", variables={"names": name})
    variables: Variables = {"names": name, **({"placements": one_or_all(list(src))} if src else {})}
    wanted = () if on_hub and not src else ("resources",) if src else ("placements", "resources")
    return NextStep(to="go on", playbook="rollout", variables=variables, blanks=dict.fromkeys(wanted, "FOLDER"))


def _back(given: Variables, ways: WaysOn) -> list[NextStep]:
    """The step that rolls back placements whose new version holds itself up, if there are any, and at most ``MOST``;
    with the checkouts only where Secrets are read from them."""
    if not ways.back or len(ways.back) > MOST:
        return []
    secrets = ways.with_secrets and given.get("resources")
    variables = {
        "placement": one_or_all(list(ways.back)),
        **({"resources": one_or_all(given["resources"])} if secrets else {}),
    }
    return [NextStep(to="go back", playbook="rollback", variables=variables)]


def _rolls_back_on(given: Variables, outcome: str) -> NextStep:
    """The step that does the same roll back again: it goes on, and never to a snapshot before. ``outcome`` is
    ``waiting`` or ``partial``."""
    variables = {"placement": one_or_all(given.get("names") or [])}
    if given.get("to") is not None:
        variables["to"] = given["to"]
    variables |= {name: one_or_all(given[name]) for name in BACK_WITH if given.get(name)}
    return NextStep(to=GOES_ON[outcome], playbook="rollback", variables=variables)


def _by_run(given: Variables, ways: WaysOn) -> list[NextStep]:
    """The staged runs that give clusters what was recorded for them, those of the first ``MOST`` placements, or words
    where none is known; none where none waits for one, or placements end."""
    if not ways.staged or given.get("state") == "absent":
        return []
    with_them = {name: one_or_all(given[name]) for name in ("resources", "prune_kinds") if given.get(name)}
    if not ways.runs:
        return [NextStep(to="give it to its clusters", playbook="staged_update", variables=with_them, blanks=_A_RUN)]
    sources = {"runs": one_or_all(given["src"])} if given.get("src") else {}
    alone = len(ways.runs) == 1
    found = []
    for each in ways.runs[:MOST]:
        to = "give it to its clusters" if alone else f"give {each.placement} to its clusters"
        made = {"definition": each.definition} if each.definition else {}
        variables = {"run": each.run, **made, **sources, **with_them}
        found.append(
            NextStep(to=f"{to}{', by a new run' if made else ''}", playbook="staged_update", variables=variables)
        )
    return found


def _late(given: Variables, variables: Variables, ways: WaysOn) -> list[NextStep]:
    """The rollout that waits for what an apply did not wait for; none where nothing is late, it has waited, or clusters
    are emptied."""
    if not ways.late or given.get("wait") or any(given.get(name) for name in MOVES):
        return []
    return [NextStep(to="wait until it is available", playbook="rollout", variables=variables)]


def _after_readmission() -> list[NextStep]:
    """What brings placements back to clusters that were readmitted: those of this run are where they are to be by now,
    others may come with their own next apply. Then what tells who holds what."""
    return [
        NextStep(to="see which other placements would come back", playbook="plan", variables={}, blanks=FILES),
        NextStep(to="see what each cluster holds", playbook="status", variables={}),
    ]


def _repairs(looked: Looked) -> str:
    """What an apply after a look is for, in words."""
    if not looked.drifted:
        return "write what is due"
    return f"repair what drifted{', and write what is due' if looked.due else ''} (it writes)"
