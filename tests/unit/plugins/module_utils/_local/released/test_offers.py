# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Release files from a server on loopback: good, cut off, tampered with, missing; and the build that comes after."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import tarfile
import typing as t
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import binaries
from ansible_collections.gitops.fleet.plugins.module_utils._local.provisioning import provisioning_line
from ansible_collections.gitops.fleet.plugins.module_utils._local.recipes import Recipe, kubernetes_recipe, recipe
from ansible_collections.gitops.fleet.plugins.module_utils._local.released import downloads, offers, publishers
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._local.released.release_server import (
    ReleaseServer,
    serving,
)

ETCD, KWOK, KUBERNETES = recipe("etcd"), recipe("kwok"), kubernetes_recipe("1.35")
# Long enough to be sent in more than one piece.
PROGRAM = b"#!/bin/sh\necho 3.6.14\n" + b"# nothing\n" * 100_000
GO = """#!/bin/sh
case "$1" in
  env) echo '{"GOVERSION": "go1.26.8", "GOOS": "linux"}' ;;
  build) while [ "$1" != -o ]; do shift; done; echo built > "$2" ;;
esac
"""


@dataclass
class Place:
    """A cache, a server that offers everything, and what was said."""

    cache: Path
    server: ReleaseServer
    said: list[str] = field(default_factory=list)

    def provide(self, one: Recipe) -> Path:
        return binaries.provide(one, self.cache, self.said.append)

    @property
    def got(self) -> list[str]:
        """Places that were asked for with GET, in order."""
        return [place for method, place, _range in self.server.asked if method == "GET"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[Place]:
    """On a machine of the usual kind, which has no Go."""
    for name in ("HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(offers.platform, "machine", lambda: "x86_64")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with serving() as server:
        for one in (ETCD, KWOK, KUBERNETES):
            offer_all(one, server)
        monkeypatch.setenv("FLEET_RELEASES", server.base)
        (tmp_path / "module.zip").write_bytes(module(KWOK))
        pinned = publishers.module_sum(tmp_path / "module.zip")
        monkeypatch.setattr(offers, "pinned_module_sum", lambda one: pinned)
        yield Place(tmp_path / "cache", server)


@pytest.fixture
def go(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin" / "go").write_text(GO)
    (tmp_path / "bin" / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")


def offer_all(one: Recipe, server: ReleaseServer) -> None:
    """As its publisher has it."""
    for file in publishers.release_files(one, "x86_64"):
        content = (
            module(one)
            if file.is_module
            else archive(file.binaries)
            if any(file.binaries.values())
            else program(file.name)
        )
        server.files[file.place] = content
        sum_ = hashlib.sha256(content).hexdigest()
        if file.sums.endswith(".sha256"):
            server.files[file.sums] = sum_.encode()
        elif file.sums.endswith("SHA256SUMS"):
            server.files[file.sums] = f"{'0' * 64}  other.tar.gz\n{sum_}  {file.name}\n".encode()
        elif file.sums:
            assets = [{"name": "kwokctl-linux-amd64", "digest": None}, {"name": file.name, "digest": f"sha256:{sum_}"}]
            server.files[file.sums] = json.dumps({"tag_name": "v0.8.0", "assets": assets}).encode()


def program(name: str) -> bytes:
    return PROGRAM + f"# {name}\n".encode()


def archive(binaries_: t.Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as opened:
        for inside in ("etcd-v3.6.14-linux-amd64/README.md", *binaries_.values()):
            row = tarfile.TarInfo(inside)
            row.size = len(PROGRAM)
            opened.addfile(row, io.BytesIO(PROGRAM))
    return made.getvalue()


def module(one: Recipe) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as opened:
        for source in one.shipped.values():
            for name in ("stage.yaml", "kustomization.yaml", "deeper/other.yaml"):
                opened.writestr(f"{one.module}@v{one.version}/{source}/{name}", "kind: Stage\n")
    return made.getvalue()


def place_of(one: Recipe, number: int = 0) -> str:
    return publishers.release_files(one, "x86_64")[number].place


def test_release_files_need_no_go_and_are_downloaded_once(place: Place) -> None:
    for one in (KUBERNETES, ETCD, KWOK):
        folder = place.provide(one)
        assert all((folder / name).read_bytes().startswith(PROGRAM) for name in one.names)
        assert all((folder / name).stat().st_mode & 0o777 == 0o755 for name in one.names)
        asked = len(place.server.asked)
        assert place.provide(one) == folder and len(place.server.asked) == asked
    assert place.said[0] == "downloading kube-apiserver of 1 MB"
    assert place.said[-1].startswith("downloaded kwok 0.8.0 in ")
    assert not any((place.cache / ".downloads").iterdir())


def test_lines_tell_how_far_it_is(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "PAUSE", 0.0)
    place.provide(KUBERNETES)
    assert "downloading kube-apiserver: 100 % of 1 MB, about 0 s left" in place.said


def test_stage_files_of_kwok_are_those_of_its_pinned_module(place: Place) -> None:
    place.provide(KWOK)
    found = binaries.get_binaries(["kwok"], "1.36", cache=place.cache)["kwok"]
    assert [path.name for path in found.stages] == ["stage.yaml"] * 3
    assert {path.read_text() for path in found.stages} == {"kind: Stage\n"}


def test_the_manifest_tells_where_each_came_from(place: Place) -> None:
    folder = place.provide(ETCD)
    (row,) = json.loads((folder / "manifest.json").read_text())["binaries"]
    assert row["source"] == place_of(ETCD) and row["sha256"] == hashlib.sha256(PROGRAM).hexdigest()
    (folder / "etcd").write_bytes(b"other")
    assert (place.provide(ETCD) / "etcd").read_bytes() == PROGRAM
    assert f"{folder} is downloaded again: " in " ".join(place.said)


def test_what_was_built_is_used_before_anything_is_asked_for(
    place: Place, go: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as off:
        off.setenv("FLEET_RELEASES", "off")
        built = place.provide(ETCD)
    assert place.provide(ETCD) == built and place.server.asked == []


def test_a_download_that_is_cut_off_goes_on_where_it_ended(place: Place) -> None:
    wanted = place_of(KUBERNETES)
    place.server.cut[wanted] = [300_000, 600_000]
    folder = place.provide(KUBERNETES)
    assert (folder / "kube-apiserver").read_bytes() == program("kube-apiserver")
    assert [row[2] for row in place.server.asked if row[1] == wanted] == ["", "bytes=300000-", "bytes=600000-"]


def test_a_later_start_goes_on_where_an_earlier_one_ended(place: Place) -> None:
    wanted = place_of(KUBERNETES)
    # Nothing more comes the second time: that is the end of the first start.
    place.server.cut[wanted] = [300_000, 300_000]
    with pytest.raises(FleetError, match="go command"):
        place.provide(KUBERNETES)
    assert "ended kube-apiserver early: after 300 kB of 1 MB" in place.said[-1]
    (place.cache / ".no-releases").unlink()
    place.server.asked.clear()
    assert (place.provide(KUBERNETES) / "kube-apiserver").read_bytes() == program("kube-apiserver")
    assert [row[2] for row in place.server.asked if row[1] == wanted] == ["bytes=300000-"]
    assert "downloading kube-apiserver: 300 kB of 1 MB are here" in place.said


def test_a_server_that_knows_no_ranges_is_asked_from_the_beginning(place: Place) -> None:
    wanted = place_of(KUBERNETES)
    place.server.ranges = False
    place.server.cut[wanted] = [300_000]
    assert (place.provide(KUBERNETES) / "kube-apiserver").read_bytes() == program("kube-apiserver")
    assert [row[2] for row in place.server.asked if row[1] == wanted] == ["", "bytes=300000-"]


def test_what_an_earlier_start_left_and_does_not_fit_is_thrown_away(place: Place) -> None:
    content = program("kube-apiserver")
    part = place.cache / ".downloads" / f"{hashlib.sha256(content).hexdigest()}.part"
    for rest in (b"of something else", b"x" * (len(content) + 5)):
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(rest)
        assert (place.provide(KUBERNETES) / "kube-apiserver").read_bytes() == program("kube-apiserver")
        (place.provide(KUBERNETES) / "manifest.json").unlink()


TAMPERED: dict[str, t.Callable[[Place], None]] = {
    "kube-apiserver": lambda place: place.server.files.update({place_of(KUBERNETES): PROGRAM[:-1] + b"!"}),
    "etcd-v3.6.14-linux-amd64.tar.gz": lambda place: place.server.files.update({place_of(ETCD): archive({"a": "b"})}),
    "v0.8.0.zip": lambda place: place.server.files.update({place_of(KWOK, 1): PROGRAM}),
}


@pytest.mark.parametrize(("name", "one"), list(zip(TAMPERED, (KUBERNETES, ETCD, KWOK), strict=True)))
def test_what_was_tampered_with_is_never_used(place: Place, name: str, one: Recipe) -> None:
    TAMPERED[name](place)
    with pytest.raises(FleetError) as refused:
        place.provide(one)
    assert refused.value.code == "go-missing"
    assert place.said[-1].endswith(f"{name} from {place.server.base[7:]} is not the file that was published")
    assert not list(place.cache.glob(f"{one.product}-*"))


def test_what_was_tampered_with_is_built_instead(place: Place, go: None) -> None:
    TAMPERED["etcd-v3.6.14-linux-amd64.tar.gz"](place)
    assert (place.provide(ETCD) / "etcd").read_text() == "built\n"
    assert "is not the file that was published" in place.said[-3] and place.said[-2] == "building etcd 3.6.14"


@pytest.mark.parametrize("number", [0, 1])
def test_what_is_missing_is_built(place: Place, go: None, number: int) -> None:
    """The file, or its sum."""
    file = publishers.release_files(ETCD, "x86_64")[0]
    del place.server.files[(file.place, file.sums)[number]]
    assert (place.provide(ETCD) / "etcd").read_text() == "built\n"
    assert place.said[-3] == f"no release files of etcd 3.6.14: {place.server.base[7:]} answers 404"
    assert offers.why_not_asked(t.cast("offers.ReleaseOffer", offers.offer(ETCD, place.cache, {}))) == ""


@pytest.mark.parametrize("status", [403, 429, 503])
def test_what_one_publisher_refuses_keeps_nobody_from_asking_others(place: Place, go: None, status: int) -> None:
    """As GitHub does for a while where it was asked too often: Kubernetes is on another server."""
    file = publishers.release_files(ETCD, "x86_64")[0]
    place.server.refused[file.sums] = status
    assert (place.provide(ETCD) / "etcd").read_text() == "built\n"
    assert f"answers {status}" in place.said[-3]
    assert (place.provide(KUBERNETES) / "kube-apiserver").read_bytes() == program("kube-apiserver")


def test_a_sum_that_is_none_is_refused(place: Place) -> None:
    file = publishers.release_files(ETCD, "x86_64")[0]
    for text in ("", "<html>", f"{'0' * 64}  other", '{"assets": 5}', "[" * 100_000):
        with pytest.raises(FleetError) as refused:
            publishers.told_sum(file, text)
        assert refused.value.code == "release-damaged"


def test_who_is_out_of_reach_is_told_of_once_and_left_alone(
    place: Place, go: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        monkeypatch.setenv("FLEET_RELEASES", f"http://127.0.0.1:{port}")
        place.provide(ETCD)
    assert place.said[0] == f"no release files of etcd 3.6.14: 127.0.0.1:{port} cannot be reached: Connection refused"
    place.said.clear()
    place.provide(KUBERNETES)
    assert [text for text in place.said if "release" in text] == []
    monkeypatch.setenv("FLEET_RELEASES", place.server.base)
    assert place.provide(KWOK).name.startswith("kwok-0.8.0-release-")


def test_without_go_and_without_a_server_it_is_said_why(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_RELEASES", "http://127.0.0.1:9")
    for _again in range(2):
        with pytest.raises(FleetError) as refused:
            place.provide(ETCD)
        assert refused.value.code == "go-missing"
        assert "(127.0.0.1:9 cannot be reached: Connection refused)" in refused.value.message


def test_a_server_that_says_nothing_is_not_waited_for(place: Place, go: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "CONNECT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("FLEET_RELEASES", f"http://127.0.0.1:{silent.getsockname()[1]}")
        place.provide(ETCD)
    assert "did not answer within 0.2 s" in place.said[0] or "timed out" in place.said[0]


def test_proxies_of_the_environment_are_asked(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens at the address itself."""
    monkeypatch.setenv("FLEET_RELEASES", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", place.server.base)
    assert (place.provide(ETCD) / "etcd").read_bytes() == PROGRAM
    assert place.got == [publishers.release_files(ETCD, "x86_64")[0].sums, place_of(ETCD)]


@pytest.mark.parametrize(
    "setting",
    [
        "http://mirror.example",
        "ftp://mirror.example",
        "mirror.example",
        "https://me:secret@mirror.example",
        "https://[x",
        "https://mirror.example:abc",
    ],
)
def test_an_address_that_is_not_safe_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv("FLEET_RELEASES", setting)
    with pytest.raises(FleetError) as refused:
        place.provide(ETCD)
    assert refused.value.code == "bad-option" and "secret" not in str(refused.value)


def test_what_began_encrypted_is_not_passed_on_to_an_unencrypted_address() -> None:
    begun = urllib.request.Request("https://dl.k8s.io/release")
    with pytest.raises(urllib.error.URLError, match="unencrypted"):
        downloads._Redirects().redirect_request(begun, None, 302, "", {}, "http://cdn.example/release")
    passed = downloads._Redirects().redirect_request(begun, None, 302, "", {}, "https://cdn.example/release")
    assert passed.full_url == "https://cdn.example/release"


def test_nothing_is_asked_for_in_check_mode_nor_where_there_is_nothing(
    place: Place, go: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    binaries.get_binaries(["etcd", "kube-apiserver"], "1.36", cache=place.cache, build=False)
    for machine in ("riscv64", ""):
        monkeypatch.setattr(offers.platform, "machine", lambda machine=machine: machine)
        place.provide(ETCD)
    assert publishers.release_files(recipe("karpenter"), "x86_64") == ()
    assert place.server.asked == []


def test_the_way_is_told_before(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert provisioning_line([KUBERNETES], place.cache) == (
        "The first time: 3 MB of the publishers' release files, about 1 s at 50 Mbit/s."
    )
    assert place.got == []
    place.provide(KUBERNETES)
    assert provisioning_line([KUBERNETES], place.cache) == "The binaries are in the cache."
    assert provisioning_line([recipe("karpenter")], place.cache) == (
        "The first time: a build of karpenter 1.14.1 from Go modules, about 3 minutes on two cores; "
        "the go command is not on the PATH, so install Go first."
    )
    monkeypatch.setenv("FLEET_RELEASES", "off")
    assert "(FLEET_RELEASES is off)" in provisioning_line([ETCD], place.cache)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("FLEET_RELEASES", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        told = provisioning_line([ETCD, KUBERNETES], place.cache)
        assert (
            told == provisioning_line([ETCD, KUBERNETES], place.cache)
            and "cannot be reached: Connection refused" in told
        )


def test_an_archive_with_damaged_or_encrypted_data_is_damaged(tmp_path: Path) -> None:
    damaged, encrypted = io.BytesIO(), io.BytesIO(module(KWOK))
    with zipfile.ZipFile(damaged, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("a", "kind: Stage\n" * 1000)
    data = bytearray(damaged.getvalue())
    data[31:60] = bytes(29)  # behind the header of the file, which has a name of one letter
    marked = bytearray(encrypted.getvalue())
    first = marked.index(b"PK\x01\x02")  # the directory says whether a file is encrypted
    marked[first + 8] |= 1
    for content in (data, marked):
        archive = tmp_path / "module.zip"
        archive.write_bytes(content)
        with pytest.raises(FleetError) as refused:
            publishers.module_sum(archive)
        assert refused.value.code == "release-damaged"


def test_one_file_does_not_pass_for_several(tmp_path: Path) -> None:
    """Its name could hold the line of another, which the archive then lacks."""
    archive, line = tmp_path / "module.zip", f"{hashlib.sha256(b'x').hexdigest()}  m/b"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr(f"m/a\n{line}", b"x")
    with pytest.raises(FleetError, match="has a line break") as refused:
        publishers.module_sum(archive)
    assert refused.value.code == "release-damaged"
