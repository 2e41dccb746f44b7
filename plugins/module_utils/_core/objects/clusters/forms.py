# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Forms of texts in FleetMembers (pattern, length, what is expected in words): names of objects and namespaces, keys of
Secrets, contexts and paths of kubeconfigs, words on one line; they reach commands, roles and file names of whoever runs
the fleet.

None has room for a template (braces, but for a variable such as ``${HOME}`` in a path), a second line, control
characters or those that turn the direction of a line. Each may be empty here; where a text has to be there, ``rules``
says so. ``doc`` is what definitions and docs say of the field.
"""

from __future__ import annotations

import typing as t

from ...schema.prop import prop
from ...values.selector import DNS_LABEL, DNS_SUBDOMAIN

# Control characters, and those that are not seen or turn the direction of a line.
_UNSEEN = "\\x00-\\x1f\\x7f-\\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
SUBDOMAIN = f"^({DNS_SUBDOMAIN})?$"
NAMESPACE = f"^({DNS_LABEL})?$"
SECRET_KEY = r"^[-._a-zA-Z0-9]*$"
# arn:aws:eks:eu-west-1:123:cluster/a, gke_project_zone_a, ns/api-host:6443/user, user@a.region.eksctl.io, live.com#user
CONTEXT = r"^([A-Za-z0-9_.:/@+=,~#%]([A-Za-z0-9_.:/@+=,~#% -]*[A-Za-z0-9_.:/@+=,~#%-])?)?$"
KUBECONFIG = rf"^([^{{}}{_UNSEEN}]|\$\{{[A-Za-z_][A-Za-z0-9_]*\}})*$"
WORDS = rf"^[^{{}}{_UNSEEN}]*$"
WORDS_FORM = "one line without braces"


def object_name_prop(doc: str, **details: t.Any) -> t.Any:
    """A field for the name of another object, of at most 253 characters or empty. Required without a ``default`` in
    ``details``, which are as of ``prop``."""
    form = "the name of an object: lower-case letters, digits, '-' and '.'"
    return prop(doc, max_length=253, pattern=SUBDOMAIN, form=form, **details)


def namespace_prop(doc: str) -> t.Any:
    """A required field for the name of a namespace, of at most 63 characters or empty."""
    form = "the name of a namespace: lower-case letters, digits and '-'"
    return prop(doc, max_length=63, pattern=NAMESPACE, form=form)


def secret_key_prop(doc: str, **details: t.Any) -> t.Any:
    """A field for a key in the data of a Secret, of at most 253 characters or empty. Required without a ``default`` in
    ``details``, which are as of ``prop``."""
    form = "a key of a Secret: letters, digits, '-', '_' and '.'"
    return prop(doc, max_length=253, pattern=SECRET_KEY, form=form, **details)


def context_prop(doc: str) -> t.Any:
    """A field for a context of a kubeconfig, of at most 512 letters, digits, blanks and signs (``_.:/@+=,~#%-``), that
    neither begins with ``-`` or a blank nor ends with a blank; empty, the default, means its current one."""
    form = "the name of a context: letters, digits, blanks and _.:/@+=,~#%-, no '-' or blank first; rename the context"
    return prop(doc, default="", max_length=512, pattern=CONTEXT, form=form)


def kubeconfig_prop(doc: str) -> t.Any:
    """A field for the path of a kubeconfig on the controller, of at most 4,096 characters, on one line, with braces
    only as in ``${HOME}``; empty, the default, means none."""
    form = "a path on one line, with braces only as in ${HOME}"
    return prop(doc, default="", max_length=4096, pattern=KUBECONFIG, form=form)


def words_prop(doc: str, **details: t.Any) -> t.Any:
    """A field for words of the user on one line without braces, at most 100 characters; empty by default. ``details``
    as of ``prop``."""
    return prop(doc, default="", max_length=100, pattern=WORDS, form=WORDS_FORM, **details)
