#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: update_run_info
short_description: How far update runs are, and what they wait for
version_added: 0.1.0
description:
  - Returns update runs as data and as a tree of text, recorded ones, or ones in files that are not recorded yet. Asks
    no member, and records nothing.
  - Tells on request when each stage and member will begin and end, from windows, limits, gates, what members were at
    when they were read last, and how long upgrades took, in other runs and in this one.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
  - gitops.fleet.manifests
options:
  names:
    description: Only these runs.
    type: list
    elements: str
    default: []
  src:
    description:
      - Files and folders with manifests of C(UpdateRun) and C(UpdateStrategy), and of the C(FleetMaintenance) and
        C(ReleaseCatalog) that runs go by.
      - Runs in them are told of as they would be defined now, so that one can be forecast before it is made; without
        O(names) these alone. Whatever is not in them is taken from the records.
    type: list
    elements: path
    default: []
  forecast:
    description:
      - Forecast runs that have not ended. One that was never started is taken to be started now, gates are taken to be
        approved within some hours, upgrades to succeed.
    type: bool
    default: false
  calendar:
    description: List for these runs who can begin when, over windows and freezes, what is waited for, and the stages.
    type: bool
    default: false
  days:
    description: How many days the calendar reaches ahead, 1 to 366.
    type: int
    default: 30
  waiting:
    description: Name besides what a schedule carries on, as the playbook C(tick) does, and unfinished placements.
    type: bool
    default: false
  write_calendar:
    description: File that gets the calendar as iCalendar (C(.ics)), whole or not at all.
    type: path
  write_markdown:
    description: File to write forecasts and calendars to, as Markdown for a pull request.
    type: path
"""

EXAMPLES = r"""
- name: See what holds a run
  gitops.fleet.update_run_info:
    names: [web-136]
  register: update_found

- name: See when it will be done, and keep the calendar of the month
  gitops.fleet.update_run_info:
    names: [web-136]
    forecast: true
    write_calendar: web-136.ics

- name: Show what the next two weeks would be like before the run is made
  gitops.fleet.update_run_info:
    src: [updates/]
    names: [web-137]
    forecast: true
    calendar: true
    days: 14
"""

RETURN = r"""
runs:
  description:
    - Each run with C(name), C(state), C(run_outcome), C(digest), C(tree), C(status), C(waits_for) and C(uncovered), as
      M(gitops.fleet.update_run) returns them, C(conducted_by), the holder of its lease, C(made_good_by), the name of
      the retry after which nobody is left behind, and C(superseded_by), that of the last run that was started after one
      that failed, and takes all whom that would try again as far; they are empty where there is none.
    - With O(forecast), C(forecast) has C(run), C(stages), C(members), each with C(state) at the end, C(start) and
      C(end) as C(p50) and C(p90) (half and nine of ten courses are there by then; null for never), C(expected) with
      the C(start) and C(end) of the course in the middle, of which C(table), C(waits) and the calendar are, C(reason)
      and C(blocker), what is waited for, or why a member fails without a start;
      C(waits), spans in which nothing is in flight; C(next_change), the next instant at which anything changes by
      itself; C(durations) in seconds, with the number of other runs they are learned from; C(members_read).
    - With O(calendar), C(calendar) is a list of C(kind) (C(open), C(freeze), C(closed), which is what a freeze takes of
      an opening of windows, C(wait), C(stage)), C(what), C(start), C(end) and C(members).
    - C(table) has the lines of text of both.
  returned: success
  type: list
  elements: dict
waiting:
  description:
    - With O(waiting), C(staged_runs) are the names of staged update runs that were started and have not ended, or that
      stop and have clusters in flight. C(rotations) are those of NodeRotations that were begun and have not ended, and
      of those by age alone (C(olderThan)) that have ended well. C(unread) are kinds that the account may not list.
    - C(placements) were applied and are not through yet, or are being deleted, each with C(name), C(why) and C(since),
      when that began (empty if it is not known); those that staged update runs give to clusters are not among them.
      They need their manifests, and the command that carries each on is printed.
  returned: success
  type: dict
problems:
  description:
    - What is wrong with runs that are left out, and with O(waiting) with placements, as their records are damaged or
      were altered.
  returned: success
  type: list
  elements: dict
"""
