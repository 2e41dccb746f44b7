# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small base of every verb: its options from the documentation, checked (``bad-option``); its run (records, check
mode, what to type next), its answer and ``result_file``; errors and refusals as failed results, shortened.

Private to this collection. A verb runs once for all hosts of a play, in the controller's process.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime

from ansible.errors import AnsibleAction, AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import fragment_loader
from ansible.utils.plugin_docs import get_docstring

from ..module_utils._core.errors import FleetError, Problem, fault
from ..module_utils._fleet.files import from_home, json_file, refuse_blank, refuse_unwritable, write_file
from ..module_utils._fleet.keeping import INTERRUPTED
from ..module_utils._fleet.members.connection_notes import take_connection_notes
from ..module_utils._fleet.session import Session, copied_words, open_session, present, silent
from ..module_utils._fleet.showing import plain_json, without_secrets
from ..module_utils._fleet.templates.present import utc_text
from ..module_utils._report.commands.next_steps import NextStep, next_lines
from ..module_utils._report.widths import fitting
from ._libraries import SERVERS, check_libraries
from ._variables import check_extra_variables, is_of_ours, lists_parted, variables_for_missing
from ._voice import is_brief, say, wait_until_heard, warn, width

MOST_NAMES = 50  # in a warning; the result has all
NEW_OBJECTS = 50_000  # some MB
SPEC_KEYS = ("type", "required", "default", "choices", "elements", "aliases")
SECRETS = ("token", "secret_config")
# Beginnings of the codes of what was not found, or not as it should be, in the records; and codes of other things.
SOUGHT = ("no-such-", "no-member", "not-a-member", "nothing-asked", "unknown-cluster", "unknown-member", "foreign-")
OF_FILES = {"no-such-file", "no-such-date", "no-such-fips"}
AT_LEAST_ONE = (
    "threads",
    "workers",
    "timeout",
    "max_facts_age",
    "time_limit",
    "interval",
    "settle",
    "lost_after",
    "approval_expires",
    "command_timeout",
    "node_timeout",
)
AT_LEAST_ZERO = ("max_idle", "removal_timeout", "look_again")
AT_MOST = 5_000_000_000  # seconds, 158 years; twice that is more than Python can wait
APPROVALS = ("digest", "approved_plan")
# Options without which a command that carries a run on would not do the same again.
AS_NOW = ("drivers", "operations", "driver", "command", "allow_self_approval", "verified_approvals", "approval_expires")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a verb is told of its task: ``say`` prints a line for people, ``warn`` one that Ansible shows once, as a
    warning; ``environ`` has variables of the task too."""

    check_mode: bool
    clock: t.Callable[[], datetime] = present
    say: t.Callable[[str], None]
    warn: t.Callable[[str], None] = silent
    environ: t.Mapping[str, str]
    places: list[str] = field(default_factory=list)
    """Where the records are that were opened."""
    given: t.Mapping[str, t.Any] = field(default_factory=dict)
    """The options of the task as they were given, without defaults."""

    @property
    def now(self) -> datetime:
        """The present as aware UTC."""
        return self.clock()

    def open(self, options: t.Mapping[str, t.Any], writes: bool | None = None) -> Session:
        """The session that the options name, to be closed by ``with``. It writes, unless the task runs in check mode or
        ``writes`` says other. Its place is added to ``places``; that a session which only reads is of a copy is a
        warning, where that is known. FleetError as of ``open_session``."""
        writing = not self.check_mode if writes is None else writes
        session = open_session(options, self.environ, writes=writing, say=self.say, clock=self.clock)
        self.places.append(session.records.place)
        if not writing and (told := copied_words(session.records, self.now)):
            self.warn(f"the records {session.records.place} are a copy {told}")
        return session

    def next_lines(self, steps: t.Iterable[NextStep]) -> list[str]:
        """What to type next, a line for each step that can stand in a command, with the records and other options that
        were given and are needed again."""
        as_now = {name: self.given[name] for name in AS_NOW if name in self.given}
        return next_lines(steps, self.given.get("records") or {}, as_now)

    def with_next(self, answer: Answer, steps: t.Iterable[NextStep], fails: bool) -> Answer:
        """The answer with what to type next: behind the message of one that ``fails``, else it is said at once, and
        kept as its ``next_lines``."""
        lines = self.next_lines(steps)
        if fails:
            return replace(answer, message="\n".join([answer.message, *lines]))
        for line in lines:
            self.say(line)
        return replace(answer, next_lines=lines)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a verb gives back. ``outcome`` is done, planned, stopped, drifted, unfulfilled, waiting, partial or failed;
    the last two fail the task, others where its option ``fail_on`` names them. ``resume_at`` is RFC 3339 or empty.
    ``brief`` stands for the message where people have just read what it leaves out. ``next_lines`` were said. ``data``
    are further keys of the result; ``diff`` is in it where ``--diff`` is on."""

    changed: bool
    outcome: str = "done"
    code: str = ""
    message: str = ""
    brief: str = ""
    resume_at: str = ""
    data: t.Mapping[str, t.Any] = field(default_factory=dict)
    diff: t.Sequence[t.Mapping[str, t.Any]] = ()
    next_lines: t.Sequence[str] = ()


@contextlib.contextmanager
def _few_collections() -> t.Iterator[None]:
    """While entered, Python looks for cycles among new objects whenever 50,000 more were made, and not far more often:
    in a page of pods there are none, and a sixth of the processor time of reading a large fleet was that."""
    before = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Verb(ActionBase):
    """Subclasses implement ``carry_out``; ``RULES`` are rules between options (``mutually_exclusive``, ...)."""

    RULES: t.ClassVar[dict[str, t.Any]] = {}
    LIBRARIES: t.ClassVar[dict[str, str]] = {}

    BYPASS_HOST_LOOP = True
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
    _brief = ""
    _last: t.Sequence[str] = ()

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Does what the checked ``options`` ask for; in check mode it tells what it would do. FleetError to refuse,
        which becomes the result of a failed task."""
        raise NotImplementedError

    def libraries(self, options: t.Mapping[str, t.Any]) -> t.Mapping[str, str]:
        """What this task needs beside the Python library: packages by the modules that they bring. What records on a
        hub need is added."""
        return self.LIBRARIES

    @_few_collections()
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """What Ansible calls: the result of the task, also written to ``result_file`` if that is given, after what an
        earlier run wrote there was taken away; the verb does not begin if that cannot be. Refusals, faults and files
        that cannot be written are results with ``failed``. AnsibleActionFail for a task with ``async``; AnsibleAction
        as of ``shortened`` for a failure in a playbook of ours that people read, unless the task has ``failed_when`` or
        ``no_log``. With ``no_log`` nothing is printed."""
        result = super().run(tmp, task_vars or {})
        place = from_home(os.path.expandvars(str(self._task.args.get("result_file") or "")))
        try:
            _clear(place)
        except FleetError as error:
            result |= refused(error)
        else:
            result |= self._told()
            result |= self._write_result(result, place)
        is_read = not self._task.failed_when and not self._task.no_log and is_of_ours(self._path()) and is_brief()
        if result.get("failed") and is_read:
            raise shortened(result, self._brief)
        return result

    def _write_result(self, result: dict[str, t.Any], place: str) -> dict[str, t.Any]:
        """Writes the result to the file, unless that is empty. Gives what is other in the result where it cannot be
        written, or the task has written something else there: it has failed and says so, behind what came of the task,
        which nobody is to lose for that."""
        try:
            _clear(place)
            if place:
                write_file(place, json.dumps(_plain(result), indent=1, sort_keys=True) + "\n")
        except FleetError as error:
            lost = refused(error)
            self._brief = self._brief and f"{self._brief}\n{lost['msg']}"
            message = "\n".join(filter(None, [result.get("msg"), lost["msg"]]))
            return {"failed": True, "msg": message, "problems": [*result.get("problems", ()), *lost["problems"]]}
        return {}

    def _path(self) -> str:
        """``file:line`` of the task; empty where it stands in no file."""
        return self._task.get_path() or ""

    def _told(self) -> dict[str, t.Any]:
        """The result: variables of the command line, options and libraries are checked, then the verb is carried out.
        What is wrong with them is a result with ``failed``. Once the verb has begun, this waits until all that it said
        is printed."""
        spec = argument_spec(self.__module__.rsplit(".", 1)[-1])
        try:
            check_extra_variables(self._path(), self._loader)
            given = _plain(self._task.args)
            _checked, options = self.validate_argument_spec(spec, **self.RULES)
            _refuse_too_small(options)
            _refuse_unsaid(given)
            on_hub = (options.get("records") or {}).get("type") == "hub"
            check_libraries({**self.libraries(options), **(SERVERS if on_hub else {})})
        except AnsibleActionFail as error:
            return refused(
                FleetError("bad-option", error.message, hint=variables_for_missing(self._path(), error.message))
            )
        except FleetError as error:
            return refused(error)
        take_connection_notes()  # of an earlier task, if this process has carried out one
        run = Run(
            check_mode=bool(self._task.check_mode),
            say=silent if self._task.no_log else say,
            warn=silent if self._task.no_log else warn,
            environ=dict(os.environ) | self._task_environment(),
            given=lists_parted(given, spec),
        )
        try:
            return self._carried_out(options, run)
        finally:
            wait_until_heard(() if self._task.no_log else self._last)

    def _carried_out(self, options: dict[str, t.Any], run: Run) -> dict[str, t.Any]:
        """The result of ``carry_out``, with the records' place and notes on connections. FleetError and faults are
        results with ``failed``, and so are the outcomes partial, failed and those in ``fail_on``. Keeps the answer's
        ``brief``."""
        try:
            with fitting(width(), without_secrets):
                answer = self.carry_out(_plain(options), run)
        except FleetError as error:
            return refused(error, run.places) | self._take_notes()
        except Exception as error:  # noqa: BLE001  # without its text, for nobody knows what is in it
            return refused(fault(error), run.places) | self._take_notes()
        result = _placed(run.places) | plain_json(dict(answer.data)) | self._take_notes()
        result["changed"] = answer.changed
        result["fleet"] = {"outcome": answer.outcome, "code": answer.code, "resume_at": answer.resume_at}
        self._brief = str(plain_json(answer.brief))
        if answer.code == INTERRUPTED:
            self._last = [answer.message, *answer.next_lines]
        if answer.message:
            result["msg"] = plain_json(answer.message)
        if answer.diff and self._task.diff:
            result["diff"] = plain_json(list(answer.diff))
        if answer.outcome in ("partial", "failed", *(options.get("fail_on") or ())):
            result["failed"] = True
        return result

    def _take_notes(self) -> dict[str, t.Any]:
        """Takes what is to be told of connections: each note once as a warning, with the first ``MOST_NAMES`` names,
        unless the task has ``no_log``, and all in ``connection_notes`` of the result; nothing without notes."""
        notes = plain_json(take_connection_notes())
        texts = () if self._task.no_log else dict.fromkeys(text for texts in notes.values() for text in texts)
        for text in texts:
            names = [name for name, told in notes.items() if text in told]
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            warn(f"{', '.join(names[:MOST_NAMES])}{more}: {text}")
        return {"connection_notes": notes} if notes else {}

    def _task_environment(self) -> dict[str, str]:
        """The variables that ``environment`` of the task and its play sets, as texts."""
        environment: dict[str, t.Any] = {}
        self._compute_environment_string(environment)
        return {name: str(value) for name, value in environment.items()}


def _clear(place: str) -> None:
    """Takes away what an earlier run wrote there, so that it is not taken for what this one comes to; an empty place is
    none. FleetError ``unwritable-file``, also where anything else stands: a plan or the records, of the same name by
    mistake, are left."""
    refuse_unwritable(place)
    if not os.path.isfile(place):
        return
    try:
        if not _is_result(place):
            text = "what stands there is no result of ours, and not written over"
            raise FleetError("unwritable-file", text, place, "give another path, or take it away")
        os.unlink(place)
    except OSError as error:
        raise FleetError("unwritable-file", f"the file cannot be written anew: {error.strerror}", place) from None


def _is_result(place: str) -> bool:
    """Whether a file is what ``result_file`` is once a task has ended; an empty one, as of ``mktemp``, counts. OSError
    where it is not there."""
    if not os.path.getsize(place):
        return True
    try:
        found = json_file(place, "", "")
    except FleetError:
        return False
    return isinstance(found, dict) and isinstance(found.get("fleet"), dict) and "outcome" in found["fleet"]


def _placed(places: t.Sequence[str]) -> dict[str, t.Any]:
    """Under ``place`` the first of the records that were looked at, nothing if none were: in another folder they are
    others, and what is not there may be in those."""
    return {"place": plain_json(places[0])} if places else {}


def refused(error: FleetError, places: t.Sequence[str] = ()) -> dict[str, t.Any]:
    """The result of a task that was refused or failed: every problem, no traceback, the code of the first; and
    ``places[0]``, the records that were looked at, in the message too where something was not found there. The outcome
    is ``stopped`` where brakes alone refuse, else ``failed``."""
    text, codes = str(error), {each.code for each in error.problems} - OF_FILES
    if places and places[0] not in text and any(each.startswith(SOUGHT) for each in codes):
        text += f"\nlooked for in the records {places[0]}"
    return _placed(places) | {
        "failed": True,
        "msg": plain_json(text),
        "problems": plain_json([each.as_dict() for each in error.problems]),
        "fleet": {"outcome": "stopped" if _by_brakes(error) else "failed", "code": error.code, "resume_at": ""},
    }


def shortened(result: t.Mapping[str, t.Any], brief: str = "") -> AnsibleAction:
    """A failure in a playbook of ours as people read it, to be raised: the message, or ``brief`` in its place. Ansible
    prints the whole result behind it, so that only the first line of the message and what the playbooks go on with are
    left of that."""
    text = brief or str(result.get("msg") or f"it ended as {result['fleet']['outcome']}")
    kept = {key: result[key] for key in ("changed", "fleet") if key in result}
    return AnsibleAction(text, result={**kept, "msg": text.partition("\n")[0]})


def _by_brakes(error: FleetError) -> bool:
    """Whether every problem is that of a brake."""
    return all(each.code.startswith("brake-") for each in error.problems)


def argument_spec(name: str) -> dict[str, t.Any]:
    """The argument spec of a verb, read from the documentation of the module of the same name. Options that hold
    secrets have ``no_log``."""
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "modules", f"{name}.py")
    documentation = get_docstring(path, fragment_loader, collection_name="gitops.fleet", plugin_type="module")[0]
    return _options(documentation.get("options") or {})


def _options(documented: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The argument spec of documented options and, below them, of their suboptions."""
    spec: dict[str, t.Any] = {}
    for name, option in documented.items():
        spec[name] = {key: option[key] for key in SPEC_KEYS if key in option}
        if name in SECRETS:
            spec[name]["no_log"] = True
        if option.get("suboptions"):
            spec[name]["options"] = _options(option["suboptions"])
    return spec


def _refuse_too_small(options: t.Mapping[str, t.Any]) -> None:
    """FleetError with a problem ``bad-option`` for each option that is too small: without a thread, or a second to
    wait, nothing would ever be done; and nobody waits for less than no time. So for each beyond ``AT_MOST``. Options
    that are None or absent are passed over."""
    least = dict.fromkeys(AT_LEAST_ONE, 1) | dict.fromkeys(AT_LEAST_ZERO, 0)
    given = {name: options[name] for name in least if isinstance(options.get(name), int)}
    wrong = {name: f"less than {least[name]}" for name, value in given.items() if value < least[name]}
    wrong |= {name: f"more than {AT_MOST:,}" for name, value in given.items() if value > AT_MOST}
    if wrong:
        raise FleetError.of(Problem("bad-option", f"{given[name]} is {why}", name) for name, why in wrong.items())


def _refuse_unsaid(given: t.Mapping[str, t.Any]) -> None:
    """FleetError ``bad-option`` for what says of no plan that it was approved, an empty text or blanks, as of a
    variable that lost its content: anything would be carried out; and where two of ``given`` say so. Those that are
    None or absent are passed over."""
    said = [name for name in APPROVALS if given.get(name) is not None]
    refuse_blank(given, said, "leave the option out if nothing was approved")
    if len(said) > 1:
        raise FleetError("bad-option", "both say what was approved", ", ".join(said), "give one of them")


def _plain(value: t.Any) -> t.Any:
    """The value without the tags of Ansible's data model, which neither YAML writers nor threads should see. Instants
    are texts as of ``utc_text``, what JSON has not its own text. FleetError ``bad-option`` where a mapping has a key
    that JSON has not."""
    try:
        return json.loads(json.dumps(value, default=_text))
    except TypeError:
        raise FleetError("bad-option", "a mapping has a key that is no text", hint="put keys in quotes") from None


def _text(value: t.Any) -> str:
    """An instant as of ``utc_text``, anything else as Python writes it."""
    return utc_text(value) if isinstance(value, datetime) else str(value)
