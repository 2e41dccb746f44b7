# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of Sphinx for `make docs`."""

from __future__ import annotations

import typing as t

from docutils import nodes  # type: ignore[import-untyped]

ANSIBLE = "https://docs.ansible.com/ansible/latest"
K8S_INFO = "kubernetes/core/k8s_info_module"
# What pages of plugins refer to in Ansible's own documentation: no build of ours asks a server where that is.
ELSEWHERE = {
    "action_plugins": f"{ANSIBLE}/plugins/action.html",
    "callback_plugins": f"{ANSIBLE}/plugins/callback.html",
    "common_return_values": f"{ANSIBLE}/reference_appendices/common_return_values.html",
    "ansible_configuration_settings": f"{ANSIBLE}/reference_appendices/config.html",
    f"ansible_collections.{K8S_INFO.replace('/', '.')}": f"{ANSIBLE}/collections/{K8S_INFO}.html",
}

project = "gitops.fleet"
html_title = project
extensions = ["myst_parser", "sphinx_antsibull_ext"]
html_theme = "furo"
# Links lead to headings as they do on code hosts.
myst_heading_anchors = 6
# Nothing is fetched by who reads it, and the same text gives the same pages.
html_copy_source = False
html_show_sphinx = False


def elsewhere(_app: object, _env: object, node: t.Any, shown: nodes.TextElement) -> nodes.reference | None:
    """A link for a label that is not ours; None is a broken link, which ends the build."""
    address = ELSEWHERE.get(node["reftarget"])
    return nodes.reference("", "", shown, refuri=address, internal=False) if address else None


def setup(app: t.Any) -> dict[str, bool]:
    app.connect("missing-reference", elsewhere)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
