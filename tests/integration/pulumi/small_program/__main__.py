# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One file for each name of the setting ``files``, in the folder ``folder``; and a secret one, if there is a secret."""

from __future__ import annotations

import pulumi
from text_files import TextFile

config = pulumi.Config()
folder, files, secret = config.require("folder"), config.get_object("files") or {}, config.get_secret("password")
for name, text in files.items():
    TextFile(name, f"{folder}/{name}", text)
if secret is not None:
    TextFile("secret", f"{folder}/secret", secret)
    pulumi.export("password", secret)
if config.get_bool("broken"):
    raise pulumi.RunError("it is told to fail")
pulumi.export("greeting", config.get("greeting"))
pulumi.export("files", list(files))
