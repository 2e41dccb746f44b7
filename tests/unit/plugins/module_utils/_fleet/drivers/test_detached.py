# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Operations that outlive whoever began them, with real processes that are killed in every way."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import detached, detached_process
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    FAILED,
    IN_PROGRESS,
    NOT_BEGUN,
    SUCCEEDED,
    UNKNOWN,
    OperationProgress,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import intent_reference, machine
from ansible_collections.gitops.fleet.plugins.module_utils._local import processes

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")

TREE = Path(__file__).resolve().parents[6] / ".cache" / "collections"


def shell(script: str, **fields: t.Any) -> detached.Request:
    given = {"member": "east", "environ": {"PATH": os.environ["PATH"]}, "cwd": Path("/"), "files": {}, **fields}
    return detached.Request(argv=("/bin/sh", "-c", script), **given)


@pytest.fixture
def folder(tmp_path: Path) -> t.Iterator[Path]:
    """Of one operation; whatever a test leaves running in it is ended."""
    yield tmp_path / "operations" / "one"
    processes.stop(processes.processes_marked(str(tmp_path / "operations" / "one")), grace=1)


def until(folder: Path, holds: t.Callable[[OperationProgress], bool], reference: str = "") -> OperationProgress:
    end = time.monotonic() + 120
    while not holds(progress := detached.look(folder, reference)):
        assert time.monotonic() < end, progress
        time.sleep(0.01)
    return progress


def ended(folder: Path) -> OperationProgress:
    return until(folder, lambda progress: progress.state != IN_PROGRESS)


def says(word: str) -> t.Callable[[OperationProgress], bool]:
    return lambda progress: progress.state == IN_PROGRESS and word in progress.message


def pid_of(reference: str) -> int:
    assert reference.startswith(f"{machine()}:")
    return int(reference.removeprefix(f"{machine()}:").split(":")[0])


def test_it_runs_to_its_end_and_tells_its_last_lines(folder: Path):
    reference = detached.start(folder, shell("echo one; echo two >&2; read x; cat x", files={"x": "1"}))
    progress = ended(folder)
    assert (progress.state, progress.message.splitlines()[:2]) == (FAILED, ["ended with exit code 1", "one"])
    assert detached.look(folder, reference) == progress
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())} == {0}


def test_success_is_exit_code_0(folder: Path):
    detached.start(folder, shell("echo done"))
    assert ended(folder) == OperationProgress(state=SUCCEEDED, message="done")


def test_a_program_that_is_not_there_is_a_failure(folder: Path):
    request = detached.Request(
        member="east", argv=("no-such-program",), environ={"PATH": "/bin"}, cwd=Path("/"), files={}
    )
    detached.start(folder, request)
    progress = ended(folder)
    assert progress.state == FAILED and "no-such-program cannot be started: No such file" in progress.message


def test_what_is_private_is_gone_at_the_end(folder: Path):
    request = shell(
        f"cat {folder}/extra; test ! -e nothing", files={"extra": "s3cret", "kept": "1"}, private=("extra",)
    )
    detached.start(folder, request)
    assert ended(folder).message == "s3cret"
    assert not (folder / "extra").exists() and (folder / "kept").exists()


def no_space(*_arguments: t.Any, **_options: t.Any) -> t.NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("fails", ["the request", "the process", "Ctrl-C", "the claim"])
def test_what_is_private_does_not_outlive_a_start_that_failed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    write = detached.write_private

    def interrupted(*_arguments: t.Any, **_options: t.Any) -> t.NoReturn:
        assert (folder / "extra").exists()
        raise KeyboardInterrupt

    if fails == "the request":
        monkeypatch.setattr(
            detached, "write_private", lambda path, text: no_space() if path.suffix == ".json" else write(path, text)
        )
    elif fails == "the claim":
        monkeypatch.setattr(detached, "SCRIPT", folder / "no-such-script")
    else:
        monkeypatch.setattr(os, "posix_spawn", no_space if fails == "the process" else interrupted)
    with pytest.raises(KeyboardInterrupt if fails == "Ctrl-C" else FleetError):
        detached.start(folder, shell("true", files={"extra": "s3cret"}, private=("extra",)))
    assert not (folder / "extra").exists()


def test_what_is_private_does_not_stay_where_another_was_faster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was held up between its look and its first file, while another began the operation, and that ended."""
    request, told = shell("true", files={"extra": "s3cret"}, private=("extra",)), list[str]()
    refuse = detached._refuse_twice

    def held_up(*_given: t.Any) -> None:
        monkeypatch.setattr(detached, "_refuse_twice", refuse)
        told.append(detached.start(folder, request))
        assert ended(folder).state == SUCCEEDED

    monkeypatch.setattr(detached, "_refuse_twice", held_up)
    assert detached.start(folder, request) == told[0]
    assert not (folder / "extra").exists()


def test_what_is_private_does_not_outlive_a_restart_of_the_machine(folder: Path) -> None:
    """What the processes were to do at their end they did not come to."""
    detached.start(folder, shell("true", files={"kept": "1"}, private=("extra",)))
    ended(folder)
    (folder / "result.json").unlink()
    (folder / "extra").write_text("s3cret")
    record = json.loads((folder / "process.json").read_text())
    host, _boot, namespace = record["here"].split("/")
    places = {
        f"{host}/earlier/other": True,
        f"{host}-2/earlier/{namespace}": True,
        f"{host}/earlier/{namespace}": False,
    }
    for here, is_left in places.items():
        (folder / "process.json").write_text(json.dumps({**record, "here": here}))
        assert detached.look(folder).state == UNKNOWN
        assert (folder / "extra").exists() == is_left
    assert (folder / "kept").exists()


def test_only_the_given_environment_reaches_it(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JOB_ID", "7")
    detached.start(folder, shell("env"))
    names = {line.partition("=")[0] for line in ended(folder).message.splitlines()}
    # A shell adds some of its own, and Python says how it reads text.
    assert names - {"PWD", "SHLVL", "_", "OLDPWD", "LC_CTYPE"} == {"PATH", processes.MARK}


def test_repeated_it_is_started_once(folder: Path):
    request = shell("echo line >> count; sleep 0.2", cwd=folder.parent.parent)
    references: set[str] = set()
    threads = [
        threading.Thread(target=lambda: references.add(detached.start(folder, request)), daemon=True) for _n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert ended(folder).state == SUCCEEDED
    references.add(detached.start(folder, request))
    assert len(references) == 1
    assert (folder.parent.parent / "count").read_text() == "line\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_survives_its_beginner_and_its_group(folder: Path, number: signal.Signals):
    code = (
        "import signal, sys, time; from pathlib import Path\n"
        # Shells start what they put into the background with SIGINT ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.path.insert(0, {str(TREE)!r})\n"
        "from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import detached\n"
        f"script = 'echo up; until test -e {folder}/go; do sleep 0.05; done; echo end'\n"
        "request = detached.Request(member='east', argv=('/bin/sh', '-c', script),"
        " environ={'PATH': '/bin:/usr/bin'}, cwd=Path('/'), files={})\n"
        f"print(detached.start(Path({str(folder)!r}), request), flush=True)\n"
        "time.sleep(60)\n"
    )
    beginner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert beginner.stdout is not None
    with beginner.stdout:
        reference = beginner.stdout.readline().strip()
    os.killpg(beginner.pid, number)
    beginner.wait(300)
    assert detached.look(folder, reference).state == IN_PROGRESS
    (folder / "go").touch()
    assert ended(folder) == OperationProgress(state=SUCCEEDED, message="up\nend")


# Two of them, one in a session of its own, as Ansible's workers are.
TWO = "setsid sleep 987 & echo up; sleep 987"


@pytest.mark.parametrize("number, words", [(signal.SIGKILL, "was killed"), (signal.SIGTERM, "ended by SIGTERM")])
def test_the_end_of_its_process_is_the_end_of_all_and_recorded(folder: Path, number: signal.Signals, words: str):
    reference = detached.start(folder, shell(TWO))
    until(folder, says("up"))
    os.kill(pid_of(reference), number)
    _wait_for(folder / "result.json")
    assert processes.processes_marked(str(folder)) == () or _wait_for_none(folder)
    progress = detached.look(folder, reference)
    assert progress.state == FAILED and words in progress.message and "ended with it" in progress.message


def test_nothing_of_a_command_that_failed_goes_on_beside_the_next_attempt(folder: Path):
    """As of an ansible-playbook that the kernel killed for its memory: its tasks have sessions of their own."""
    detached.start(folder, shell("setsid sleep 987 & kill -9 $$"))
    assert ended(folder).state == FAILED
    _wait_for_none(folder)  # those that stand over it go on for a moment


def test_what_is_just_being_replaced_by_another_program_is_found(folder: Path, tmp_path: Path):
    """In between the kernel shows neither its environment nor its arguments. This one never does anything else."""
    again = tmp_path / "again.sh"
    again.write_text(f"exec /bin/sh {again}\n")
    one = processes.start(("/bin/sh", str(again)), tmp_path / "log", str(folder), {"PATH": os.environ["PATH"]})
    try:
        assert [detached_process._marked(str(folder)) for _look in range(300)] == [[one.pid]] * 300
    finally:
        os.kill(one.pid, signal.SIGKILL)
        processes.stop([one], grace=0)


def test_the_inner_process_may_be_killed_too(folder: Path):
    reference = detached.start(folder, shell(TWO))
    until(folder, says("up"))
    (inner,) = _children(pid_of(reference))
    os.kill(inner, signal.SIGKILL)
    _wait_for(folder / "result.json")
    _wait_for_none(folder)
    assert "was killed" in detached.look(folder, reference).message


def test_if_all_that_stands_over_it_is_killed_the_next_look_ends_what_is_left(folder: Path):
    reference = detached.start(folder, shell(TWO, files={"extra": "s3cret"}, private=("extra",)))
    until(folder, says("up"))
    os.killpg(pid_of(reference), signal.SIGKILL)
    progress = ended(folder)
    assert progress.state == FAILED
    assert "its process was killed" in progress.message and "left behind" in progress.message
    assert processes.processes_marked(str(folder)) == () and not (folder / "extra").exists()
    assert detached.start(folder, shell(TWO)) == reference, "an operation is never started twice"


@pytest.fixture
def unrecorded(folder: Path) -> t.Iterator[tuple[str, t.Callable[[], None]]]:
    """The reference of an operation that ended well while nothing could be written, and how to end that state."""
    reference = detached.start(folder, shell(f"echo up; until test -e {folder}/go; do sleep 0.05; done"))
    until(folder, says("up"))
    outer = pid_of(reference)
    limits = {pid: resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in (outer, *_children(outer))}
    for pid, (_soft, hard) in limits.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    (folder / "go").touch()
    end = time.monotonic() + 120
    while not list(folder.glob(".result.*")):
        assert time.monotonic() < end
        time.sleep(0.01)

    def lift() -> None:
        for pid, limit in limits.items():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)

    yield reference, lift


def test_on_a_full_disk_the_end_is_recorded_as_soon_as_there_is_space(
    folder: Path, unrecorded: tuple[str, t.Callable[[], None]]
) -> None:
    """What ended well did not fail because nobody could write that down."""
    reference, lift = unrecorded
    assert detached.look(folder, reference).state == IN_PROGRESS
    lift()
    assert ended(folder) == OperationProgress(state=SUCCEEDED, message="up")


def test_an_end_that_was_never_recorded_is_not_known(
    folder: Path, unrecorded: tuple[str, t.Callable[[], None]]
) -> None:
    os.killpg(pid_of(unrecorded[0]), signal.SIGKILL)
    assert ended(folder).state == UNKNOWN


def test_a_zombie_has_ended(folder: Path):
    """Its beginner lives on and never asks for its exit code."""
    reference = detached.start(folder, shell("echo up; read x"))
    end = time.monotonic() + 120
    while _state(pid_of(reference)) != "Z":
        assert time.monotonic() < end
        time.sleep(0.01)
    (folder / "result.json").unlink()
    assert detached.look(folder, reference).state == FAILED


def test_another_process_of_the_same_number_is_not_it(folder: Path):
    """A process is told by number and start, for numbers are used again."""
    detached.start(folder, shell("true"))
    ended(folder)
    (folder / "result.json").unlink()
    record = json.loads((folder / "process.json").read_text())
    record["pid"] = os.getpid()
    (folder / "process.json").write_text(json.dumps(record))
    progress = detached.look(folder)
    assert progress.state == FAILED and "killed" in progress.message


def test_only_the_very_folder_of_the_intent_knows_that_nothing_was_begun(folder: Path, tmp_path: Path):
    """F5: who would not see it does not say that it is not there."""
    intent = intent_reference(folder.parent)
    assert detached.look(folder, intent).state == NOT_BEGUN
    folder.mkdir()
    assert detached.look(folder, intent).state == NOT_BEGUN, "it was about to be begun"
    assert detached.look(folder, "").state == UNKNOWN
    elsewhere = detached.look(tmp_path / "other" / folder.name, intent)
    assert elsewhere.state == UNKNOWN and str(folder.parent) in elsewhere.message
    assert not (tmp_path / "other").exists(), "a look makes nothing"


@pytest.mark.parametrize("part", ["boot", "namespace"])
def test_another_boot_or_container_does_not_know_either(folder: Path, part: str, monkeypatch: pytest.MonkeyPatch):
    intent = intent_reference(folder.parent)
    host, boot, namespace = machine().removeprefix("process:").split("/")
    other = f"process:{host}/{'x' if part == 'boot' else boot}/{'x' if part == 'namespace' else namespace}"
    assert boot and namespace
    monkeypatch.setattr(
        detached, "intent_reference", lambda operations: intent_reference(operations).replace(machine(), other)
    )
    assert detached.look(folder, intent).state == UNKNOWN


@pytest.mark.parametrize("gone", ["the operation", "all operations", "everything"])
def test_what_was_begun_is_not_begun_again_when_its_folder_was_deleted(folder: Path, gone: str):
    intent = intent_reference(folder.parent)
    detached.start(folder, shell("true"))
    ended(folder)
    if gone == "everything":
        shutil.rmtree(folder.parent)
    for each in folder.parent.glob("[!.]*"):
        shutil.rmtree(each)
    progress = detached.look(folder, intent)
    assert progress.state == UNKNOWN and "may have been begun" in progress.message
    if gone != "everything":
        with pytest.raises(FleetError) as refused:
            detached.start(folder, shell("true"))
        assert refused.value.code == "begun-before" and not folder.exists()


def test_the_folder_of_another_user_says_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch):
    intent = intent_reference(folder.parent)

    def refuse(*_arguments: t.Any, **_options: t.Any) -> t.NoReturn:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    progress = detached.look(folder, intent)
    assert progress.state == UNKNOWN and "Permission denied" in progress.message


def test_nothing_is_begun_beside_another_operation_on_the_member(folder: Path):
    """Whatever the records say: the status of a run can be lost, or written by others."""
    first, other = folder.parent / "run-1.east.1", folder.parent / "run-1.far.east.1"
    detached.start(other, shell("sleep 60", member="far.east"))
    detached.start(first, shell("sleep 60"))
    with pytest.raises(FleetError) as refused:
        detached.start(folder.parent / "next-2.east.1", shell("true"))
    assert refused.value.code == "operation-in-progress" and "run-1.east.1" in refused.value.message
    for each in (first, other):
        processes.stop(processes.processes_marked(str(each)), grace=1)
    detached.look(first)
    detached.start(folder.parent / "next-2.east.1", shell("true"))
    assert ended(folder.parent / "next-2.east.1").state == SUCCEEDED


def test_of_many_at_once_one_gives_the_folder_its_number(folder: Path):
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(intent_reference(folder.parent))) for _each in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(set(found)) == 1 and [each.name for each in folder.parent.iterdir()] == [".id"]


def test_another_machine_may_tell_the_result_but_not_the_process(folder: Path):
    reference = detached.start(folder, shell("true"))
    ended(folder)
    record = json.loads((folder / "process.json").read_text())
    (folder / "process.json").write_text(json.dumps({**record, "here": "process:other/1"}))
    assert detached.look(folder).state == SUCCEEDED
    assert detached.look(folder, reference).state == UNKNOWN, "the reference is of this machine, the record is not"
    (folder / "result.json").unlink()
    progress = detached.look(folder)
    assert progress.state == UNKNOWN and "other" in progress.message


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path):
    (tmp_path / "operations").write_text("a file")
    with pytest.raises(FleetError) as refused:
        detached.start(tmp_path / "operations" / "one", shell("true"))
    assert refused.value.code == "unwritable-folder"


def test_a_folder_that_others_may_write_to_is_refused(folder: Path):
    """What is to be run would be theirs to say."""
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with pytest.raises(FleetError) as caught:
        detached.start(folder, shell("true", files={"vars.json": "{}"}))
    assert caught.value.code == "unsafe-folder" and list(folder.iterdir()) == []


def test_who_looks_while_it_is_removed_sees_no_failure(folder: Path, monkeypatch: pytest.MonkeyPatch):
    detached.start(folder, shell("true"))
    ended(folder)
    _wait_for_none(folder)
    read = detached._read

    def removed_after(path: Path) -> t.Any:
        found = read(path)
        if path.name == "process.json":
            folder.rename(folder.with_name("elsewhere"))
        return found

    monkeypatch.setattr(detached, "_read", removed_after)
    assert detached.look(folder, intent_reference(folder.parent)).state == UNKNOWN


@pytest.mark.parametrize("name", ["process.json", "result.json"])
@pytest.mark.parametrize("text", ["[]", "{}", "{", "[" * 100_000, '{"pid": "1", "rc": "x"}'])
def test_a_folder_that_somebody_wrote_into_is_no_end(folder: Path, name: str, text: str):
    detached.start(folder, shell("true"))
    ended(folder)
    (folder / name).write_text(text)
    try:
        assert detached.look(folder).state == UNKNOWN
    except FleetError as error:
        assert error.code == "operation-unreadable"


def test_words_that_no_program_can_be_given_are_a_failure_that_is_told(folder: Path):
    detached.start(
        folder, detached.Request(member="east", argv=("/bin/echo", "a\0b"), environ={}, cwd=Path("/"), files={})
    )
    progress = ended(folder)
    assert progress.state == FAILED and "/bin/echo cannot be started: Invalid argument" in progress.message


def test_long_names_of_operations_stay_apart(tmp_path: Path):
    one, two = (detached.folder_of(tmp_path, "x" * 250 + end) for end in "ab")
    assert one != two and len(one.name) < 255
    assert detached.folder_of(tmp_path, "run-1.east.1").name == "run-1.east.1"


def _wait_for(path: Path) -> None:
    end = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < end, f"no {path.name}"
        time.sleep(0.01)


def _wait_for_none(folder: Path) -> bool:
    """Until none is left, also of those that are ending and show their mark no more."""
    end = time.monotonic() + 120
    there = detached._process_of(folder)
    while processes.processes_marked(str(folder)) or (there is not None and processes.is_running(there.id)):
        assert time.monotonic() < end, "processes are left"
        time.sleep(0.01)
    return True


def _state(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("name", ["request.json", "process.json", "result.json"])
def test_nothing_is_begun_beside_an_operation_that_cannot_be_read(folder: Path, name: str):
    first, other = folder.parent / "run-1.east.1", folder.parent / "next-2.east.1"
    detached.start(first, shell("sleep 60"))
    (first / name).write_text("{")
    with pytest.raises(FleetError) as refused:
        detached.start(other, shell("true"))
    assert refused.value.code == "operation-unreadable" and name in refused.value.message
    assert refused.value.where == "east" and "delete the folder" in refused.value.hint
    processes.stop(processes.processes_marked(str(first)), grace=1)
    shutil.rmtree(first)
    detached.start(other, shell("true"))
    assert ended(other).state == SUCCEEDED


def test_an_operation_whose_end_is_recorded_holds_up_nothing(folder: Path):
    first, other = folder.parent / "run-1.east.1", folder.parent / "next-2.east.1"
    detached.start(first, shell("true"))
    ended(first)
    (first / "process.json").write_text("{")
    detached.start(other, shell("true"))
    assert ended(other).state == SUCCEEDED
