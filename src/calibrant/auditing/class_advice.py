"""What to do with the probabilities of several classes."""

from __future__ import annotations

from calibrant.auditing.class_findings import ClassFindings
from calibrant.auditing.findings import Action, Advice
from calibrant.table.numbers import counted, share, write_change

_NO_MORE = "recalibration lowers the log loss of rows it was not fitted to by no more than chance may"


def advise_on_classes(audit: ClassFindings) -> Advice:
    """Weigh the effect of recalibration, and what is decided."""
    effect, verdict = audit.recalibration, audit.certificate.verdict
    if effect is None:
        return Advice("none", "recalibration was not assessed: it takes all classes, and two rows a fold.", None, None)
    if effect.improves:
        before, after = write_change(effect.losses_before.log_loss, effect.losses_after.log_loss)
        changed = f"{share(effect.decisions_changed)} of the most probable classes change"
        judged = f"on {counted(effect.n)}{f' of {audit.n:,}' if effect.n < audit.n else ''}, to which it was not fitted"
        reason = f"{judged}, the log loss falls from {before} to {after}; {changed}."
        return Advice("recalibrate", reason, None, "calibrator = cal.MulticlassAutoCalibrator().fit(P, y)")
    action: Action = "leave alone"
    reason = f"{_NO_MORE}."
    if verdict in ("undecided", "uninformative"):
        action, reason = "collect more data", f"these rows do not decide, and {_NO_MORE}."
    elif verdict == "refuted" or audit.rejected:
        reason = f"{_NO_MORE}; what is wrong takes another model, or more rows."
    return Advice(action, reason, None, None)
