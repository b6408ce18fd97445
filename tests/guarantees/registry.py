"""Which public function says something about chance, and which tests hold it to that."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

PLACES = (
    "auditing",
    "calibrators",
    "certificates",
    "certificates.widths",
    "curves",
    "decisions",
    "metrics",
    "monitoring",
    "papers",
)


def public_functions() -> dict[str, Callable[..., Any]]:
    """Public functions by name, such as "certificates.certify"; those that only the package itself has have no dot."""
    found: dict[str, Callable[..., Any]] = {}
    for place in (*PLACES, ""):
        module = importlib.import_module(f"calibrant.{place}".rstrip("."))
        for name in module.__all__:
            function = getattr(module, name)
            only_reads = function.__module__.startswith(("calibrant.cells", "calibrant.sources", "calibrant.export"))
            if inspect.isfunction(function) and function not in found.values() and not only_reads:
                found[f"{place}.{name}".lstrip(".")] = function
    return found


# Tests of functions without an entry in `statements.STATEMENTS`: widths that other functions add, which count with
# these; plans; and means under calibration, which are compared with exact or simulated ones.
ELSEWHERE = {
    "compare": [
        "guarantees/test_compare.py::test_all_intervals_hold_together",
        "guarantees/test_compare.py::test_each_limit_of_two_versions_of_one_model_holds",
        "guarantees/test_compare.py::test_intervals_that_are_narrower_fail",
        "guarantees/test_compare.py::test_positives_that_only_one_model_finds_are_rarely_seen",
        "guarantees/test_compare.py::test_clusters_that_hide_a_model_that_is_wrong_in_all_of_their_rows",
        "guarantees/test_compare.py::test_errors_that_are_largest_where_only_one_model_tells_scores_apart",
    ],
    "metrics.cluster_heterogeneity": [
        "guarantees/test_between_clusters.py::test_hospitals_with_few_events_or_unequal_risks",
        "guarantees/test_between_clusters.py::test_hospitals_with_a_slope_and_an_area",
        "guarantees/test_between_clusters.py::test_hospitals_with_areas_near_one",
        "guarantees/test_between_clusters.py::test_normal_values_with_known_variances",
        "guarantees/test_between_clusters.py::test_shorter_intervals_between_hospitals_are_caught",
        "guarantees/test_between_clusters.py::test_the_usual_summary_fails",
    ],
    "certificates.widths.anytime_width": [
        "guarantees/test_normal_and_anytime.py::test_anytime_bound_is_seldom_ever_below_the_truth",
        "guarantees/test_search.py::test_no_population_found_in_which_a_claim_fails_too_often",
    ],
    "metrics.mean_bias": [
        "guarantees/test_mean_intervals.py::test_balance_and_bias_of_rows",
        "guarantees/test_mean_intervals.py::test_balance_where_few_rows_decide",
        "guarantees/test_mean_intervals.py::test_balance_and_bias_of_clusters",
    ],
    "curves.binned_means": ["guarantees/test_mean_intervals.py::test_bins"],
    "decisions.swap_regret": [
        "guarantees/test_swap_regret.py::test_one_score_vector_exactly",
        "guarantees/test_swap_regret.py::test_bounds_are_seldom_wrong",
        "guarantees/test_swap_regret.py::test_no_world_was_found_by_search",
    ],
    "selective": [
        "guarantees/test_selective.py::test_seldom_certified_where_risk_is_too_high",
        "guarantees/test_selective.py::test_every_outcome_of_small_worlds",
        "guarantees/test_selective.py::test_no_world_was_found_by_search",
        "guarantees/test_selective.py::test_several_targets_and_groups_hold_together",
        "guarantees/test_selective.py::test_clusters_of_any_dependence",
    ],
    "selective_binary": [
        "guarantees/test_selective.py::test_both_sides_hold_together",
        "guarantees/test_selective.py::test_positives_that_are_missed",
    ],
    "find_segments": [
        "guarantees/test_segments.py::test_search_spends_everything_on_lower_bounds",
        "guarantees/test_segments.py::test_search_finds_what_it_says_and_seldom_what_is_not_there",
    ],
    "certificates.widths.bernstein_width": [
        "guarantees/test_certificate_coverage.py::test_worst_cases_found_by_search"
    ],
    "certificates.certify_ece": [
        "guarantees/test_certified_ece.py::test_both_bounds_and_the_test_hold",
        "guarantees/test_certified_ece.py::test_square_cells_with_rising_rates_exactly",
    ],
    "certificates.widths.default_width": ["guarantees/test_certificate_coverage.py::test_worst_cases_found_by_search"],
    "papers.l1_cannot_be_certified": ["guarantees/test_l1.py::test_no_verifier_tells_the_worlds_apart"],
    "papers.l1_from_repeats": [
        "guarantees/test_defaults.py::test_bounds_from_repeats",
        "guarantees/test_l1.py::test_bound_on_squares_exactly",
    ],
    "certificates.widths.asymptotic_width": ["guarantees/test_normal_and_anytime.py::test_normal_bound_at_one_score"],
    "plan": [
        "guarantees/test_power.py::test_certified_as_often_as_asked",
        "guarantees/test_performance_intervals.py::test_intervals_have_the_width_planned",
        "guarantees/test_means.py::test_planned_rows_certify",
        "unit/certificates/test_certificates.py::test_sample_size_is_the_smallest_that_is_enough",
        "unit/certificates/test_expected_error.py::test_planned_rows_have_the_power_asked_for",
        "unit/certificates/test_plan.py::test_about_half_of_the_samples_refute",
        "unit/decisions/test_planning.py::test_power_is_what_samples_show",
    ],
    "certificates.widths.brownian_width": ["guarantees/test_interval.py::test_interval_contains_the_true_error"],
    "papers.hoeffding_width": ["unit/papers/test_uniform_convergence.py::test_hoeffding_at_one_score"],
    "papers.uniform_convergence_width": ["unit/papers/test_uniform_convergence.py::test_theorem_2_at_one_score"],
    "certificates.widths.monotone_width": [
        "guarantees/test_lower_bound.py::test_closed_form_bounds_the_uniform_process"
    ],
    "decisions.isotonic_harm_bound": ["guarantees/test_cost_bands.py::test_isotonic_recalibration_does_no_more_harm"],
    "monitoring.combine": ["guarantees/test_monitor.py::test_the_mean_of_monitors_that_share_their_rows"],
    "metrics.binned_calibration": ["guarantees/test_binned_noise.py::test_noise_is_an_upper_limit"],
    "metrics.integrated_calibration_index": ["unit/metrics/test_local_metrics.py::test_noise_floor_of_the_index"],
    "metrics.local_calibration": [
        "unit/metrics/test_local_metrics.py::test_noise_floor_is_the_mean_of_calibrated_samples"
    ],
    "papers.lcs": ["unit/metrics/test_local_metrics.py::test_noise_floor_is_the_mean_of_calibrated_samples"],
}

# Of functions that have an entry there: tests of other kinds of outcomes.
OTHER_KINDS = {
    "audit": [
        "guarantees/test_segments.py::test_bounds_of_one_column_are_those_of_the_theory",
        "guarantees/test_segments.py::test_bounds_of_one_score_exactly",
        "guarantees/test_segments.py::test_everything_holds_together",
        "guarantees/test_class_table.py::test_classes_in_segments_hold_together",
        "guarantees/test_class_table.py::test_classes_in_segments_of_clusters_hold_together",
        "guarantees/test_chances.py::test_classes_in_segments_hold_together",
        "guarantees/test_grades.py::test_limits_of_all_grades_hold_together",
        "guarantees/test_chances.py::test_limits_of_grades_hold_together",
        "guarantees/test_grades.py::test_right_pds_are_seldom_called_off",
        "guarantees/test_grades.py::test_narrower_limits_and_single_tests_would_be_caught",
        "guarantees/test_grades.py::test_right_pds_of_panels_in_many_samples",
        "guarantees/test_grades.py::test_right_amounts_are_seldom_called_off_and_limits_hold",
        "unit/distributions/test_event_count.py::test_mean_limits_hold_whatever_the_probabilities",
        "guarantees/test_mean_intervals.py::test_right_amounts_are_seldom_recalibrated",
        # of the certificate that it holds
        "guarantees/test_means.py::test_capped_outcomes",
        "guarantees/test_means.py::test_too_high_needs_no_cap",
        "guarantees/test_means.py::test_without_a_cap",
    ],
    "certificates.certify": [
        "guarantees/test_classes.py::test_bounds_of_one_score_vector_exactly",
        "guarantees/test_classes.py::test_bounds_are_seldom_wrong",
        "guarantees/test_classes.py::test_no_world_was_found_by_search",
        "guarantees/test_class_table.py::test_bounds_of_one_score_exactly",
        "guarantees/test_class_table.py::test_everything_holds_together_and_counts_by_themselves",
        "guarantees/test_class_table.py::test_counts_where_two_classes_fail_apart",
        "guarantees/test_class_table.py::test_no_world_was_found_by_search",
        "guarantees/test_chances.py::test_no_strata_were_found_by_search",
        "guarantees/test_chances.py::test_a_stratum_that_is_mostly_not_drawn",
        "guarantees/test_chances.py::test_classes_are_bounded_together",
        "guarantees/test_chances.py::test_clusters_that_are_looked_at_together",
        "guarantees/test_fixed_beforehand.py::test_bounds_hold_of_what_their_claims_are_about",
        "guarantees/test_means.py::test_least_favourable_points",
        "guarantees/test_means.py::test_no_points_were_found_by_search",
        "guarantees/test_means.py::test_capped_outcomes",
        "guarantees/test_means.py::test_too_high_needs_no_cap",
        "guarantees/test_means.py::test_without_a_cap",
        "guarantees/test_means.py::test_clusters_of_any_dependence",
        "guarantees/test_means.py::test_clusters_with_a_limit",
    ],
    "certificates.calibration_test": [
        "guarantees/test_mean_test.py::test_right_amounts_are_seldom_rejected",
        "guarantees/test_mean_test.py::test_without_what_was_not_seen_they_are_rejected",
        "guarantees/test_mean_test.py::test_right_shares_and_counts_are_seldom_rejected",
        "guarantees/test_mean_test.py::test_named_distributions_have_their_level",
        "guarantees/test_clustered.py::test_right_amounts_and_classes_of_clusters_are_seldom_rejected",
        "guarantees/test_clustered.py::test_without_their_clusters_they_would_be_and_wrong_ones_are",
    ],
}

# Worst cases: by a search, or where a claim is about one number of one score, over all of its rates.
WILSON = "unit/distributions/test_binomial.py::test_wilson_covers_on_average_and_would_not_if_narrower"
SEARCH = "guarantees/test_search.py::test_no_population_found_in_which_a_claim_fails_too_often"
WORST_CASES = {
    "audit": SEARCH,  # of the functions whose results it holds
    "auditing.cross_fitted": SEARCH,  # its bound is that of `certify_recalibrated`
    "certificates.calibration_test": "guarantees/test_search.py::test_no_scores_found_that_are_rejected_too_often",
    "certificates.certify": SEARCH,
    "certificates.certify_recalibrated": SEARCH,
    "certificates.isotonic_band": SEARCH,
    "curves.binned_curve": WILSON,
    "curves.local_curve": "guarantees/test_local_intervals.py::test_clopper_pearson_holds_the_average_of_the_window",
    "decisions.cost_curve": "guarantees/test_cost_statements.py::test_normal_intervals_hold_at_every_rate",
    "decisions.max_regret": SEARCH,
    "decisions.net_benefit": "guarantees/test_cost_statements.py::"
    "test_intervals_of_curves_hold_at_every_rate_at_one_score",
    "decisions.expected_cost": SEARCH,
    "metrics.calibration_in_the_large": "guarantees/test_performance_intervals.py::test_limits_at_one_score_exactly",
    "metrics.calibration_slope": "guarantees/test_performance_intervals.py::test_intervals_hold",
    "metrics.cutoff_calibration": SEARCH,
    "metrics.observed_expected_ratio": "guarantees/test_performance_intervals.py::test_limits_at_one_score_exactly",
    "metrics.roc_auc_interval": "guarantees/test_auc_interval.py::test_where_few_rows_decide_each_end_is_careful",
}

SAYS_NOTHING = {
    "turns one number into another": [
        "decisions.decide",
    ],
    "describes weights or a class of functions": [
        "papers.rademacher_finite",
        "papers.rademacher_linear",
        "papers.rademacher_of_intervals",
    ],
    "repeats what other results say": ["auditing.audit_index"],
    "describes the sample": [
        "curves.isotonic_curve",
        "papers.lipschitz_fit",
        "curves.isotonic_means",
        "curves.concentration_curve",
        "curves.cumulative_residuals",
        "curves.score_histogram",
        "decisions.confusion",
        "metrics.brier_decomposition",
        "metrics.brier_score",
        "metrics.class_sum_calibration",
        "metrics.class_wise_calibration",
        "metrics.concentration",
        "metrics.confidence_calibration_error",
        "metrics.cutoff_calibration_error",
        "metrics.expected_calibration_error",
        "metrics.local_calibration_score",
        "papers.wmse",
        "metrics.log_loss",
        "metrics.log_loss_decomposition",
        "metrics.mean_calibration_error",
        "metrics.mean_decomposition",
        "metrics.mean_deviance",
        "metrics.roc_auc",
        "metrics.smooth_calibration_error",
    ],
    "compares with the truth, which is given": [
        "papers.l1_error",
        "papers.accuracy_ece",
        "papers.score_divergence",
        "papers.true_mse",
    ],
    "draws a world": ["papers.distorted_probabilities", "papers.documents", "papers.two_feature_logit"],
}

# Functions that sound as if they said something, and fields of their results that do: holding places, or nothing.
NO_LIMITS = {
    "papers.rademacher_of_intervals": set(),
    "curves.isotonic_curve": {"lower", "upper", "interval", "confidence_level"},  # of curves that have an interval
    "curves.isotonic_means": {"lower", "upper", "interval", "confidence_level"},  # likewise
    "curves.cumulative_residuals": {"interval"},  # between the extremes
    "curves.concentration_curve": {"interval"},  # likewise
    "metrics.class_wise_calibration": {"low", "high"},  # where the error is found
}
