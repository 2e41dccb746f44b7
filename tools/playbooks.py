# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make playbooks`: writes docs/playbooks.md, every playbook with its variables, from the playbooks and their verbs.

A variable means what the option of the verb means that it is given to; what the playbook does with others it says in
``OWN``.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import OURS_TO_LIST, known_variables, names_in

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "playbooks.md"
PLAYBOOKS = ROOT / "playbooks"
VERB = "gitops.fleet."
# What only a run that is made or carried on needs.
CONDUCTING = {
    *("src", "definition", "strict", "digest", "force", "drivers", "operations", "events", "time_limit", "max_idle"),
    *("allow_self_approval", "verified_approvals", "approval_expires", "interval", "settle", "lost_after", "threads"),
    *("timeout", "restart"),
}
# What only an apply that may wait for its members needs, and what moves placements between clusters.
ROLLING = {"time_limit", "max_idle", "readiness", "wait"}
MOVING = {"evacuate", "readmit", "empty_first"}
# Options that are no variables, by playbook: what it fixes itself, and what belongs to another playbook or to a task.
FIXED = {
    "apply": {"state", "definition", "to", "wait", *MOVING},
    "evacuate": {"state", "definition", "to", "render"},
    "rollout": {"state", "definition", "to", "render", *MOVING},
    "rollback": {"state", "definition", "allow_older", "render", "wait", *MOVING},
    "plan": {"reason", "state", "definition", "to", "validate", "removal_timeout", "workers", *ROLLING},
    "drift": {
        *("state", "definition", "digest", "approved_plan", "facts", "prune_kinds", "max_removals", "validate"),
        "reason",
        *("max_object_removals", "allow_empty", "allow_no_objects", "allow_older", "removal_timeout"),
        *("write_plan", "write_markdown", "to", "render", *ROLLING, *MOVING),
        *("nodes_file", "max_replaced_nodes"),
    },
    "budgets": {"definition"},
    "rotate": {"definition", "only_waiting"},
    "when": {"definition"},
    "maintenance": {"definition"},
    "nodes": {"definition"},
    "facts": {"return_snapshot"},
    "join": {"state", "forget_unreachable", "max_removals", "placed", "prune_kinds", "removal_timeout"},
    "approve": {"name"},
    "update": {"state", "definition", "force", "targets", "reason"},
    "stop": {*CONDUCTING, "targets", "reason"},
    "skip": CONDUCTING,
    "retry": {*(CONDUCTING - {"digest"}), "targets", "reason"},
    "forecast": {"forecast", "waiting", "definition"},
    "preflight": {
        *("targets", "reason"),
        *(CONDUCTING - {"src", "strict", "drivers", "operations", "threads", "timeout"}),
    },
    "catalogue": {"state", "definition"},
    "tick": {
        *("definition", "names", "digest", "force", "targets", "reason", "restart", "dest", "pods"),
        *("prices", "record", "workers"),
        *("return_snapshot", "facts", "approved_plan", "prune_kinds", "max_removals", "max_object_removals"),
        *("allow_empty", "allow_no_objects", "allow_older", "unreachable", "max_facts_age", "validate"),
        *("removal_timeout", "readiness", "fail_on", "render", "write_plan", "write_markdown", "to", "wait", *MOVING),
        *("nodes_file", "max_replaced_nodes"),
        *("forecast", "calendar", "days", "write_calendar", "state", "src", "strict", "result_file"),
        *("waiting", "snapshot", "again"),
    },
    "leave": {
        *("kubeconfig", "context_pattern", "labels", "taints"),
        *("group", "provider", "location", "driver", "maintenance"),
    },
    "end": {
        *("src", "definition", "resources", "facts", "strict", "digest", "approved_plan", "max_object_removals"),
        *("allow_no_objects", "max_facts_age", "allow_older", "validate", "fail_on", "to", "render", *ROLLING, *MOVING),
    },
    "explain": {"definition", "what_if", "snapshots"},
    "what_if": {"definition", "explain", "snapshots"},
    "status": {
        *("forecast", "calendar", "days", "write_calendar", "definition", "src", "explain", "facts", "what_if"),
        *("result_file", "waiting", "strict", "write_markdown"),
    },
    "environment_up": {"state"},
    "environment_down": {"state", "allow_delete"},
    "local_up": {"state", "fleet"},
    "local_down": {"state", "fleet"},
}
# Variables that mean something else than the option that they are given to, if to any, by playbook.
LOCAL_FLEET = {
    "members": "how many members the local fleet has; they are `member-1`, `member-2` and so on",
    "names": "names of the members instead, separated by commas, or as a list; for regions and node types of your own "
    "take the role `local_fleet`",
    "nodes": "how many simulated nodes each member has",
    "version": "version of Kubernetes of hub and members",
}
OWN = {
    "end": {"names": "names of the placements that end"},
    "rollback": {
        "placements": "files and folders with the overrides that the placement is held with",
        "placement": "name of the placement that is rolled back, or several names",
        "resources": "Git checkout of the resources, of which Secrets are read again",
    },
    "evict": {"evictions": "files and folders with evictions and with budgets of placements"},
    "history": {"before": "until when, in the same forms as `since`"},
    "explain": {"clusters": "names of the clusters that are asked about; all without it"},
    "when": {
        "clusters": "names of the clusters, separated by commas, or as a list; all without it",
        "snapshot": "file with nodes, of whose pools the budgets are told too",
    },
    "what_if": {
        "gone": "clusters that have left the fleet, in what is supposed",
        "new": "clusters that have joined it: `name`, `like` another one, and what `change` may have",
        "change": "what is other about clusters, by name: `labels`, `properties`, `taints`, `prices`",
        "number_of_clusters": "the number of clusters that the placement, of type PickN, asks for",
    },
    "skip": {"targets": "what is left out, as `Member:c-1`, `Group:eu`, `Stage:prod` or `AfterStageWait:canary`"},
    "join": {
        "members": "the clusters, each with its `name`, how it is reached (`kubeconfig`, `context`, `secret_ref` or "
        "`in_cluster`), and what is other about it than about all: `labels`, `taints`, `group`, `provider`, "
        "`location`, `driver`, `maintenance`",
        "pattern": "contexts of `kubeconfig` to join, as a shell pattern; `*` if there are no `members`",
    },
    "leave": {"members": "names of the members that leave"},
    "local_up": LOCAL_FLEET,
    "local_down": {"clusters": "names of further clusters to remove, whoever made them"},
    "rbac": {
        "subject": "name of the user, group or service account that gets the rights",
        "subject_kind": "User, Group or ServiceAccount",
        "subject_namespace": "namespace of a ServiceAccount",
    },
    "tick": {
        "read_members": "whether members are read first; what is recorded of them counts otherwise",
        "result_file": "file to write `fleet` to, what all came to, `tasks`, what each verb returned, and "
        "`unfinished`, placements that are not through, as JSON",
        "updates": "files and folders with profiles, and with the strategies, catalogues and windows that they go by",
    },
    "update": {"restart": "start a run again that is Stopped or Failed, and conduct it"},
}
# What the page says behind the name of a play, which has to fit a line of the terminal.
MORE = {
    "explain": "All that is against a cluster is told, not the first reason alone.",
    "forecast": "No member is asked.",
    "hub": "These are the definitions (CRDs), policies against false names, and rights.",
    "join": "The pattern is over the contexts of a kubeconfig.",
    "preflight": "It is for the time before the run is approved; members are only read.",
    "rbac": "They are manifests for kubectl.",
    "releases": "Nobody is asked.",
    "report": "No member is asked.",
    "retry": "Nothing is started.",
    "rollout": "It stays for ten minutes after each wave until its clusters are available.",
    "tick": "It is for a schedule.",
    "when": "No cluster is asked.",
}
# What the page says below the variables of a playbook, whose commands tests/integration/playbooks/test_joining.py runs.
BELOW = {
    "join": """
What is given here holds for all members that say nothing else of themselves. Joined again, a member keeps what is
not given; labels and taints are exactly those that are given. Which drivers there are: [drivers.md](drivers.md).

```sh
# All contexts that match: how they are upgraded, and whose catalogue (ReleaseCatalog) has their versions
ansible-playbook gitops.fleet.join -e kubeconfig=$HOME/.kube/config -e 'pattern=prod-*' -e driver=command \\
  -e provider=aks
# Some of them: where they run, the FleetMaintenance with their windows, labels
ansible-playbook gitops.fleet.join -e kubeconfig=$HOME/.kube/config -e 'pattern=prod-eu-*' -e location=westeurope \\
  -e maintenance=nights -e '{"labels": {"env": "prod"}}'
# One that is a member already: a taint; an update group, and a driver of its own
ansible-playbook gitops.fleet.join \\
  -e '{"members": [{"name": "prod-eu-1", "taints": [{"key": "spot", "effect": "NoSchedule"}]}]}'
ansible-playbook gitops.fleet.join -e '{"members": [{"name": "prod-eu-1", "group": "first", "driver": "local"}]}'
# No taints any more
ansible-playbook gitops.fleet.join -e '{"members": [{"name": "prod-eu-1", "taints": []}]}'
```
""",
}
HEAD = """# Playbooks and their variables

Made by `make playbooks`. Each is started as `ansible-playbook gitops.fleet.<name> -e <variable>=<value>`; lists
and maps as JSON (`-e '{"placements": ["a", "b"]}'`) or from a file (`-e @variables.yml`). A variable that the
playbook does not know is refused, with the name that was probably meant. Variables of your own, which stand in
values that you give, are named in `extra_variables`; those of Ansible, AWX and Tower are let pass. Where a
playbook of ours is part of a larger one, only names are refused that are nearly one of its own.

Variables from a file. From a checkout, with the collection installed, and without any cluster:

```sh
mkdir -p build
cat > build/shop.yml <<'END'
facts: playbooks/files/demo/offline/facts.json
placements: [playbooks/files/demo/offline/shop.yml]
resources: [playbooks/files/demo/resources]
END
ansible-playbook gitops.fleet.plan -e @build/shop.yml
```

Tables are as wide as the terminal, and 80 columns without one. They go to standard output where the callback
writes text for people (`default`, `minimal`, `oneline`), else to standard error, so that the output of a callback
like `json` stays what it is; the results hold the same lines as `table` or `tree`. A play whose output nobody reads
any more (`| head`) ends.

A play that fails ends with why, and what to type next where that is known. The whole result of a task that failed is
printed with `-v`, and by callbacks that write for machines; `result_file` has it in any case, and so has who calls the
verbs in plays of their own. No inventory is needed: `ANSIBLE_LOCALHOST_WARNING=false` and
`ANSIBLE_INVENTORY_UNPARSED_WARNING=false` keep Ansible from warning that there is none.

How far a run, a rollout, a build or a download is, shows the callback `gitops.fleet.fleet_progress` where it is named:
`ANSIBLE_CALLBACKS_ENABLED=gitops.fleet.fleet_progress`. On a terminal that is a bar below what is said, with the time
left at the pace so far; in a pipeline a line now and then that begins with `progress:`. Staged runs of placements and
rotations tell no numbers, and so have no bar.
"""

Document = dict[str, t.Any]


def page() -> str:
    sections = [section(file) for file in sorted(PLAYBOOKS.glob("*.yml")) if file.stem != "demo"]
    return "\n".join([HEAD, *sections])


def section(file: Path) -> str:
    told = play(file)
    about = " ".join(filter(None, (f"{told['name']}.", MORE.get(file.stem))))
    lines = [f"## {file.stem}", "", about, "", "| variable | default | meaning |", "| --- | --- | --- |"]
    defaults, own = told.get("vars") or {}, OWN.get(file.stem, {})
    for variable, (_option, documented) in variables(file).items():
        default = defaults.get(variable, "" if variable in own else documented.get("default", ""))
        meaning = own.get(variable) or _meaning(documented)
        lines.append(f"| `{variable}` | {f'`{_plain(default)}`' if default not in ('', None) else ''} | {meaning} |")
    return "\n".join([*lines, BELOW.get(file.stem, "")])


def variables(file: Path) -> dict[str, tuple[str, Document]]:
    """What a playbook takes: each variable with the option that it is given to, and the documentation of that, in which
    other options stand as the variables that they are given; nothing where it is given to none."""
    given: dict[str, tuple[str, Document]] = {}
    taken = known_variables(str(file))
    for verb, arguments in calls(play(file)):
        found = {option: [name for name in _names(value) if name in taken] for option, value in arguments.items()}
        named = {option: names[0] for option, names in found.items() if names and isinstance(arguments[option], str)}
        for option, names in found.items():
            for name in names:
                given.setdefault(name, (option, _in_variables(options(verb)[option], named)))
    return {name: given.get(name, ("", {})) for name in sorted(taken - {OURS_TO_LIST})}


def _in_variables(option: Document, named: t.Mapping[str, str]) -> Document:
    """The documentation of the option, with the variables in place of the options of the same verb."""
    text = option.get("description") or ""
    paragraphs = text if isinstance(text, list) else [text]
    told = [
        re.sub(r"O\(([^)]*)\)", lambda found: f"O({named.get(found[1], found[1])})", str(each)) for each in paragraphs
    ]
    return {**option, "description": told}


def _names(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, (dict, list)):
            yield from _names(each)
        elif isinstance(each, str):
            yield from (name.name for name in names_in(each))


def play(file: Path) -> Document:
    (found,) = yaml.safe_load(file.read_text(encoding="utf-8"))
    return dict(found)


def calls(play: Document) -> t.Iterator[tuple[str, Document]]:
    def tasks(rows: t.Iterable[Document]) -> t.Iterator[tuple[str, Document]]:
        for row in rows:
            for key, value in row.items():
                if key.startswith(VERB):
                    yield key.removeprefix(VERB), value or {}
                elif key in ("block", "always", "rescue"):
                    yield from tasks(value)

    yield from tasks(play.get("tasks") or ())


@functools.cache
def documented() -> dict[str, Document]:
    """Every module as ansible-doc tells it, fragments included."""
    names = [VERB + file.stem for file in (ROOT / "plugins" / "modules").glob("*.py") if file.stem != "__init__"]
    command = [sys.executable, "-m", "ansible", "doc", "--type", "module", "--json", *sorted(names)]
    environ = os.environ | {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache" / "collections")}
    found = subprocess.run(command, env=environ, capture_output=True, check=True).stdout
    return {name.removeprefix(VERB): each["doc"] for name, each in json.loads(found).items()}


def options(verb: str) -> dict[str, Document]:
    return dict(documented()[verb].get("options") or {})


def _meaning(option: Document) -> str:
    """The first paragraph of its description; of a choice every one that is needed to tell of all values."""
    text = option.get("description") or ""
    paragraphs = [str(each).strip() for each in (text if isinstance(text, list) else [text])]
    choices = {f"V({each})" for each in option.get("choices") or ()}
    told = paragraphs[:1]
    for each in paragraphs[1:]:
        if any(choice in each for choice in choices if choice not in " ".join(told)):
            told.append(each)
    return re.sub(r"[A-Z]+\(([^)]*)\)", r"`\1`", " ".join(told)).replace("|", "\\|")


def _plain(value: t.Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
