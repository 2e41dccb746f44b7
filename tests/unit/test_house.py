# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Every Python file names its licence, and plugins the one of their folder; the metadata lists what is there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GPL, BSD = "SPDX-License-Identifier: GPL-3.0-or-later", "SPDX-License-Identifier: BSD-2-Clause"
FOLDERS = ("plugins", "tests", "tools", "roles", "playbooks", "extensions", "pulumi")
FILES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py") if file.stat().st_size)


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_names_its_licence(file):
    head = "\n".join(file.read_text(encoding="utf-8").splitlines()[:6])
    assert "Copyright: Contributors to the gitops.fleet project" in head
    parts = file.relative_to(ROOT).parts
    if parts[0] == "plugins":
        assert (BSD if parts[1] == "module_utils" else GPL) in head
    else:
        assert BSD in head or GPL in head


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_annotations_are_not_evaluated(file):
    """Python 3.11 to 3.14 then read the same annotations in the same way."""
    text = file.read_text(encoding="utf-8")
    assert "from __future__ import annotations" in text or not any(
        word in text for word in ("import ", "def ", "class ")
    )


def test_the_action_group_lists_all_modules():
    """One ``module_defaults`` entry then serves a whole play."""
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    modules = sorted(file.stem for file in (ROOT / "plugins" / "modules").glob("*.py") if file.stem != "__init__")
    assert runtime["action_groups"]["fleet"] == modules


def test_minimum_versions_are_stated_d3_96():
    """Those of the interpreter, of Ansible and of the libraries; none of them is a vendor's tool."""
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    assert runtime["requires_ansible"] == ">=2.19.0"
    assert "Python 3.11 or newer" in (ROOT / "README.md").read_text(encoding="utf-8")
    lines = (ROOT / "requirements.in").read_text(encoding="utf-8").splitlines()
    libraries = {line.split("==")[0] for line in lines if line and not line.startswith("#")}
    assert libraries >= {"ansible-core", "kubernetes", "jsonpatch"}
    assert not any(name.startswith(("azure", "boto", "google")) for name in libraries)


ACTING = sorted((ROOT / "plugins/module_utils").rglob("*.py"))


@pytest.mark.parametrize("file", ACTING, ids=lambda file: str(file.relative_to(ROOT / "plugins/module_utils")))
def test_public_functions_say_what_they_give(file):
    """Methods are documented once, where the contract stands that they fulfil."""
    functions = [each for each in ast.parse(file.read_text("utf-8")).body if isinstance(each, ast.FunctionDef)]
    assert [each.name for each in functions if each.name[0] != "_" and not ast.get_docstring(each)] == []


# Where files are read or written that nobody but us or the kernel makes.
PLAIN_FILES = {
    "_fleet/updates/approval_policy.py",  # of the collection
    "_fleet/leases.py",  # below /proc
    "_fleet/stacks/command.py",  # in a folder just made, where the engine writes
    "_fleet/environments/hub.py",  # of the collection
    "_fleet/drivers/detached.py",  # in a folder of operations, which nobody else may write to
    "_fleet/drivers/detached_process.py",  # there, and below /proc
    "_fleet/drivers/host.py",  # there, and below /proc
    "_kube/files.py",
    "_kube/login/plugin_process.py",  # below /proc
    "_report/overview/page.py",  # of the collection
    "_store/sqlite_file.py",  # .gitignore in a folder just made
}
ROOMS = ("_store", "_kube", "_fleet", "_report")


OPENED = [file for room in ROOMS for file in sorted((ROOT / "plugins" / "module_utils" / room).rglob("*.py"))]


def below_rooms(file: Path) -> str:
    return str(file.relative_to(ROOT / "plugins" / "module_utils"))


@pytest.mark.parametrize(
    "file",
    [file for file in FILES if file.is_relative_to(ROOT / "plugins")],
    ids=lambda file: str(file.relative_to(ROOT)),
)
def test_no_name_is_one_that_ansible_test_sanity_refuses(file):
    """Its pylint says so too, two minutes later."""
    names = {node.id for node in ast.walk(parsed(file)) if isinstance(node, ast.Name)}
    assert not names & {"_", "bar", "baz", "foo", "tata", "toto", "tutu"}


@pytest.mark.parametrize("file", OPENED, ids=below_rooms)
def test_files_of_users_are_opened_in_one_place(file):
    """Elsewhere a pipe would be waited for, a device read without end, or a link followed."""
    methods = ("read_text", "read_bytes", "write_text", "write_bytes", "mkstemp", "NamedTemporaryFile")
    calls = [node.func for node in ast.walk(parsed(file)) if isinstance(node, ast.Call)]
    found = [each for each in calls if ast.unparse(each) in ("open", "os.open") or getattr(each, "attr", "") in methods]
    assert bool(found) == (below_rooms(file) in PLAIN_FILES), [ast.unparse(each) for each in found]


def test_every_module_has_its_action_plugin_and_the_other_way_round():
    modules = {file.stem for file in (ROOT / "plugins" / "modules").glob("*.py")}
    actions = {file.stem for file in (ROOT / "plugins" / "action").glob("*.py")}
    assert modules - {"__init__"} == actions - {"__init__"}


VERSIONS = ("v1", "v1beta1")


@pytest.mark.parametrize("file", sorted((ROOT / "plugins" / "module_utils").rglob("*.py")), ids=below_rooms)
def test_groups_of_the_api_are_written_in_one_place(file):
    """Docstrings and messages may name them; ``gitops.fleet`` alone is also the value of a label."""
    upstream = [f"{part}.kubernetes-fleet.io" for part in ("placement", "cluster")]
    whole = {"gitops.fleet/v1alpha1", *upstream, *(f"{each}/{version}" for each in upstream for version in VERSIONS)}
    constants = {node.value for node in ast.walk(parsed(file)) if isinstance(node, ast.Constant)}
    found = {each for each in constants if isinstance(each, str) and each in whole}
    assert not found or below_rooms(file) == "_core/objects/api_groups.py", found


PLUGINS = sorted((ROOT / "plugins").rglob("*.py"))


@pytest.mark.parametrize("file", PLUGINS, ids=lambda file: str(file.relative_to(ROOT)))
def test_field_paths_are_followed_in_one_place(file):
    """Elsewhere a key that holds dots is taken for a way, or a list for a mapping."""
    loops = [node for node in ast.walk(parsed(file)) if isinstance(node, (ast.For, ast.comprehension))]
    found = [ast.unparse(each.iter) for each in loops if ast.unparse(each.iter).endswith(".split('.')")]
    assert not found or file.name == "field_path.py", found


# Where a date is written, not an instant.
DATES = {"plugin_utils/_pure.py"}


@pytest.mark.parametrize("file", PLUGINS, ids=lambda file: str(file.relative_to(ROOT)))
def test_instants_are_written_in_one_place(file):
    """Elsewhere one of another zone is written as if it were UTC, or in a form that a server refuses."""
    nodes = list(ast.walk(parsed(file)))
    calls = [
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr in ("strftime", "isoformat")
    ]
    forms = [ast.unparse(node) for node in nodes if isinstance(node, ast.FormattedValue) and "%H" in ast.unparse(node)]
    owner = file.name == "instants.py" or any(str(file).endswith(each) for each in DATES)
    assert bool(calls or forms) == owner, (calls, forms)


def test_no_class_has_the_name_of_another():
    """A name that is met in an editor, a traceback or a search then means one thing."""
    found: dict[str, set[Path]] = {}
    for file in (ROOT / "plugins" / "module_utils").rglob("*.py"):
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).add(file)
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


# What a reader could not guess, and what is called otherwise since. A reason why something does not go on is a Problem
# (wrong input) or a Blocker (state of the world); a Finding is neither: it goes on, and is told.
GIVEN_UP = frozenset(
    [
        "Place",
        "Sight",
        "Works",
        "Orders",
        "Asked",
        "Sourced",
        "Wish",
        "Farewell",
        "Permits",
        "Desk",
        "Lane",
        "Turn",
        "Scene",
        "World",
        "Ways",
        "Known",
        "Written",
        "Remark",
        "Obstacle",
        "Refusal",
        "Refused",
        "Wait",
        "Held",
        "_bear",
        "_hear",
        "_last_words",
    ]
)


def test_names_that_were_given_up_stay_so():
    named = (ast.ClassDef, ast.FunctionDef)
    found = {
        f"{below_rooms(file)}: {node.name}"
        for file in (ROOT / "plugins" / "module_utils").rglob("*.py")
        for node in ast.walk(parsed(file))
        if isinstance(node, named) and node.name in GIVEN_UP
    }
    assert found == set()
