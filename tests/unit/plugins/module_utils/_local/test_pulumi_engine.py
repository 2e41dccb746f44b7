# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The engine of Pulumi: the user's comes first, if it is new enough; ours is one folder with all that it needs."""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import binaries
from ansible_collections.gitops.fleet.plugins.module_utils._local.pulumi_engine import Engine, get_engine
from ansible_collections.gitops.fleet.plugins.module_utils._local.recipes import recipe

HOST = "pulumi-language-python"
SCRIPTS = ("pulumi-language-python-exec", "pulumi-resource-pulumi-python")
GO = """#!/bin/sh
echo "$@" >> "$GO_CALLS"
case "$1" in
  env) echo '{"GOVERSION": "go1.26.8", "GOOS": "linux"}' ;;
  list) echo '{"Dir": "'"$GO_MODULE"'"}' ;;
  build) while [ "$1" != -o ]; do shift; done; echo binary > "$2"; chmod +x "$2" ;;
esac
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def installed(folder: Path, told: str, host: bool = True) -> dict[str, str]:
    """A user's Pulumi, and the environment that has it on its PATH."""
    program(folder / "pulumi", f"#!/bin/sh\necho '{told}'\n")
    if host:
        program(folder / HOST, "#!/bin/sh\n")
    return {"PATH": f"{folder}:/usr/bin:/bin"}


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[[], list[str]]:
    """A compiler that makes empty programs of everything, and what it was asked."""
    calls = tmp_path / "calls"
    program(tmp_path / "go" / "go", GO)
    for name, folder in zip(SCRIPTS, ("cmd", "dist"), strict=True):
        program(tmp_path / "sdk" / "python" / folder / name, f"#!/bin/sh\necho {name}\n").chmod(0o444)
    monkeypatch.setenv("PATH", f"{tmp_path / 'go'}:/usr/bin:/bin")
    monkeypatch.setenv("GO_CALLS", str(calls))
    monkeypatch.setenv("GO_MODULE", str(tmp_path / "sdk"))
    return lambda: calls.read_text().splitlines() if calls.exists() else []


@pytest.mark.parametrize("told", ["v3.259.0", "3.259.0", "v3.300.1-alpha.5"])
def test_the_users_engine_comes_first(told, tmp_path, go):
    found = get_engine(installed(tmp_path / "bin", told), tmp_path / "cache")
    assert found == Engine(tmp_path / "bin", told.removeprefix("v").partition("-")[0])
    assert found.pulumi == tmp_path / "bin" / "pulumi"
    assert go() == []


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("v3.258.9", "it is version 3.258.9, and 3.259.0 or a newer 3.x is needed"),
        ("v4.0.0", "it is version 4.0.0"),
        ("", "it does not tell its version"),
        ("no such command", "it does not tell its version"),
        (f"v3.259.{'9' * 5000}", "it does not tell its version"),
    ],
)
def test_an_engine_that_does_not_fit_is_left_aside_and_said_so(told, why, tmp_path, go):
    said: list[str] = []
    found = get_engine(installed(tmp_path / "bin", told), tmp_path / "cache", said.append)
    assert found.folder.parent == tmp_path / "cache" and found.version == "3.259.0"
    assert said[0].startswith(f"{tmp_path / 'bin' / 'pulumi'} is not used: {why}")


def test_an_engine_that_cannot_run_python_is_left_aside(tmp_path, go):
    said: list[str] = []
    get_engine(installed(tmp_path / "bin", "v3.259.0", host=False), tmp_path / "cache", said.append)
    assert said[0].endswith(f"{HOST} is neither beside it nor on the PATH")


def test_a_linked_engine_finds_its_host_where_it_really_is(tmp_path, go):
    installed(tmp_path / "opt", "v3.259.0")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pulumi").symlink_to(tmp_path / "opt" / "pulumi")
    assert get_engine({"PATH": str(tmp_path / "bin")}, tmp_path / "cache").folder == tmp_path / "bin"


def test_our_build_is_one_folder_with_all_that_the_engine_looks_for_beside_itself(tmp_path, go):
    found = get_engine({"PATH": ""}, tmp_path / "cache")
    for name in ("pulumi", HOST, *SCRIPTS):
        assert os.access(found.folder / name, os.X_OK), name
    assert (found.folder / SCRIPTS[0]).read_text() == f"#!/bin/sh\necho {SCRIPTS[0]}\n"
    built = [call for call in go() if call.startswith("build")]
    assert len(built) == 2
    assert "-tags osusergo,grpcnotrace" in built[0] and "-tags" not in built[1]
    assert all("version.Version=v3.259.0" in call for call in built)
    assert get_engine({"PATH": ""}, tmp_path / "cache") == found
    assert len([call for call in go() if call.startswith("build")]) == 2


def test_the_bill_of_materials_tells_both_modules(tmp_path, go):
    manifest = json.loads((get_engine({"PATH": ""}, tmp_path / "cache").folder / "manifest.json").read_text())
    assert {row["name"]: row["version"] for row in manifest["binaries"]} == {"pulumi": "3.259.0", HOST: "3.75.0"}
    assert sorted(manifest["shipped"]) == sorted(SCRIPTS)


@pytest.mark.parametrize("name", ["pulumi", HOST, *SCRIPTS])
def test_a_changed_program_or_script_is_not_run(name, tmp_path, go):
    found = get_engine({"PATH": ""}, tmp_path / "cache")
    before = (found.folder / name).read_text()
    (found.folder / name).write_text("#!/bin/sh\nrm -rf /\n")
    said: list[str] = []
    assert get_engine({"PATH": ""}, tmp_path / "cache", said.append) == found
    assert f"{name} is not the file that was built" in said[0]
    assert (found.folder / name).read_text() == before


def test_where_nothing_may_be_built_the_way_out_is_named(tmp_path, go):
    with pytest.raises(FleetError) as refused:
        get_engine({"PATH": ""}, tmp_path / "cache", build=False)
    assert refused.value.code == "no-engine" and "make binaries" in refused.value.hint
    assert [call for call in go() if call.startswith("build")] == []


def test_the_engine_is_no_part_of_a_control_plane(tmp_path, go):
    """Whoever only starts local clusters does not wait for it."""
    binaries.get_binaries(
        ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"], "1.36", cache=tmp_path
    )
    assert not any("pulumi" in call for call in go())
    assert recipe("pulumi").product == "pulumi"
