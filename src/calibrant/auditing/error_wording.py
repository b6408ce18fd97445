"""The calibration error and its bounds in words: how much, and where."""

from __future__ import annotations

from calibrant.auditing.findings import Findings
from calibrant.certificates import Certificate
from calibrant.table.numbers import WrittenInterval, interval_text, number, share, write_interval, write_upper


def error_limits(certificate: Certificate) -> WrittenInterval:
    """Write estimate, lower and upper bound, with digits enough to see why there is this verdict on the tolerance."""
    return write_interval(certificate.estimate, certificate.lower_bound, certificate.bound, certificate.tolerance)


def error_text(audit: Findings) -> str:
    """Cutoff calibration error, and how much pooling of scores may hide of it."""
    hidden = hidden_error(audit)
    return error_number(audit) + (f" ({hidden})" if hidden else "")


def error_number(audit: Findings) -> str:
    """Cutoff calibration error, with as many digits as its bounds need."""
    value, certificate = audit.cutoff.value, audit.certificate
    if certificate is None or certificate.estimate != value:  # that of clusters is weighted
        return number(value)
    return error_limits(certificate).value


def hidden_error(audit: Findings) -> str:
    """How much pooling of scores may hide of the cutoff calibration error; empty if it is exact."""
    more = audit.cutoff.value_upper - audit.cutoff.value
    return f"up to {write_upper(more)} larger, since neighbouring scores were pooled" if more > 0.0 else ""


def plain_sentence(audit: Findings) -> str:
    """What was predicted and what was observed where the calibration error is attained."""
    cutoff = audit.cutoff
    if cutoff.interval is None:
        return error_place(audit)
    where = "over all rows"
    if cutoff.share < 1.0:
        where = f"for scores {interval_text(cutoff.interval)}, {share(cutoff.share)} of rows"
    return f"predicted {share(cutoff.mean_predicted)}, observed {share(cutoff.observed_rate)} {where}"


def error_range(audit: Findings) -> str:
    """Cutoff calibration error in few words: one number, or its limits if they differ as written."""
    least, most = error_number(audit), audit.cutoff.value_upper
    return least if audit.cutoff.value == most else f"{least} to {write_upper(most)}"


def error_place(audit: Findings) -> str:
    """Where the cutoff calibration error is attained, with the mean prediction and the observed rate there."""
    cutoff = audit.cutoff
    if cutoff.interval is None:
        return f"mean predicted and observed rate agree at every score{' after pooling' if hidden_error(audit) else ''}"
    weight = "over all rows" if cutoff.share == 1.0 else f"difference times {share(cutoff.share)} of rows"
    return (
        f"predictions are {cutoff.direction} for scores {interval_text(cutoff.interval)}: "
        f"mean predicted {share(cutoff.mean_predicted)}, observed rate {share(cutoff.observed_rate)} ({weight})"
    )
