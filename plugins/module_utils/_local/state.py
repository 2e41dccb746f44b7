# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is remembered of a local cluster, ``state.json`` in its folder: read, checked (``state-unreadable``,
``state-too-new``), saved; the folder of all clusters, names, ports given, locks, removal and what a cut-off one left;
which cluster has a port or a CA."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
import stat
import typing as t
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from .._core.errors import FleetError
from .._core.values.kube_version import KubeVersion
from .._kube.files import user_folder
from .components import PROFILES
from .locks import locked, make_folder, unwritable_as_error
from .ports import PortRange, free_port, free_slot
from .private import why_others_may_write, write_private
from .processes import ProcessId

SCHEMA = 1
# A DNS label, as member clusters are named; nodes put a pool and a number behind it.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")
_REMOVED = ".removed."


@dataclass(frozen=True)
class Process:
    """A component that was started, the version of its binary, and how many bytes of others its log held then."""

    id: ProcessId
    version: str
    log_before: int = 0


@dataclass(frozen=True)
class State:
    """``version`` is that of the API server (``1.36.3``), empty until one has been started on the data; ``ports`` are
    by the users of ``ports.USERS``, and more of single components. ``wanted`` is ``running`` or ``stopped``; ``ready``
    whether the cluster has ever been complete."""

    name: str
    ports: t.Mapping[str, int]
    profile: str = "api"
    version: str = ""
    wanted: str = "running"
    ready: bool = False
    processes: t.Mapping[str, Process] = field(default_factory=dict)

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"


def default_root(environ: t.Mapping[str, str] | None = None) -> Path:
    """The folder of all local clusters, below ``XDG_STATE_HOME`` or ``~/.local/state``. Nothing is made."""
    environ = os.environ if environ is None else environ
    return Path(user_folder("XDG_STATE_HOME", "~/.local/state", environ), "gitops-fleet", "local")


def resolved_root(root: Path | None) -> Path:
    """The given folder of all local clusters, ``~`` replaced, or that of ``default_root``; it need not be there.
    Absolute and without links, for marks of processes have it: one root has one name. FleetError ``bad-path`` for what
    no folder can be called, a ``~`` of nobody, and links in a circle."""
    given = root or default_root()
    try:
        found = given.expanduser().resolve()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            found.stat()  # From Python 3.13 on a circle is resolved to itself.
    except (ValueError, RuntimeError, OSError):
        raise FleetError("bad-path", f"no folder can be at {str(given)!r:.200}", "root") from None
    return found


def name_problem(name: str) -> str:
    """Why ``name``, a text, cannot be a cluster's, in words; empty if it can: a DNS label of at most 40 characters."""
    if _NAME.fullmatch(name):
        return ""
    return (
        f"{name!r} is not a cluster name: at most 40 lower-case letters, digits and -, a letter or digit at both ends"
    )


def cluster_dir(root: Path, name: str) -> Path:
    """The cluster's own folder in ``root``, which need not be there. FleetError ``bad-name``."""
    problem = name_problem(name)
    if problem:
        raise FleetError("bad-name", problem)
    return root / name


def cluster_names(root: Path) -> tuple[str, ...]:
    """Names, sorted, of all clusters that have a folder, or a link to one, in ``root``: complete, half made or damaged.
    Empty where there is no root. FleetError ``state-unreadable`` where that cannot be looked at."""
    try:
        return tuple(sorted(each.name for each in os.scandir(root) if not name_problem(each.name) and _is_folder(each)))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise FleetError("state-unreadable", f"{root} cannot be read: {error.strerror}") from None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder or a link to one; also where that cannot be told, but for a circle of links."""
    try:
        return entry.is_dir()
    except OSError as error:
        return error.errno != errno.ELOOP


def made_folder(root: Path, name: str) -> Path:
    """The folder of a cluster, made with mode 0700 if it is missing. FleetError ``bad-name``, ``unwritable-folder``,
    and ``unsafe-folder`` if by owner and mode others than this user and root can put something into it: keys, the ids
    of processes to be ended."""
    folder = make_folder(cluster_dir(root, name), 0o700)
    with unwritable_as_error(folder):
        _refuse_unsafe(folder)
    return folder


def _refuse_unsafe(folder: Path) -> None:
    """FleetError ``unsafe-folder`` as of ``made_folder``; OSError or RuntimeError as of ``own_folder``."""
    why = why_others_may_write(folder.resolve())
    if why:
        text = f"keys and processes in {folder} could be anybody's: {why}"
        way = f"chmod go-w {folder}, if all that is in it is yours"
        hint = f"give another folder for local clusters (root, in playbooks local_root); or {way}"
        raise FleetError("unsafe-folder", text, folder.name, hint)


def load(folder: Path) -> State | None:
    """What is recorded of the cluster in ``folder``; None if there is no state file. FleetError ``state-unreadable`` if
    it cannot be read, is not one of ours, or is that of another cluster, as in a copy of its folder; ``state-too-new``
    if a newer version of the collection wrote it; ``unsafe-folder`` as of ``made_folder``."""
    path = folder / "state.json"
    try:
        _refuse_unsafe(folder)
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] > SCHEMA:
            raise FleetError(
                "state-too-new",
                f"{path} was written by a newer version of this collection",
                hint="use that version, or remove the folder",
            )
        processes = {
            name: Process(ProcessId(row["pid"], row["started"]), row["version"], row.get("log_before", 0))
            for name, row in document.pop("processes").items()
        }
        del document["schema"]
        state = _judged(State(**document, processes=processes))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise FleetError("state-unreadable", f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        raise FleetError(
            "state-unreadable",
            f"{path} is not the state of a local cluster",
            where=folder.name,
            hint="make the cluster absent and present again",
        ) from None
    if state.name != folder.name:  # its processes are the other's, and would be ended with this one
        text = f"{path} is the state of local cluster {state.name}, whose folder this is a copy of"
        raise FleetError("state-unreadable", text, folder.name, "make this one absent; the other stays as it is")
    return state


def _judged(state: State) -> State:
    """Gives the state back; ValueError, TypeError or AttributeError for what no state of a cluster has in it."""
    texts = (state.version, *(part for each in state.processes.values() for part in (each.version, each.id.started)))
    numbers = (*state.ports.values(), *(each.id.pid for each in state.processes.values()))
    if not all(isinstance(each, str) for each in texts) or not isinstance(state.ready, bool):
        raise ValueError("something in it is of another type")
    sizes = [each.log_before for each in state.processes.values()]
    if not all(isinstance(each, int) and each >= 0 for each in sizes):
        raise ValueError("a log cannot hold that much")
    if not all(isinstance(each, int) and each > 0 for each in numbers) or "kube-apiserver" not in state.ports:
        raise ValueError("ports or processes are not numbered")
    if max(state.ports.values()) > 65535:
        raise ValueError("no port has this number")
    if state.version:
        KubeVersion.parse(state.version)
    if name_problem(state.name) or state.profile not in PROFILES or state.wanted not in ("running", "stopped"):
        raise ValueError("it is of no cluster that there can be here")
    return state


def cluster_behind(root: Path, port: int, authority: bytes | None, first: str = "") -> str:
    """The name of the cluster below ``root`` whose API server has, by what is recorded, that ``port`` of this machine,
    running or not; empty if none has. ``authority`` is the PEM text that its server is checked against, which has to be
    the cluster's own; None is not compared. ``first`` is looked at before others. A cluster whose state or CA cannot be
    read is passed over. FleetError ``state-unreadable`` where ``root`` cannot be looked at."""
    for name in sorted(cluster_names(root), key=lambda each: each != first):
        with contextlib.suppress(FleetError, OSError):
            state = load(root / name)
            if state is None or state.ports["kube-apiserver"] != port:
                continue
            if authority is None or has_authority(root, name, authority):
                return name
    return ""


def has_authority(root: Path, name: str, authority: bytes) -> bool:
    """Whether the CA of that cluster below ``root``, by its files, has this PEM text, blanks around it apart; not if it
    cannot be read."""
    try:
        return (root / name / "pki" / "ca.crt").read_bytes().strip() == authority.strip()
    except OSError:
        return False


def save(folder: Path, state: State) -> State:
    """Writes the state into the cluster's folder, which has to be there, for this user only; gives it back. FleetError
    ``unwritable-folder``."""
    document = {**asdict(state), "schema": SCHEMA}
    document["processes"] = {
        name: {
            "pid": one.id.pid,
            "started": one.id.started,
            "version": one.version,
            "log_before": one.log_before,
        }
        for name, one in sorted(state.processes.items())
    }
    with unwritable_as_error(folder):
        write_private(folder / "state.json", (json.dumps(document, indent=2, sort_keys=True) + "\n").encode())
    return state


def record_process(folder: Path, state: State, name: str, process: Process | None) -> State:
    """The state with this process (without one, if None) of a component, written at once: whoever starts one writes it
    down before doing anything else. FleetError ``unwritable-folder``."""
    others = {key: value for key, value in state.processes.items() if key != name}
    kept = {**others, name: process} if process is not None else others
    return save(folder, replace(state, processes=kept))


def make(root: Path, name: str, within: PortRange) -> State:
    """Makes the folder of a new cluster (mode 0700), records its state and gives it, with free ports of ``within`` that
    no other cluster of the root holds, as far as their states can be read. A state that is there is replaced.
    FleetError as of ``made_folder``, ``no-free-ports``, ``busy``, ``state-unreadable`` where the root cannot be looked
    at; OSError as of ``is_free``."""
    folder = made_folder(root, name)
    with root_lock(root):
        return save(folder, State(name, free_slot(within, _held_ports(root, name))))


def record_other_ports(root: Path, state: State, within: PortRange) -> State:
    """The state with another free slot of ``within`` in the place of all its ports, recorded, for a cluster that never
    was complete, of which somebody else took a port meanwhile. Errors as of ``make``."""
    with root_lock(root):
        slot = free_slot(within, _held_ports(root, state.name))
        return save(cluster_dir(root, state.name), replace(state, ports=slot))


def record_missing_ports(root: Path, state: State, users: t.Iterable[str], within: PortRange) -> State:
    """The state with a port for each of ``users`` that has none yet, from the end of ``within``, recorded, and then
    held as the others are. Errors as of ``make``."""
    missing = [user for user in users if user not in state.ports]
    if not missing:
        return state
    with root_lock(root):
        held = {*_held_ports(root, state.name), *state.ports.values()}
        found: dict[str, int] = {}
        for user in missing:
            found[user] = free_port(within, {*held, *found.values()})
        return save(cluster_dir(root, state.name), replace(state, ports={**state.ports, **found}))


def refuse_removal(root: Path, name: str) -> None:
    """FleetError ``unwritable-folder`` where the cluster's folder is a link, cannot be looked at, or is another user's,
    whose processes are not seen and run on, unless this one is root. One that is not there is fine; ``bad-name``."""
    folder = cluster_dir(root, name)
    with unwritable_as_error(root), contextlib.suppress(FileNotFoundError):
        if folder.is_symlink():
            hint = "delete what it leads to, and the link"
            raise FleetError("unwritable-folder", f"{folder} is a link, and what it leads to is not ours", name, hint)
        owner = folder.lstat().st_uid
        if not _may_remove(owner):
            text = f"{folder} belongs to user {owner}, and is left alone"
            raise FleetError("unwritable-folder", text, name, "remove the cluster as that user")


def remove(root: Path, name: str) -> None:
    """Removes the cluster's folder, if it is there, whose processes have ended: renamed, then deleted, so that one with
    a cluster's name is never half deleted, nor moved while its keys are read. What earlier removals have left goes as
    well. FleetError as of ``refuse_removal``, ``busy``, ``unwritable-folder``."""
    refuse_removal(root, name)
    folder = cluster_dir(root, name)
    with root_lock(root), unwritable_as_error(root), contextlib.suppress(FileNotFoundError):
        folder.rename(root / f".{name}{_REMOVED}{secrets.token_hex(8)}")
    for left in half_removed(root, name):
        with unwritable_as_error(left):
            _remove_folders(left)  # keys and data, while the files beside them still say whose they were
            shutil.rmtree(left)


def _may_remove(owner: int) -> bool:
    """Whether what belongs to that user is ours to remove: our own, and all for root."""
    return os.geteuid() in (0, owner)


def _remove_folders(folder: Path) -> None:
    """Removes all folders in it, and leaves its files. OSError, also where a link is in its place: that could lead
    anywhere."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with os.scandir(place) as entries:
            names = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        for name in names:
            shutil.rmtree(name, dir_fd=place)
    finally:
        os.close(place)


def half_removed(root: Path, name: str = "*") -> tuple[Path, ...]:
    """Folders of clusters of this name, or of any, of which a removal was cut off or is under way: keys and data may be
    in them. No links; folders of other users for root only."""
    return tuple(sorted(each for each in root.glob(f".{name}{_REMOVED}*") if _is_own_folder(each)))


def _is_own_folder(path: Path) -> bool:
    """Whether it is a folder of this user, or of anybody if this is root; a link is none."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _may_remove(found.st_uid)


def name_of_removed(folder: Path) -> str:
    """The name that a cluster had whose folder is one of ``half_removed``."""
    return folder.name[1:].partition(_REMOVED)[0]


def root_lock(root: Path) -> t.ContextManager[None]:
    """A context manager, held while a cluster below ``root`` is given its ports or is removed, and while the kubeconfig
    of all is written; waited for up to a minute. FleetError ``busy`` after it, ``unwritable-folder``."""
    return locked(root / ".locks" / "root", timeout=60)


def cluster_lock(root: Path, name: str, waiting: t.Callable[[], None], timeout: float) -> t.ContextManager[None]:
    """A context manager, held while the cluster is changed. ``waiting`` is called once if it is waited for, up to
    ``timeout`` seconds. FleetError ``busy`` after it, ``unwritable-folder``."""
    return locked(root / ".locks" / f"cluster-{name}", waiting, timeout)


def _held_ports(root: Path, but: str) -> set[int]:
    """Ports of all clusters below ``root`` other than ``but``. Those of a cluster whose state cannot be read are left
    out: binding will tell. FleetError ``state-unreadable`` where the root cannot be looked at."""
    held: set[int] = set()
    for name in cluster_names(root):
        if name == but:
            continue
        with contextlib.suppress(FleetError):
            state = load(root / name)
            held.update(state.ports.values() if state else ())
    return held
