# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a stack is: all that is wrong at once; nothing of the caller's Pulumi; a project that is not written into."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.info import StackInfo, info, output
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.place import environment, place, workspace
from ansible_collections.gitops.fleet.plugins.module_utils._local.pulumi_engine import Engine


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  small:a: 1\n  small:b: [x]\n")
    return {"project_dir": str(tmp_path), "stack": "dev", "backend_url": f"file://{tmp_path}/state"}


def test_everything_that_is_wrong_is_told_at_once(tmp_path):
    wrong = {"project_dir": str(tmp_path), "stack": "", "backend_url": "here", "passphrase_file": "/none"}
    with pytest.raises(FleetError) as found:
        place(wrong)
    codes = {each.code for each in found.value.problems}
    assert codes == {"no-project", "bad-stack", "bad-backend", "no-passphrase"}
    assert all(each.hint for each in found.value.problems), "a stranger is told the way on"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"project_dir": ""}, "bad-path"),
        ({"backend_url": "file://"}, "bad-backend"),
        ({"backend_url": "file:"}, "bad-backend"),
        ({"backend_url": "file://?metadata=skip"}, "bad-backend"),
        ({"project_dir": "~nosuchuser/fleet"}, "bad-path"),
        ({"home": "~nosuchuser/.pulumi"}, "bad-path"),
        ({"python": "a\0b"}, "bad-path"),
        ({"passphrase_file": "a\ud800"}, "bad-path"),
        ({"project_dir": "~\0"}, "bad-path"),
        ({"home": "~a\0b/.pulumi"}, "bad-path"),
        ({"python": "~\ud800"}, "bad-path"),
        ({"passphrase_file": "~\0/key"}, "bad-path"),
        ({"project_dir": "a" * 300}, "no-project"),
        ({"passphrase_file": "a" * 300}, "no-passphrase"),
        ({"backend_url": "file://~\0/state"}, "bad-backend"),
        ({"backend_url": "file://~\ud800/state"}, "bad-backend"),
        ({"backend_url": "file:///srv/state?a=\0"}, "bad-backend"),
        ({"backend_url": "file:///srv/%00"}, "bad-backend"),
        ({"backend_url": "s3://bu\0cket"}, "bad-backend"),
        ({"backend_url": "s3://bucket/\ud800"}, "bad-backend"),
        ({"backend_url": "file://~nosuchuser/state"}, "bad-backend"),
        ({"backend_url": "http://["}, "bad-backend"),
        ({"stack": "de\0v"}, "bad-stack"),
        ({"stack": "dev prod"}, "bad-stack"),
        ({"stack": "org/dev"}, "bad-stack"),
    ],
)
def test_what_names_no_place_is_refused_with_its_option(options, given, code):
    with pytest.raises(FleetError) as found:
        place({**options, **given})
    assert [(each.code, each.where) for each in found.value.problems] == [(code, next(iter(given)))]


@pytest.mark.parametrize(
    "url",
    ["postgres://ann:s3cr[et@db/x", "postgres://ann:s3cr]et@db/x", "//ann:s3cret@db/x", "postgres://ann:s3cret\0@db/x"],
)
def test_a_backend_that_is_refused_is_not_shown_for_a_password_may_stand_in_it(options, url):
    with pytest.raises(FleetError) as found:
        place({**options, "backend_url": url})
    assert found.value.where == "backend_url" and "s3cr" not in str(found.value)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("file:///srv/state", "file:///srv/state?metadata=skip"),
        ("file:///srv/state?no_tmp_dir=true", "file:///srv/state?no_tmp_dir=true&metadata=skip"),
        ("file:///srv/state?metadata=", "file:///srv/state?metadata=&metadata=skip"),
        ("s3://bucket?region=eu", "s3://bucket?region=eu"),
    ],
)
def test_a_state_in_files_is_written_without_files_that_could_be_cut(options, given, used):
    assert place({**options, "backend_url": given}).backend == used


@pytest.mark.parametrize("url", ["file://state", "file://./state", "file://~/state"])
def test_a_relative_state_is_where_the_play_runs_and_not_in_a_folder_that_goes(options, url, tmp_path, monkeypatch):
    """The engine runs in a folder of its own; a state that it wrote there would be gone with it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    found = place({**options, "backend_url": url})
    assert (found.backend, found.folder) == (f"file://{tmp_path}/state?metadata=skip", tmp_path / "state")


@pytest.mark.parametrize(
    ("path", "folder", "used"),
    [
        ("/srv/my%20state", "/srv/my state", "/srv/my%20state"),
        ("/srv/my state", "/srv/my state", "/srv/my%20state"),
        ("/srv/a%3Fb%23c%25d", "/srv/a?b#c%d", "/srv/a%3Fb%23c%25d"),
        ("/srv/100%", "/srv/100%", "/srv/100%25"),
        ("/srv/zürich", "/srv/zürich", "/srv/z%C3%BCrich"),
        ("/srv/%ff", "/srv/\udcff", "/srv/%FF"),
    ],
)
def test_the_path_of_the_url_is_decoded_as_the_engine_does(options, path, folder, used):
    """gocloud.dev/blob/fileblob opens the folder that the parsed URL's path names."""
    found = place({**options, "backend_url": f"file://{path}"})
    assert (found.folder, found.backend) == (Path(folder), f"file://{used}?metadata=skip")


def test_a_relative_state_is_found_whatever_the_folder_above_it_is_called(options, tmp_path, monkeypatch):
    odd = tmp_path / "100%25 a?b#c"
    odd.mkdir()
    monkeypatch.chdir(odd)
    found = place({**options, "backend_url": "file://my%20state"})
    assert found.folder == odd / "my state" and found.backend.endswith("/100%2525%20a%3Fb%23c/my%20state?metadata=skip")


def test_nothing_of_the_callers_pulumi_is_used_but_its_login(options):
    shell = {"PULUMI_BACKEND_URL": "s3://theirs", "PULUMI_HOME": "/theirs", "PULUMI_ACCESS_TOKEN": "t", "LANG": "C"}
    found = environment(place(options), Engine(Path("/engine"), "3.259.0"), shell)
    assert found["PULUMI_BACKEND_URL"].startswith("file:") and found["PULUMI_HOME"] != "/theirs"
    assert (found["PULUMI_ACCESS_TOKEN"], found["LANG"]) == ("t", "C")
    assert "PULUMI_CONFIG_PASSPHRASE_FILE" not in found and "/engine" in found["PATH"].split(":")


def test_settings_lie_over_those_of_the_project_which_stays_as_it_is(options, tmp_path):
    before = sorted(each.name for each in tmp_path.iterdir())
    with workspace(place(options), {"b": {"c": [1]}, "other:d": True}) as folder:
        document = json.loads((folder / "Pulumi.dev.yaml").read_text())
    assert document == {"config": {"small:a": 1, "small:b": {"c": [1]}, "other:d": True}}
    assert sorted(each.name for each in tmp_path.iterdir()) == before and not folder.exists()


def test_settings_lie_over_those_of_the_project_that_have_no_namespace(options, tmp_path):
    """The engine gives these the project's namespace, too: of two of one name it would take either."""
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  a: 1\n  small:b: [x]\n  other:a: 3\n")
    with workspace(place(options), {"a": 2, "small:c": 4}) as folder:
        document = json.loads((folder / "Pulumi.dev.yaml").read_text())
    assert document == {"config": {"small:a": 2, "small:b": ["x"], "other:a": 3, "small:c": 4}}


def test_settings_that_the_project_keeps_in_a_folder_of_their_own_are_honoured(options, tmp_path):
    """The engine writes secret ones where it finds the folder named: beside the others, in the folder that goes."""
    (tmp_path / "Pulumi.yaml").write_text("name: small\nruntime: python\nstackConfigDir: settings\n")
    (tmp_path / "settings").mkdir()
    (tmp_path / "Pulumi.dev.yaml").rename(tmp_path / "settings" / "Pulumi.dev.yaml")
    with workspace(place(options), {"b": 2}) as folder:
        assert json.loads((folder / "Pulumi.dev.yaml").read_text()) == {"config": {"small:a": 1, "small:b": 2}}
        assert json.loads((folder / "Pulumi.yaml").read_text()) == {"name": "small", "runtime": "python"}
    (tmp_path / "Pulumi.yaml").write_text("name: small\nruntime: python\nstackConfigDir: [settings]\n")
    with pytest.raises(FleetError) as found, workspace(place(options), {}):
        pass
    assert found.value.code == "bad-config"


@pytest.mark.parametrize(
    ("own", "over"),
    [
        ("[1]", {}),
        ("{}", {"day": date(2026, 1, 1)}),
        ("{}", {"share": float("nan")}),
        ("{}", {"most": [float("-inf")]}),
    ],
)
def test_settings_that_the_engine_cannot_be_given_are_refused(options, tmp_path, own, over):
    (tmp_path / "Pulumi.dev.yaml").write_text(f"config: {own}\n")
    with pytest.raises(FleetError) as found, workspace(place(options), over):
        pass
    assert found.value.code == "bad-config" and "Pulumi.dev.yaml" in found.value.where


def test_who_only_reads_compiles_no_engine(options, tmp_path, monkeypatch):
    """An inventory that takes minutes and says nothing helps nobody."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "state").mkdir()
    for call in (info, lambda *given: output(given[0], "fleet_inventory", *given[1:])):
        with pytest.raises(FleetError) as found:
            call(options, {"PATH": ""}, lambda _text: None)
        assert found.value.code in ("no-engine", "go-missing") and "make binaries" in str(found.value)


def test_a_state_that_is_not_there_is_told_and_not_made_by_who_only_reads(options, tmp_path):
    assert info(options, {"PATH": ""}, lambda _text: None) == StackInfo(exists=False)
    with pytest.raises(FleetError, match="no-such-stack"):
        output(options, "fleet_inventory", {"PATH": ""}, lambda _text: None)
    assert not (tmp_path / "state").exists()


def test_a_project_file_that_is_no_yaml_is_refused_with_its_line(options, tmp_path):
    (tmp_path / "Pulumi.dev.yaml").write_text("config: [\n")
    with pytest.raises(FleetError) as found, workspace(place(options), {}):
        pass
    assert "Pulumi.dev.yaml" in str(found.value)
