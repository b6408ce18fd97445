"""Columns that cannot be used, or only just, with the words that every engine has to find for them."""

from __future__ import annotations

import math
from decimal import Decimal

NAN, INF = math.nan, math.inf

# Columns, keywords and what the error says. Frames in memory also say in which row.
WRONG = {
    "score missing": (
        {"y": [0, 1, 1], "p": [0.1, None, 0.3]},
        {},
        "scores, found (nan|an empty value|an empty value or nan) in",
    ),
    "score nan": ({"y": [0, 1, 1], "p": [0.1, NAN, 0.3]}, {}, "found (nan|an empty value|an empty value or nan) in"),
    "scores infinite": ({"y": [0, 1, 1], "p": [INF, INF, 0.3]}, {}, "finite scores, found inf in"),
    "score minus infinite": ({"y": [0, 1, 1], "p": [0.1, -INF, 0.3]}, {}, "finite scores, found -inf in"),
    "no number at all": ({"y": [0, 1], "p": [INF, -INF]}, {}, "finite scores, found -?inf in"),
    "logits": ({"y": [0, 1, 1], "p": [0.1, -3.0, 1e300]}, {}, "found -3.0 in .* and 1 more .*log-odds"),
    "percentages": ({"y": [0, 1, 1], "p": [0.0, 1.0, 70.0]}, {}, "found 70.0 in .*divide them by 100"),
    "two scales": ({"y": [0, 1, 1], "p": [0.1, 0.5, 70.0]}, {}, "found 70.0 in .*two scales"),
    "rounded": ({"y": [0, 1, 1], "p": [0.1, 0.5, -1e-17]}, {}, "found -1e-17 in .*by rounding alone"),
    "a code for no score": ({"y": [0, 1, 1], "p": [0.1, 0.5, -999.0]}, {}, "found -999.0 in .*-999 seems to stand"),
    "a code for no outcome": ({"y": [0, 9, 1], "p": [0.1, 0.2, 0.3]}, {}, "found the values .* in .*9 seems to stand"),
    "a code beside a positive label": (
        {"y": [0, 9, 1], "p": [0.1, 0.2, 0.3]},
        {"pos_label": 1},
        "two label values, found the values 1, '9', '0'.*'9' seems to stand",
    ),
    "score above one": ({"y": [0, 1, 1], "p": [0.1, 0.5, 1.5]}, {}, "scores between 0 and 1, found 1.5 in"),
    "score of text": (
        {"y": [0, 1], "p": ["0.1", "0.2"]},
        {},
        "found values of type String in column p",
    ),
    "score in percent": ({"y": [0, 1], "p": ["0.1", "20%"]}, {}, "found '20%' in column p; write 0.87, not 87%$"),
    "score with a comma": ({"y": [0, 1], "p": ["0,1", "0,2"]}, {}, "found '0,[12]' in column p; write a point, .*als$"),
    "score of words": ({"y": [0, 1], "p": ["0.1", "high"]}, {}, "found 'high' in column p; convert or drop the rows"),
    "score of a hyphen": ({"y": [0, 1], "p": ["1e-1", "-"]}, {}, "found '-' in column p; cast the column to float"),
    "label missing": (
        {"y": [0, None, 1], "p": [0.1, 0.2, 0.3]},
        {},
        "label in every row, found (nan|None|<NA>|an empty value|an empty value or nan) in",
    ),
    "text missing": (
        {"y": ["a", None, "b"], "p": [0.1, 0.2, 0.3]},
        {"pos_label": "a"},
        "a label in every row, found (nan|None|<NA>|an empty value|an empty value or nan) in",
    ),
    "label nan": (
        {"y": [0.0, NAN, 1.0], "p": [0.1, 0.2, 0.3]},
        {},
        "label in every row, found (nan|an empty value|an empty value or nan) in",
    ),
    "label infinite": ({"y": [0.0, 1.0, INF], "p": [0.1, 0.2, 0.3]}, {}, "a label in every row, found inf in"),
    "three classes": (
        {"y": [0, 2, 1], "p": [0.1, 0.2, 0.3]},
        {},
        "two label values, found the values [012], [012], [012] in (row 1 of )?column y; assess one class at a time",
    ),
    "zero and minus one": (
        {"y": [0, -1, 1], "p": [0.1, 0.2, 0.3]},
        {},
        "two label values, .* in column y",
    ),
    "broken labels": ({"y": [0.5, 0.0, 1.0], "p": [0.1, 0.2, 0.3]}, {}, "two label values, found .*0.5"),
    "text": (
        {"y": ["a", "b"], "p": [0.1, 0.2]},
        {},
        "labels 0 and 1, found the values 'a', 'b' in (row 0 of )?column y",
    ),
    "three texts": (
        {"y": ["a", "b", "c"], "p": [0.1, 0.2, 0.3]},
        {},
        "two label values, found the values 'a', 'b', 'c' in .*column y.*; assess one class at a time.*pos_label='c'",
    ),
    "a word for no outcome": (
        {"y": ["a", "b", " na"], "p": [0.1, 0.2, 0.3]},
        {"pos_label": "a"},
        "two label values, found .*' na'.*unknown outcome: drop or repair",
    ),
    "several faults": (
        {"y": [0, None, 1], "p": [None, 0.2, 1.5]},
        {},
        r"\(1\) (nan|an empty value).*p, \(2\) 1.5 in .*p, \(3\) (nan|None|<NA>|an empty value).* in .*'drop'; pass",
    ),
    "no such text": (
        {"y": ["a", "b", "a"], "p": [0.1, 0.2, 0.3]},
        {"pos_label": "c"},
        "some rows with the positive label 'c', found the values 'a', 'b' in column y; check the spelling",
    ),
    "text for a number": ({"y": [0, 1], "p": [0.1, 0.2]}, {"pos_label": "1"}, "some rows with the positive label '1'"),
    "swapped": ({"y": [0.1, 0.3, 0.7], "p": [1.0, 0.0, 0.0]}, {}, "columns look swapped"),
    "weight missing": (
        {"y": [0, 1], "p": [0.1, 0.2], "w": [1.0, None]},
        {"weight": "w"},
        "weights.*, found (nan|an empty value|an empty value or nan) in",
    ),
    "weight nan": (
        {"y": [0, 1], "p": [0.1, 0.2], "w": [NAN, 1.0]},
        {"weight": "w"},
        "found (nan|an empty value|an empty value or nan) in",
    ),
    "weight infinite": ({"y": [0, 1], "p": [0.1, 0.2], "w": [INF, 1.0]}, {"weight": "w"}, "not negative, found inf in"),
    "weight negative": (
        {"y": [0, 1, 1], "p": [0.1, 0.2, 0.3], "w": [1.0, -0.5, 2.0]},
        {"weight": "w"},
        "finite weights that are not negative, found -0.5 in",
    ),
    "weights zero": (
        {"y": [0, 1], "p": [0.1, 0.2], "w": [0, 0]},
        {"weight": "w"},
        "found only zeros",
    ),
    "weights huge": ({"y": [0, 1], "p": [0.1, 0.2], "w": [1e308, 1e308]}, {"weight": "w"}, "add up to at most"),
    "weights tiny": ({"y": [0, 1], "p": [0.1, 0.2], "w": [1e-300, 1e-300]}, {"weight": "w"}, "some weight of"),
    "weight of text": (
        {"y": [0, 1], "p": [0.1, 0.2], "w": ["1", "2"]},
        {"weight": "w"},
        "as weights, found values",
    ),
    "weight of words": (
        {"y": [0, 1], "p": [0.1, 0.2], "w": ["1", "n/a"]},
        {"weight": "w"},
        "as weights, found 'n/a' in column w",
    ),
    "no such column": ({"y": [0, 1], "p": [0.1, 0.2]}, {"prediction": "q"}, "a column 'q', found the columns y, p"),
}

# Columns, keywords, and the rows that they mean: scores, their number and their positives.
RIGHT = {
    "booleans": ({"y": [True, False, True], "p": [0.1, 0.3, 0.3]}, {}, [0.1, 0.3], [1, 2], [1, 1]),
    "not true": ({"y": [True, False, True], "p": [0.1, 0.3, 0.3]}, {"pos_label": False}, [0.1, 0.3], [1, 2], [0, 1]),
    "true by number": ({"y": [True, False], "p": [0.1, 0.3]}, {"pos_label": 1}, [0.1, 0.3], [1, 1], [1, 0]),
    "signs": ({"y": [-1, 1, 1], "p": [0.1, 0.3, 0.3]}, {}, [0.1, 0.3], [1, 2], [0, 2]),
    "floats": ({"y": [-1.0, 1.0, 1.0], "p": [0.1, 0.3, 0.3]}, {}, [0.1, 0.3], [1, 2], [0, 2]),
    "text": ({"y": ["no", "yes", "no"], "p": [0.1, 0.3, 0.3]}, {"pos_label": "yes"}, [0.1, 0.3], [1, 2], [0, 1]),
    "one against two": ({"y": ["a", "b", "c"], "p": [0.1, 0.3, 0.3]}, {"pos_label": "c"}, [0.1, 0.3], [1, 2], [0, 1]),
    "text by number": ({"y": ["1", "2", "2"], "p": [0.1, 0.3, 0.3]}, {"pos_label": 2}, [0.1, 0.3], [1, 2], [0, 2]),
    "other numbers": ({"y": [7, 3, 7], "p": [0.1, 0.3, 0.3]}, {"pos_label": 7}, [0.1, 0.3], [1, 2], [1, 1]),
    "one class": ({"y": [1, 1, 1], "p": [0.1, 0.3, 0.3]}, {}, [0.1, 0.3], [1, 2], [1, 2]),
    "other class only": ({"y": ["a", "a"], "p": [0.1, 0.3]}, {"pos_label": "b"}, [0.1, 0.3], [1, 1], [0, 0]),
    "integer scores": ({"y": [0, 1, 1], "p": [0, 1, 1]}, {}, [0.0, 1.0], [1, 2], [0, 2]),
    "boolean scores": ({"y": [0, 1, 1], "p": [False, True, True]}, {}, [0.0, 1.0], [1, 2], [0, 2]),
    "decimal scores": ({"y": [0, 1], "p": [Decimal("0.10"), Decimal("0.30")]}, {}, [0.1, 0.3], [1, 1], [0, 1]),
    "minus zero": ({"y": [0, 1, 1], "p": [0.0, -0.0, 0.5]}, {}, [0.0, 0.5], [2, 1], [1, 1]),
    "whole weights": (
        {"y": [0, 1, 1], "p": [0.1, 0.3, 0.5], "w": [2, 3, 0]},
        {"count": "w"},
        [0.1, 0.3],
        [2, 3],
        [0, 3],
    ),
    "broken weights": (
        {"y": [0, 1, 1], "p": [0.1, 0.3, 0.5], "w": [0.5, 3.0, 0.0]},
        {"weight": "w"},
        [0.1, 0.3],
        [0.5 * 3.5 / 9.25, 3.0 * 3.5 / 9.25],  # they add up to (sum w)^2 / sum w^2
        [0.0, 3.0 * 3.5 / 9.25],
    ),
    "weights beyond rows": (
        {"y": [0, 1], "p": [0.1, 0.3], "w": [1e120, 1e18]},
        {"weight": "w"},
        [0.1, 0.3],
        [1.0, 1e-102],
        [0.0, 1e-102],
    ),
}
