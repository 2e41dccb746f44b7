# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lookups. What they import is compiled once, and not for each task."""

from __future__ import annotations

from ..plugin_utils._bytecode import keep_bytecode

keep_bytecode()
