# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Files of this machine: read within a limit, written whole or not at all, or appended to; ``~`` and the user's folders
by an environment; names that no file can have.

All errors are OSError, with a ``strerror`` fit to be shown; ``EFBIG`` where a file has more than the limit.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import typing as t

Path = t.Union[str, "os.PathLike[str]"]
_CHUNK = 1 << 20
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def with_home(path: str, environ: t.Mapping[str, str]) -> str:
    """The path with a ``~`` or ``~/`` that it begins with replaced by the home that ``environ`` names; where it names
    none, and for ``~name``, as ``os.path.expanduser`` has it. A name that no file can have stays as it is."""
    home = environ.get("HOME")
    try:
        return f"{home}{path[1:]}" if home and path.partition("/")[0] == "~" else os.path.expanduser(path)
    except ValueError:
        return path


def user_folder(variable: str, otherwise: str, environ: t.Mapping[str, str]) -> str:
    """The user's folder that a variable of the XDG Base Directory Specification names, such as ``XDG_STATE_HOME``;
    where it names none, or a relative one, which is invalid there, that of ``otherwise``, below ``~``."""
    named = environ.get(variable, "")
    return named if os.path.isabs(named) else with_home(otherwise, environ)


def is_impossible_name(text: str) -> bool:
    """Whether no file can be called so, and no program be given it: for a NUL, or a lone surrogate that stands for no
    byte."""
    try:
        return b"\0" in os.fsencode(text)
    except UnicodeEncodeError:
        return True


def is_there(path: Path) -> bool:
    """Whether something is at the path; OSError where that cannot be told, as for want of rights (which ``exists`` of
    Python 3.14 takes for no)."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def read_file(path: Path, most: int) -> bytes:
    """All bytes of a regular file, or of one that a link leads to; ``most`` is how many it may have.

    OSError: ``EFBIG`` if it has more, ``EINVAL`` for a pipe, a socket, a device or a name that no file can have,
    ``EISDIR`` for a folder. It never waits for a writer, and ends for files that never do, as below /proc.
    """
    handle = _opened(path, os.O_RDONLY)
    try:
        found = bytearray()
        while len(found) <= most and (chunk := os.read(handle, min(_CHUNK, most + 1 - len(found)))):
            found += chunk
    finally:
        os.close(handle)
    if len(found) > most:
        size = f"{most // 1_000_000} MB" if most >= 1_000_000 else f"{most} bytes"
        raise OSError(errno.EFBIG, f"it has more than {size}", os.fspath(path))
    return bytes(found)


def real_path(path: str) -> str:
    """The absolute path behind all links. A name that no file can have stays as it is."""
    try:
        return os.path.realpath(path)
    except ValueError:
        return path


def make_folder_of(path: Path) -> None:
    """Makes the folder that a file at ``path`` needs, and those above, if they are not there; OSError, ``EINVAL`` where
    no file can have this name."""
    os.makedirs(os.path.dirname(os.path.abspath(_checked(path))), exist_ok=True)


def write_file(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Puts a new file in the place of what is there, when it is on the disk as a whole; until then the old one stays.

    It is made under a name that nobody can foresee; a link at ``path`` is replaced, not followed. The user's umask and
    the mode of a file that is there already only take from ``mode``. OSError, also where its folder is missing, or
    something is there that is neither a file nor a link.
    """
    folder, name = os.path.split(os.path.abspath(_checked(path)))
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(FileNotFoundError):
            there = os.stat(name, dir_fd=place, follow_symlinks=False)
            if not stat.S_ISLNK(there.st_mode):
                _refuse(there)
                mode &= there.st_mode
        _replace(place, name, content, mode)
    finally:
        os.close(place)


def open_to_append(path: Path, mode: int = 0o644) -> int:
    """Opens a regular file for appending, made with ``mode`` less the umask if it is missing; gives its descriptor,
    which the caller closes. OSError for all else, a link among it."""
    return _opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, mode)


def refuse_special(path: Path) -> None:
    """OSError if something is there that is no regular file, and no link to one (``EISDIR`` for a folder, else
    ``EINVAL``), or if it cannot be looked at; nothing there is fine."""
    with contextlib.suppress(FileNotFoundError):
        _refuse(os.stat(_checked(path)))


def _opened(path: Path, flags: int, mode: int = 0) -> int:
    """The descriptor of a regular file, for the caller to close; OSError for anything else. Devices are not even
    opened: that alone can have effects. What takes the file's place meanwhile is found out."""
    refuse_special(path)
    handle = os.open(_checked(path), flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, mode)
    try:
        _refuse(os.fstat(handle))
    except OSError:
        os.close(handle)
        raise
    return handle


def _refuse(found: os.stat_result) -> None:
    """OSError unless that is a regular file: ``EISDIR`` for a folder, else ``EINVAL``."""
    if stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    kind = next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "something else")
    raise OSError(errno.EINVAL, f"it is {kind}, not a file")


def _checked(path: Path) -> str:
    """The path as text; OSError ``EINVAL`` for a name that no file can have, for which Python raises no OSError."""
    text = os.fspath(path)
    try:
        usable = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise OSError(errno.EINVAL, "no file can have this name")
    return text


def _replace(place: int, name: str, content: bytes, mode: int) -> None:
    """Writes the file under another name in the open folder ``place``, and moves it to ``name``; where that fails,
    nothing of it is left, and the error is raised."""
    making = f".gitops-fleet.{secrets.token_hex(8)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(making, flags, mode, dir_fd=place)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(making, name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(making, dir_fd=place)
        raise
    with contextlib.suppress(OSError):  # some file systems cannot; the file itself is on the disk
        os.fsync(place)
