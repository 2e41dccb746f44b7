// Copyright: Contributors to the gitops.fleet project
// GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Whose CustomResourceDefinitions the tests put on an API server; no program of it is built.
module gitops.fleet/tests/cluster-api

go 1.24.0

require sigs.k8s.io/cluster-api v1.12.0
