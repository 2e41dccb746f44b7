#!/bin/sh
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A driver in one file: how clusters of a platform are upgraded with its command line, here called cloudctl.
# Update runs call it with begin, observe and poll; the role gitops.fleet.cluster_upgrade with step.
set -eu

start() { # prints the platform's operation; the request id makes a second start harmless
    cloudctl upgrade "$GITOPS_FLEET_MEMBER" "$GITOPS_FLEET_TARGET" --request-id "$GITOPS_FLEET_OPERATION"
}

tell() { # by exit code: 0 done, 1 failed, 75 not yet
    case $(cloudctl operation "$1") in
        done) exit 0 ;;
        failed) exit 1 ;;
        *) exit 75 ;;
    esac
}

case "$1" in
    begin) operation=$(start) && printf '{"reference": "%s"}\n' "$operation" ;;
    observe) cloudctl version "$GITOPS_FLEET_MEMBER" ;;
    poll) tell "$GITOPS_FLEET_REFERENCE" ;;
    step) operation=$(start) && tell "$operation" ;;
esac
