"""What to do with the probabilities of several classes."""

from __future__ import annotations

from calibrant.auditing.class_findings import ClassFindings
from calibrant.auditing.findings import Action, Advice
from calibrant.table.numbers import counted, share, write_change

_NO_MORE = "what maps gain on rows they were not fitted to may be chance, so MulticlassAutoCalibrator changes nothing"
_NO_LESS = "recalibration does not lower the log loss of rows that it was not fitted to"


def advise_on_classes(audit: ClassFindings) -> Advice:
    """Weigh the effect of recalibration, and what is decided."""
    effect, verdict = audit.recalibration, audit.certificate.verdict
    if effect is None:
        return Advice("none", "recalibration was not assessed: it takes all classes, and two rows a fold.", None, None)
    if effect.improves:
        before, after = write_change(effect.losses_before.log_loss, effect.losses_after.log_loss)
        changed = f"{share(effect.decisions_changed)} of the most probable classes change"
        judged = counted(audit.n) if effect.n == audit.n else f"{effect.n:,} of {audit.n:,} rows"
        reason = f"on {judged} not fitted to, the log loss falls from {before} to {after}; {changed}."
        return Advice("recalibrate", reason, None, "calibrator = cal.MulticlassAutoCalibrator().fit(P, y)")
    action: Action = "leave alone"
    lacking = _NO_MORE if effect.unchanged else _NO_LESS
    reason = f"{lacking}."
    if verdict in ("undecided", "uninformative"):
        action, reason = "collect more data", f"these rows do not decide, and {lacking}."
    elif verdict == "refuted" or audit.rejected:
        reason = f"{lacking}; what is wrong takes another model, or more rows."
    return Advice(action, reason, None, None)
