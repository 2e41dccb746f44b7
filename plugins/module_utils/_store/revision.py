# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Revisions of Git: which commit a folder holds, what names one, whether one was built on another, the fetch that
brings missing history, other questions to Git. Unknown is an answer of its own, never a guess: nothing here raises,
also without Git, outside a checkout, or in one that Git does not trust."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import typing as t
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_SECONDS = 30
# A checkout may come from others: nothing that its configuration names is run, and nothing is written to it.
_SAFE = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "protocol.allow=never",
    "--no-optional-locks",
    "--no-pager",
)


def source_revision(folder: str | Path, environ: t.Mapping[str, str] | None = None) -> str:
    """The commit that is checked out there (40 or 64 hex digits); empty if unknown. ``environ`` as of ``asked_git``."""
    answer = _git(folder, environ, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    text = answer.stdout.decode(errors="replace").strip() if answer and answer.returncode == 0 else ""
    return text if _COMMIT.fullmatch(text) else ""


def is_descendant(folder: str | Path, old: str, new: str, environ: t.Mapping[str, str] | None = None) -> bool | None:
    """Whether ``new`` is ``old`` or was built on it, by their whole names. None if unknown: a commit that this clone
    does not hold, a "no" of a shallow clone, no answer of Git, or what is no commit's whole name. ``environ`` as of
    ``asked_git``."""
    if not _COMMIT.fullmatch(old) or not _COMMIT.fullmatch(new):
        return None
    answer = _git(folder, environ, "merge-base", "--is-ancestor", old, new)
    if answer is None or answer.returncode not in (0, 1):
        return None
    if answer.returncode == 1 and _is_shallow(folder, environ):
        return None
    return answer.returncode == 0


def fetch_command(folder: str | Path, commit: str, environ: t.Mapping[str, str] | None = None) -> str:
    """The command, for people, that brings the history into this clone that ``is_descendant`` lacks: all of it for a
    shallow clone, or where that cannot be told, else ``commit``, which is left out unless it is a commit's whole name,
    for others may write it into records. It is not run. ``environ`` as of ``asked_git``."""
    where = f"git -C {shlex.quote(os.fspath(folder))} fetch"
    if _is_shallow(folder, environ):
        return f"{where} --unshallow"
    return f"{where} origin {commit}" if is_commit(commit) else f"{where} origin"


def is_commit(text: str) -> bool:
    """Whether this is a commit's whole name: 40 or 64 hex digits in lower case."""
    return _COMMIT.fullmatch(text) is not None


def asked_git(
    folder: str | Path, environ: t.Mapping[str, str] | None, *arguments: str, given: str = ""
) -> bytes | None:
    """What Git prints in the ``folder`` for these ``arguments``, behind ``git``, which ask about what the clone holds,
    with ``given`` as input; None if it cannot answer, ends with an error, or takes longer than 30 s. ``environ`` None:
    that of this process; GIT_* variables are left out."""
    answer = _git(folder, environ, *arguments, given=given)
    return None if answer is None or answer.returncode != 0 else answer.stdout


def _is_shallow(folder: str | Path, environ: t.Mapping[str, str] | None) -> bool:
    """Whether the clone is shallow; True too where Git does not answer."""
    answer = _git(folder, environ, "rev-parse", "--is-shallow-repository")
    return answer is None or answer.stdout.strip() != b"false"


def _git(
    folder: str | Path, environ: t.Mapping[str, str] | None, *arguments: str, given: str = ""
) -> subprocess.CompletedProcess[bytes] | None:
    """Git's answer, whatever its exit code, None if there was none in 30 s. GIT_* variables, which may point elsewhere,
    are left out; what a clone lacks is not fetched."""
    environ = os.environ if environ is None else environ
    kept = {key: value for key, value in environ.items() if not key.startswith("GIT_")}
    try:
        return subprocess.run(  # pylint: disable=ansible-bad-function  # runs on the controller
            ["git", *_SAFE, "-C", os.fspath(folder), *arguments],
            env=kept | {"LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1"},
            input=given.encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
