"""What reporting guidance for clinical prediction models asks for, and where the page has it."""

from __future__ import annotations

from calibrant.auditing.findings import Findings

__all__ = ["GUIDES", "guidance"]

# Keys of `calibrant.references`.
GUIDES = ("collins2024", "vancalster2025")


def guidance(audit: Findings) -> list[tuple[str, str, str, str]]:
    """Return guideline and item, what it asks for, the section of the page, and a remark; no section if it is not here.

    Only items about the performance of a model are listed: the others describe the study.
    """
    clusters = audit.sample.clusters is not None
    stratos, tripod = "STRATOS", "TRIPOD+AI {}".format
    return [
        (stratos, "discrimination: area under the ROC curve", "performance", ""),
        (stratos, "calibration plot with a smooth curve", "reliability", "loess, isotonic curve and bins"),
        (stratos, "clinical utility: net benefit, decision curve", "decisions", ""),
        (stratos, "distribution of the predictions by outcome", "reliability", "lower panel"),
        (tripod("10"), "justification of the sample size", "", "see calibrant plan"),
        (
            tripod("12d, 23b"),
            "heterogeneity across clusters",
            "performance" if clusters else "",
            "intervals are for clusters; clusters are not compared" if clusters else "no clusters were given",
        ),
        (tripod("12e"), "measures and plots used", "performance", ""),
        (tripod("12f, 24"), "updating of the model (recalibration) and its effect", "recalibration", "cross-validated"),
        (tripod("15"), "thresholds for decisions", "decisions", "" if audit.decision else "no costs were given"),
        (tripod("21"), "number of participants and of events", "performance", ""),
        (tripod("23a"), "performance with confidence intervals", "performance", "all rows; for groups audit each"),
    ]
