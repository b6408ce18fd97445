"""What LaTeX needs: words without commands, and columns of tables that fit between the margins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from calibrant.printable import visible

# What LaTeX reads as commands, or has no letter for in its old fonts; a bracket or a star that begins a line of a table
# would be an argument of what ends the line before.
_LETTERS = {"\\": "backslash", "^": "asciicircum", "~": "asciitilde", "<": "less", ">": "greater"}
_ESCAPES = str.maketrans(
    {letter: f"\\{letter}" for letter in "#$%&_{}"}
    | {letter: f"\\text{name}{{}}" for letter, name in _LETTERS.items()}
    | {"\N{MINUS SIGN}": "$-$", "[": "{[}", "*": "{*}"}
)
# Sizes of letters with how many digits stand in a line of 12.7 cm, that of an article in 11 points on A4. A gap between
# columns is as wide as some of them, and a column has some to spare, for letters that are wider.
_SIZES = {"footnotesize": 77, "scriptsize": 84, "tiny": 105}
_GAP, _SPARE = 1.5, 0.7
_GAP_POINTS = 6
_NUMBER = re.compile(r"[^A-Za-z]*\d|\W*$")


def as_latex(value: Any) -> Any:
    """Escape what LaTeX would take for more than words; what a template wrote stays as it is."""
    from markupsafe import Markup

    return value if hasattr(value, "__html__") else Markup(visible(" ".join(str(value).split())).translate(_ESCAPES))


def latex_columns(heads: Sequence[Any], rows: Sequence[Sequence[Any]], numeric: bool) -> Any:
    """Return the size of a table's letters, and its columns: as wide as their cells if these fit, else wrapped.

    Every column that is wrapped is as wide as its longest word; what is left of the line is shared by how much longer
    the longest cells are. Of `numeric` tables, columns of numbers are set to the right.
    """
    from markupsafe import Markup

    columns = [[str(cell) for cell in column] for column in zip(heads, *rows, strict=True)]
    right = [numeric and i > 0 and all(map(_NUMBER.match, column[1:])) for i, column in enumerate(columns)]
    words = [max(len(word) for cell in column for word in re.split(r"[\s-]", cell)) + _SPARE for column in columns]
    cells = [max(map(len, column)) + _SPARE for column in columns]
    gaps = len(columns) - 1
    size, line = next(
        ((size, digits - _GAP * gaps) for size, digits in _SIZES.items() if sum(words) <= digits - _GAP * gaps),
        ("tiny", sum(words)),
    )
    if sum(cells) <= line:
        layout = "".join("r" if to_right else "l" for to_right in right)
    else:
        left = (line - sum(words)) / max(sum(cells) - sum(words), 1.0)
        shares = [(word + left * (cell - word)) / line for word, cell in zip(words, cells, strict=True)]
        layout = "".join(
            f">{{\\ragged{'left' if to_right else 'right'}\\arraybackslash}}"
            f"p{{\\dimexpr{share:.4f}\\linewidth-{share * gaps * _GAP_POINTS:.2f}pt}}"
            for to_right, share in zip(right, shares, strict=True)
        )
    return Markup(f"\\{size}\\tabcolsep={_GAP_POINTS / 2:g}pt\n\\begin{{tabular}}{{@{{}}{layout}@{{}}}}")
