"""What people call rows, events and clusters, put into all that an audit says of them where it leaves the audit.

Sentences, heads of tables and pictures, wherever they are made, say "rows", "positives" or "events", and "clusters".
`told` replaces these words and no others: not names from outside, options, or code, which callers do not pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from calibrant.auditing.findings import AuditFindings
from calibrant.errors import ArgumentError
from calibrant.printable import visible
from calibrant.table.parameters import check_choice

_KEYS = ("rows", "events", "clusters")
# True and false positives are terms, and so is the cluster jackknife; "positive" alone is mostly no noun.
_OURS = (
    r"(?<![\w`-])(?P<a>[Aa] )?(?:(?P<rows>[Rr]ows?)|(?P<clusters>[Cc]lusters?)(?! jackknife)|(?P<events>"
    r"(?<!rue )(?<!alse )[Pp]ositives|[Ee]vents|(?<=[Aa] )positive(?= scores| had)|(?<=[\d%] )positive))"
    r"(?![\w=`-]|\.\w)"
)


class _OwnWords(NamedTuple):
    """Words by key, and what finds ours; names from outside that have them stay as they are."""

    words: Mapping[str, str]
    names: frozenset[str]
    pattern: re.Pattern[str]

    def told(self, text: str) -> str:
        """Return a text, of which the user wrote no more than names, with these words."""
        return text if text in self.names else self.pattern.sub(self._word, text)

    def _word(self, match: re.Match[str]) -> str:
        key = match.lastgroup or ""
        if key not in self.words:
            return match[0]
        ours, article = match[key], match["a"] or ""
        plural, _, singular = map(str.strip, self.words[key].partition("/"))
        word = singular or _singular(plural)
        if ours[-1] == "s" or (key == "events" and not article):
            word = plural
        if article and word[0].lower() in "aeiou":
            article = f"{article[0]}n "
        return visible(article + (word[0].upper() + word[1:] if ours[0].isupper() else word))


def teller_of(audit: AuditFindings) -> Callable[[str], str]:
    """Return what puts the words that an audit was given into a text; without words `str`."""
    words = audit.provenance.parameters.get("words")
    if not words:
        return str
    names = frozenset(name for name in map(str, _names(audit)) if re.search(_OURS, name))
    alone = {name for name in names if re.fullmatch(_OURS, name)}  # in a sentence it may be the word
    untouched = [*(names - alone), *(form for name in alone for form in (f"class {name}", repr(name)))]
    listed = "|".join(map(re.escape, sorted(untouched, key=len, reverse=True)))
    return _OwnWords(words, names, re.compile(f"(?P<name>{listed or '(?!)'})|{_OURS}")).told


def check_words(words: Any) -> None:
    """Raise an `ArgumentError` if these are no words for rows, events or clusters."""
    if not isinstance(words, Mapping):
        raise ArgumentError("`words` as a mapping, such as {'rows': 'patients'}", repr(words), "name what you rename")
    for key, word in words.items():
        check_choice("keys of words", key, _KEYS)
        forms = word.split("/") if isinstance(word, str) else []
        if not 1 <= len(forms) <= 2 or not all(map(str.strip, forms)) or set(",=") & set(word):
            expected = f"`words` for {key} as a plural, such as 'patients', or with its singular, 'people/person'"
            raise ArgumentError(expected, repr(word), "write such a noun, or leave it out")


def _names(audit: Any) -> Iterator[Any]:
    """Yield names of the user, which may have the words that are replaced."""
    yield from (audit.name, audit.provenance.source, *(getattr(audit, "classes", None) or ()))
    if audit.segments is not None:
        yield from audit.segments.segment.tolist()
        for of_segment in (*audit.segments.columns_of, *audit.segments.levels):
            yield from of_segment
    if audit.grades is not None:
        yield from audit.grades.grades["grade"].tolist()
    if getattr(audit, "heterogeneity", None) is not None:
        yield from audit.heterogeneity.observed_expected.cluster


def _singular(plural: str) -> str:
    """Return one of many in English; what has another singular is written with it."""
    for end, one in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("ss", "ss")):
        if plural.endswith(end):
            return plural.removesuffix(end) + one
    return plural.removesuffix("s")
