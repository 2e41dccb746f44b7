#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: release_catalog
short_description: Say which Kubernetes versions and node images a platform offers where
version_added: 0.1.0
description:
  - Records C(ReleaseCatalog) objects, by which update runs wait for versions that a location does not have yet, and
    auto-upgrade profiles find what is new.
  - Makes them from manifests, from lists of versions, from what members report, and from published lists in files. No
    network is used; fetch such lists with C(curl) or the platform's own command line.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
  - gitops.fleet.manifests
options:
  state:
    description: V(present) records what is given, V(absent) deletes the catalogue O(name).
    type: str
    choices: [present, absent]
    default: present
  name:
    description:
      - The catalogue that O(versions), O(feeds), O(from_members), O(provider) and O(supported_minors) go into. Not
        needed where O(src) and O(definition) define exactly one.
    type: str
  src:
    description: Files and folders with manifests of C(ReleaseCatalog); other kinds of update runs are passed over.
    type: list
    elements: path
    default: []
  provider:
    description:
      - Platform that the catalogue is of, as members have it in C(provider). It wins over what O(src) and O(definition)
        say; what they say, else what is recorded, if absent.
    type: str
    default: ""
  location:
    description: Location that the versions are offered in, as members have it; V(*) for all that are not listed.
    type: str
    default: "*"
  versions:
    description: Generally available versions, each C(x.y.z).
    type: list
    elements: str
    default: []
  feeds:
    description:
      - Files with published lists of versions, YAML or JSON. Plain lists of versions, the release schedule of
        Kubernetes (C(schedule.yaml)), C(endoflife.date), and what C(az aks get-versions -o json),
        C(gcloud container get-server-config --format json) and C(aws eks describe-cluster-versions) print.
      - What is out of support by them is recorded as deprecated, which nobody chooses; what has a day, from that day.
    type: list
    elements: path
    default: []
  from_members:
    description:
      - Take over the versions that control planes of O(provider) in O(location) had when they were read last.
      - A minor that one member alone has, more than one above what others have and O(versions) and O(feeds) tell, is
        left out, with a note.
    type: bool
    default: false
  supported_minors:
    description:
      - Minors that are supported, the newest included. It wins over what O(src) and O(definition) say; what they say,
        else what is recorded, if absent; else 3.
    type: int
  exact:
    description: Versions that were recorded earlier in O(location) go, unless they are told again.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: What Azure offers in West Europe, as its command line tells
  gitops.fleet.release_catalog:
    name: aks
    provider: azure
    location: westeurope
    feeds: [aks-westeurope.json]

- name: A list of one's own, with what members run already
  gitops.fleet.release_catalog:
    name: own
    versions: [1.35.4, 1.36.3]
    from_members: true
"""

RETURN = r"""
catalogues:
  description: Names of the catalogues that were recorded.
  returned: state is present
  type: list
  elements: str
notes:
  description: What is worth a word about the manifests, members whose version was left out, and options of no effect.
  returned: state is present
  type: list
  elements: dict
"""
