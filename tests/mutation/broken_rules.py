# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules broken on purpose, one at a time, and the test that has to notice each.

Files are below plugins/module_utils/_core, tests below tests/unit/plugins/module_utils/_core.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Broken:
    """``right`` stands exactly once in ``file`` and is replaced by ``wrong``; then ``test`` fails."""

    rule: str
    file: str
    right: str
    wrong: str
    test: str


BROKEN = (
    Broken(
        "a heartbeat is too old after five minutes",
        "scheduling/cluster_eligibility.py",
        "HEARTBEAT_LIMIT = timedelta(minutes=5)",
        "HEARTBEAT_LIMIT = timedelta(minutes=6)",
        "scheduling/test_cluster_eligibility.py::test_first_reason_wins_and_limits_are_exclusive",
    ),
    Broken(
        "a cluster of which nobody knows that it joined is not eligible",
        "scheduling/cluster_eligibility.py",
        'if joined is None or joined.status != "True":',
        'if joined is not None and joined.status == "False":',
        "scheduling/test_cluster_eligibility.py::test_first_reason_wins_and_limits_are_exclusive",
    ),
    Broken(
        "a toleration without a key covers every taint",
        "objects/clusters/tolerations.py",
        'return toleration.key in ("", taint.key)',
        "return toleration.key == taint.key",
        "scheduling/test_taint_toleration.py::test_what_a_toleration_covers_D4_70_D4_72",
    ),
    Broken(
        "a skew of exactly maxSkew is allowed",
        "scheduling/topology_spread.py",
        "self.largest - self.smallest + change > max_skew",
        "self.largest - self.smallest + change >= max_skew",
        "scheduling/test_topology_spread.py::test_what_one_more_cluster_does_to_the_skew_D4_35",
    ),
    Broken(
        "ScheduleAnyway lowers the rank of a violating domain",
        "scheduling/topology_spread.py",
        "else -PENALTY",
        "else 0",
        "scheduling/test_topology_spread.py::test_schedule_anyway_only_lowers_the_rank_D4_33",
    ),
    Broken(
        "enough holders need no cycle",
        "scheduling/picking/pick_n.py",
        "if wanted <= len(book.current):",
        "if wanted < len(book.current):",
        "scheduling/picking/test_pick_n.py::test_enough_holders_need_no_cycle_and_the_others_are_told_why",
    ),
    Broken(
        "under a spread clusters are picked one by one",
        "scheduling/picking/pick_n.py",
        "batch = 1 if spread else missing",
        "batch = missing",
        "scheduling/picking/test_pick_n.py::test_stickiness_lasts_over_all_batches_of_a_spread_but_upstream_D4_97",
    ),
    Broken(
        "the order of objects makes no new resource snapshot",
        "resources/snapshots.py",
        "return digest_of(sorted(object_hashes))",
        "return digest_of(list(object_hashes))",
        "resources/test_snapshots.py::test_content_makes_a_new_resource_snapshot_and_its_order_does_not_d4_60",
    ),
    Broken(
        "variables of an override are filled in",
        "resources/overrides/patch.py",
        "return _inside(value, cluster, labels, wrong), tuple(dict.fromkeys(wrong))",
        "return value, tuple(dict.fromkeys(wrong))",
        "resources/overrides/test_patch.py::test_variables_are_filled_in_everywhere_in_a_value",
    ),
    Broken(
        "maxUnavailable leaves clusters in service",
        "rollout/rolling/budget.py",
        "return self.target - self.max_unavailable",
        "return self.target + self.max_unavailable",
        "rollout/rolling/test_decide.py::test_changed_content_reaches_the_first_cluster_by_name_D4_102",
    ),
    Broken(
        "a percentage is rounded up where it says so",
        "values/int_or_percent.py",
        "math.ceil(share) if round_up else math.floor(share)",
        "math.floor(share)",
        "values/test_int_or_percent.py::test_an_integer_is_itself_and_a_percentage_is_taken_of_the_total",
    ),
    Broken(
        "the strictest active budget holds",
        "disruption/budgets/budgets.py",
        "limit = min(limit, rule.value(on, nodes))",
        "limit = max(limit, rule.value(on, nodes))",
        "disruption/budgets/test_budgets.py::test_percentages_round_up_d0_61",
    ),
    Broken(
        "no more is left than nothing",
        "disruption/budgets/budgets.py",
        "return max(self.limit - disrupting, 0)",
        "return self.limit - disrupting",
        "disruption/budgets/test_budgets.py::test_a_number_may_exceed_the_total_d0_63",
    ),
    Broken(
        "an unreadable schedule closes the pool",
        "disruption/budgets/budgets.py",
        "limit, error = 0, True\n        elif",
        "limit, error = 1, True\n        elif",
        "disruption/budgets/test_budgets.py::test_one_unreadable_schedule_closes_the_pool_for_every_reason_d0_77",
    ),
    Broken(
        "a group over its limit is Failed (G4)",
        "updates/status.py",
        '("G4", lambda g: g.breached, FAILED)',
        '("G4", lambda g: g.breached, STOPPED)',
        "updates/test_status.py::test_group_rows",
    ),
    Broken(
        "a latched run is Failed although it was stopped (R4)",
        "updates/status.py",
        '("R4", lambda r: FAILED in r.stages or (r.latched and r.stop), FAILED)',
        '("R4", lambda r: FAILED in r.stages, FAILED)',
        "updates/test_status.py::test_run_rows",
    ),
    Broken(
        "a stage halts at more failures than it allows, not at as many",
        "updates/failure_threshold.py",
        "sum(counted) > stage.max_allowed_failures",
        "sum(counted) >= stage.max_allowed_failures",
        "updates/test_decide.py::test_01_default_is_one_by_one",
    ),
    Broken(
        "a share of concurrency is never none",
        "updates/strategy.py",
        "return max(1, self._number(text",
        "return max(0, self._number(text",
        "updates/test_strategy.py::test_concurrency_is_rounded_down_but_never_to_none",
    ),
    Broken(
        "groups take turns for the slots of a stage",
        "updates/dispatch.py",
        "free - 1, at, 0",
        "free - 1, 0, 0",
        "updates/test_dispatch.py::test_the_turn_goes_on_after_the_group_served_last_and_over_a_restart",
    ),
    Broken(
        "each retry is an attempt of its own",
        "updates/dispatch.py",
        "attempt = row.attempt + 1",
        "attempt = max(row.attempt, 1)",
        "updates/test_decide.py::test_05_restart_after_a_failure",
    ),
    Broken(
        "a member is skipped once it was unreachable for the whole time",
        "updates/timing/obstacles.py",
        "now - row.pending_since < run.unreachable_timeout",
        "now - row.pending_since <= run.unreachable_timeout",
        "updates/test_dispatch.py::test_unreachable_for_too_long_is_skipped",
    ),
    Broken(
        "a window that opens in exactly four hours opens soon",
        "updates/timing/member_order.py",
        "opens - now <= NEAR",
        "opens - now < NEAR",
        "updates/timing/test_member_order.py::test_class",
    ),
    Broken(
        "a scheduled gate that is exactly due opens a week later",
        "updates/gates.py",
        "found if found > local else",
        "found if found >= local else",
        "updates/test_gates.py::test_next_occurrence",
    ),
    Broken(
        "members that were stopped go on with the next start",
        "updates/commands.py",
        "if row.state not in (FAILED, STOPPED):",
        "if row.state not in (FAILED,):",
        "updates/test_commands.py::test_stop_of_a_pending_run",
    ),
    Broken(
        "a member in flight is not skipped",
        "updates/skipping.py",
        "if found == RUNNING:",
        "if found == COMPLETED:",
        "updates/test_skipping.py::test_a_member_in_flight_is_refused_its_group_is_not",
    ),
    Broken(
        "a control plane goes one minor at a time",
        "updates/releases/versions.py",
        "if distance <= 1:",
        "if distance <= 2:",
        "updates/releases/test_versions.py::test_one_minor_at_a_time",
    ),
    Broken(
        "a namespaced placement is told what selects a cluster-scoped kind",
        "resources/selection.py",
        'hint = "use a ClusterResourcePlacement"',
        'hint = ""',
        "resources/test_selection.py::test_a_namespaced_placement_selects_no_cluster_scoped_kind",
    ),
    Broken(
        "another effect of an override is no change",
        "plan/compose.py",
        "return _overrides(old) == content.overrides",
        "return True",
        "plan/test_rendering.py::test_what_an_override_changes_is_content_and_nothing_else_is",
    ),
    Broken(
        "what is left out is held",
        "plan/losing/held.py",
        "for each in there if each.key not in binding.left_out)",
        "for each in there)",
        "plan/test_rendering.py::test_what_is_left_out_is_pruned_where_it_is_held_and_named_once",
    ),
    Broken(
        "the name of an override is made without the key",
        "resources/overrides/effect.py",
        "key if secret else b",
        "b'' if secret else b",
        "plan/test_rendering.py::test_a_name_does_not_let_a_weak_value_of_a_secret_be_guessed",
    ),
    Broken(
        "a digest covers what all clusters get alone",
        "plan/digest.py",
        '**({"renderings": apart} if apart else {}),',
        "",
        "plan/test_rendering.py::test_the_digest_can_be_found_again_from_the_file",
    ),
    Broken(
        "what nobody owns is an addition of others",
        "resources/comparison/compare.py",
        "if isinstance(pair.desired, Absent) and others:",
        "if isinstance(pair.desired, Absent):",
        "resources/comparison/test_compare.py::test_what_others_have_added_counts_and_what_servers_filled_in_does_not",
    ),
    Broken(
        "labels that are no map are compared as they are",
        "resources/comparison/compare.py",
        "or not isinstance(pair.desired, t.Mapping):\n        return []",
        "or pair.desired is None:\n        return []",
        "resources/comparison/test_compare.py::test_labels_that_are_no_map_are_a_difference_and_no_fault",
    ),
    Broken(
        "objects that are not available are counted",
        "plan/status.py",
        "late = judged.count(NOT_YET)",
        "late = min(1, judged.count(NOT_YET))",
        "plan/test_status.py::test_how_many_objects_are_available_is_told",
    ),
    Broken(
        "objects of which availability cannot be told are counted",
        "plan/status.py",
        "{judged.count(NOT_TRACKABLE):,} of",
        "{len(judged):,} of",
        "plan/test_status.py::test_how_many_objects_are_available_is_told",
    ),
    Broken(
        "a window lasts a year at most",
        "windows/fleet_windows.py",
        "length > timedelta(minutes=366 * DAY)",
        "length > timedelta(minutes=367 * DAY)",
        "windows/test_fleet_windows.py::test_a_window_lasts_a_minute_to_a_year",
    ),
    Broken(
        "a holder that could not be read takes no place from one that could",
        "plan/document.py",
        "each.change != LOST and each.cause != KEPT_UNREADABLE",
        "each.change != LOST",
        "plan/losing/test_unreadable.py::test_silent_holders_are_not_what_the_policy_asks_for",
    ),
)
