# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The option ``executor`` of the driver ``role``, checked and read: whether roles run in processes of this machine or
as Jobs in a cluster, and with which settings."""

from __future__ import annotations

import re
import typing as t

from ...._core.errors import Problem
from ...._core.objects.identity import JOBS_NAMESPACE
from ..option_values import why_wrong
from .manifests import JobSettings

PROCESS, KUBERNETES_JOB = "process", "kubernetes_job"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_ACCOUNT = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9\[][^\s\x00-\x1f\x7f-\x9f]{0,511}")
_PATH = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
_LEAST_KEPT = 60
# Each with what it has to be.
_TEXTS: t.Mapping[str, tuple[re.Pattern[str], str]] = {
    "image": (_IMAGE, "the name of an image is wanted"),
    "namespace": (_NAME, "the name of a namespace is wanted"),
    "service_account": (_ACCOUNT, "the name of a service account is wanted"),
    "kubeconfig": (_PATH, "a path is wanted"),
    "context": (_PATH, "a text is wanted"),
}
_SECONDS: t.Mapping[str, int] = {"deadline": 1, "keep": _LEAST_KEPT}
_KNOWN = ("kind", *_TEXTS, *_SECONDS, "resources")
# What a process has from this machine, and a pod from its image.
_OF_THE_IMAGE = ("environment", "roles_path", "collections_path")
Options = t.Mapping[str, t.Any]


def runs_as_job(given: Options) -> bool:
    """Whether these options of the driver ``role`` name the executor ``kubernetes_job``."""
    executor = given.get("executor")
    return isinstance(executor, t.Mapping) and executor.get("kind") == KUBERNETES_JOB


def executor_problems(given: Options, where: str, hub: bool) -> t.Iterator[Problem]:
    """``bad-option`` for everything that is wrong with ``executor`` in options of the driver ``role``, and with what
    does not fit it; of another ``kind`` only that. ``hub``: whether there is one, where Jobs run if no kubeconfig is
    named."""
    executor, place = given.get("executor"), f"{where}.executor"
    if executor is None:
        return
    if not isinstance(executor, t.Mapping):
        yield Problem("bad-option", "a mapping of options is wanted", place)
        return
    said = {name: value for name, value in executor.items() if value is not None}
    kind = said.get("kind", PROCESS)
    if kind not in (PROCESS, KUBERNETES_JOB):
        yield Problem("bad-option", f"there is no executor {kind!r:.80}", f"{place}.kind", "process or kubernetes_job")
        return
    for name in said:
        if name not in _KNOWN:
            hint = f"one of {', '.join(_KNOWN)}"
            yield Problem("bad-option", "there is no such option", f"{place}.{name}", hint)
        elif kind == PROCESS and name != "kind":
            yield Problem("bad-option", "only kubernetes_job has this option", f"{place}.{name}")
    if kind == KUBERNETES_JOB:
        yield from _form_problems(said, place)
        yield from _place_problems(said, place, hub)
        yield from _image_problems(given, where)


def job_settings(given: Options) -> JobSettings:
    """The settings in options of the driver ``role`` without problems, of which ``runs_as_job`` is true; without a
    namespace, in JOBS_NAMESPACE."""
    said = {name: value for name, value in given["executor"].items() if value is not None}
    names = ("image", "service_account", "deadline", "keep", "resources")
    chosen = {name: said[name] for name in names if name in said}
    return JobSettings(namespace=said.get("namespace") or JOBS_NAMESPACE, **chosen)


def _form_problems(said: Options, place: str) -> t.Iterator[Problem]:
    """``bad-option`` for a missing image, and for options of another form than they have to have."""
    if "image" not in said:
        yield Problem("bad-option", "this option is needed", f"{place}.image")
    for name, (form, words) in _TEXTS.items():
        if name in said and not (isinstance(said[name], str) and form.fullmatch(said[name])):
            yield Problem("bad-option", words, f"{place}.{name}")
    for name, least in _SECONDS.items():
        value = said.get(name, least)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            yield Problem("bad-option", f"a whole number of seconds from {least} on is wanted", f"{place}.{name}")
    if not isinstance(said.get("resources", {}), t.Mapping):
        yield Problem("bad-option", "a mapping with requests and limits is wanted", f"{place}.resources")
    elif why := why_wrong("mapping", said.get("resources", {})):
        yield Problem("bad-option", why, f"{place}.resources")


def _place_problems(said: Options, place: str, hub: bool) -> t.Iterator[Problem]:
    """``bad-option`` where no cluster is named and there is no hub, and for a context without its kubeconfig."""
    if "kubeconfig" not in said and not hub:
        hint = "give the kubeconfig of the cluster in which Jobs run, or use records of type hub"
        yield Problem("bad-option", "there is no hub to run Jobs in", f"{place}.kubeconfig", hint)
    if "kubeconfig" not in said and "context" in said:
        yield Problem("bad-option", "a context needs its kubeconfig", f"{place}.context")


def _image_problems(given: Options, where: str) -> t.Iterator[Problem]:
    """``bad-option`` for what a Job has from its image and for paths that lead nowhere in one."""
    for name in _OF_THE_IMAGE:
        if given.get(name):
            hint = "put it into the image; secrets belong into extra_vars, or to the service account"
            yield Problem("bad-option", "a Job has this from its image", f"{where}.{name}", hint)
    role = given.get("role")
    if isinstance(role, str) and "/" in role and not role.startswith("/"):
        hint = "give the name of a role, or its absolute path in the image"
        yield Problem("bad-option", "a relative path leads nowhere in an image", f"{where}.role", hint)
    inventories = given.get("inventory")
    for each in inventories if isinstance(inventories, (list, tuple)) else ():
        if isinstance(each, str) and not each.startswith("/"):
            hint = "give its absolute path in the image"
            yield Problem("bad-option", f"{each:.80} leads nowhere in an image", f"{where}.inventory", hint)
