# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which stack of a Pulumi project is meant: the same options for all that have to do with one."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  project_dir:
    description: Folder of the Pulumi project, with its C(Pulumi.yaml). Nothing is written into it.
    type: path
    required: true
  stack:
    description: Name of the stack.
    type: str
    required: true
  backend_url:
    description:
      - Where the state is, as a URL such as V(file:///srv/fleet-state) or V(s3://bucket); the shell's is not used.
      - For a state in files C(metadata=skip) is added, so that a run that is killed leaves no half file behind.
    type: str
    required: true
  home:
    description: Folder of Pulumi's plugins; C(~/.pulumi) if absent.
    type: path
  passphrase_file:
    description: File with the passphrase that encrypts secrets of the stack.
    type: path
  python:
    description: The Python that has the packages of the program; that of Ansible if absent.
    type: path
  timeout:
    description: Seconds that one command of the engine may take; it is asked to end then, and writes down what it did.
    type: int
    default: 3600
"""
