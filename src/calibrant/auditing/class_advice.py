"""What to do with the probabilities of several classes."""

from __future__ import annotations

import math

from calibrant.auditing.class_findings import ClassFindings
from calibrant.auditing.findings import Action, Advice
from calibrant.auditing.next_steps import Asked, recalibration
from calibrant.auditing.verdict import OPEN
from calibrant.auditing.wording import gain_text
from calibrant.table.numbers import counted, share, write_change

_NO_MORE = "what maps gain on rows they were not fitted to may be chance, so MulticlassAutoCalibrator changes nothing"
_NO_LESS = "recalibration does not lower the log loss of rows that it was not fitted to"


def advise_on_classes(audit: ClassFindings, asked: Asked) -> Advice:
    """Weigh the effect of recalibration, and what is decided."""
    effect, certificate = audit.recalibration, audit.certificate
    if effect is None:
        return Advice("none", "recalibration was not assessed: it takes all classes, and two rows a fold.", None, None)
    before, after = write_change(effect.losses_before.log_loss, effect.losses_after.log_loss)
    # The largest probability is what people read: where it is shown to be off by more, classes alone do not suffice.
    sure = audit.confidence.lower_bound <= (certificate.tolerance or 0.0) and not audit.warnings
    if certificate.verdict == "certified" and sure:
        off = ", though the test rejects the probabilities" * audit.rejected
        gain = f"; recalibration would lower the log loss of rows not fitted to from {before} to {after}"
        reason = f"the error of every class is certified to be within the tolerance{off}{gain * effect.improves}."
        return Advice("leave alone", reason, None, None)
    if effect.improves:
        changed = f"{share(effect.decisions_changed)} of the most probable classes change"
        judged = counted(audit.n) if effect.n == audit.n else f"{effect.n:,} of {audit.n:,} rows"
        reason = f"on {judged} not fitted to, the log loss falls from {before} to {after}; {changed}"
        if math.isfinite(effect.gain):
            reason += f"; {gain_text('MulticlassAutoCalibrator', effect.gain, effect.gain_lower)}"
        return Advice("recalibrate", f"{reason}.", *recalibration(asked, "MulticlassAutoCalibrator()"))
    action: Action = "leave alone"
    lacking = _NO_MORE if effect.unchanged else _NO_LESS
    reason = f"{lacking}."
    if certificate.verdict in OPEN:
        action, reason = "collect more data", f"these rows do not decide, and {lacking}."
    elif certificate.verdict == "refuted" or audit.rejected:
        reason = f"{lacking}; what is wrong takes another model, or more rows."
    return Advice(action, reason, None, None)
