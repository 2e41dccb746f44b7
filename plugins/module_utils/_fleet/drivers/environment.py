# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which environment variables of the task reach an upgrade or another command of the user: those of a list (KEPT), and
those that the user adds to it (``environment``).

Whoever runs us may have secrets in the environment, and variables that are meant for the outer Ansible only: the job
runner of AWX sets callbacks, an inventory and paths that make a second Ansible inside it fail or report as the
first.
"""

from __future__ import annotations

import typing as t
from fnmatch import fnmatchcase

KEPT = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_*_HOME",
    "KUBECONFIG",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "*_proxy",
    "*_PROXY",
    # Where things are, and nothing about how a run goes.
    "ANSIBLE_HOME",
    "ANSIBLE_CONFIG",
    "ANSIBLE_COLLECTIONS_PATH",
    "ANSIBLE_COLLECTIONS_PATHS",
    "ANSIBLE_ROLES_PATH",
    "ANSIBLE_LIBRARY",
    "ANSIBLE_MODULE_UTILS",
    "ANSIBLE_ACTION_PLUGINS",
    "ANSIBLE_FILTER_PLUGINS",
    "ANSIBLE_LOOKUP_PLUGINS",
    "ANSIBLE_TEST_PLUGINS",
    "ANSIBLE_VARS_PLUGINS",
    "ANSIBLE_CONNECTION_PLUGINS",
    "ANSIBLE_VAULT_PASSWORD_FILE",
    "ANSIBLE_VAULT_IDENTITY_LIST",
    "ANSIBLE_REMOTE_TEMP",
)


def environment_passed_on(environ: t.Mapping[str, str], added: t.Sequence[str] = ()) -> dict[str, str]:
    """The variables of ``environ`` whose names are in KEPT or in ``added``: names, or patterns such as ``AWS_*``, in
    which case counts; a name that is not set is passed over."""
    patterns = (*KEPT, *added)
    return {name: value for name, value in environ.items() if any(fnmatchcase(name, each) for each in patterns)}
