"""The literature behind each result, and how to cite it."""

from __future__ import annotations

from collections.abc import Iterable

from calibrant.table.parameters import check_choice

__all__ = ["REFERENCES", "bibtex", "cite"]

# key -> (BibTeX type, fields)
REFERENCES: dict[str, tuple[str, dict[str, str]]] = {
    "gao2017": (
        "inproceedings",
        {
            "author": "Gao, Yihan and Parameswaran, Aditya and Peng, Jian",
            "title": "On the Interpretability of Conditional Probability Estimates in the Agnostic Setting",
            "booktitle": "Proceedings of the 20th International Conference on Artificial Intelligence and Statistics",
            "year": "2017",
        },
    ),
    "shevtsova2013": (
        "article",
        {
            "author": "Shevtsova, Irina",
            "title": "On the absolute constants in the Berry-Esseen inequality and its structural and nonuniform "
            "improvements",
            "journal": "Informatics and Applications",
            "year": "2013",
        },
    ),
    "rossellini2025": (
        "inproceedings",
        {
            "author": "Rossellini, Raphael and Soloff, Jake A. and Barber, Rina Foygel and Ren, Zhimei and Willett, "
            "Rebecca",
            "title": "Can a calibration metric be both testable and actionable?",
            "booktitle": "Conference on Learning Theory",
            "year": "2025",
        },
    ),
    "fan2015": (
        "article",
        {
            "author": "Fan, Xiequan and Grama, Ion and Liu, Quansheng",
            "title": "Exponential inequalities for martingales with applications",
            "journal": "Electronic Journal of Probability",
            "year": "2015",
        },
    ),
    "hoeffding1963": (
        "article",
        {
            "author": "Hoeffding, Wassily",
            "title": "Probability inequalities for sums of bounded random variables",
            "journal": "Journal of the American Statistical Association",
            "year": "1963",
        },
    ),
    "howard2021": (
        "article",
        {
            "author": "Howard, Steven R. and Ramdas, Aaditya and McAuliffe, Jon and Sekhon, Jasjeet",
            "title": "Time-uniform, nonparametric, nonasymptotic confidence sequences",
            "journal": "The Annals of Statistics",
            "year": "2021",
        },
    ),
    "feller1951": (
        "article",
        {
            "author": "Feller, William",
            "title": "The asymptotic distribution of the range of sums of independent random variables",
            "journal": "The Annals of Mathematical Statistics",
            "year": "1951",
        },
    ),
    "ayer1955": (
        "article",
        {
            "author": "Ayer, Miriam and Brunk, H. D. and Ewing, G. M. and Reid, W. T. and Silverman, Edward",
            "title": "An empirical distribution function for sampling with incomplete information",
            "journal": "The Annals of Mathematical Statistics",
            "year": "1955",
        },
    ),
    "brier1950": (
        "article",
        {
            "author": "Brier, Glenn W.",
            "title": "Verification of forecasts expressed in terms of probability",
            "journal": "Monthly Weather Review",
            "year": "1950",
        },
    ),
    "vickers2006": (
        "article",
        {
            "author": "Vickers, Andrew J. and Elkin, Elena B.",
            "title": "Decision curve analysis: a novel method for evaluating prediction models",
            "journal": "Medical Decision Making",
            "year": "2006",
        },
    ),
    "hernandez2011": (
        "inproceedings",
        {
            "author": "Hernández-Orallo, José and Flach, Peter and Ferri, Cèsar",
            "title": "Brier curves: a new cost-based visualisation of classifier performance",
            "booktitle": "Proceedings of the 28th International Conference on Machine Learning",
            "year": "2011",
        },
    ),
    "clopper1934": (
        "article",
        {
            "author": "Clopper, C. J. and Pearson, E. S.",
            "title": "The use of confidence or fiducial limits illustrated in the case of the binomial",
            "journal": "Biometrika",
            "year": "1934",
        },
    ),
    "massart1990": (
        "article",
        {
            "author": "Massart, Pascal",
            "title": "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality",
            "journal": "The Annals of Probability",
            "year": "1990",
        },
    ),
}


def cite(keys: Iterable[str]) -> list[str]:
    """Return the references as readable lines.

    Parameters
    ----------
    keys : iterable of str
        Keys of `REFERENCES`, such as the `references` field of a result.

    Returns
    -------
    list of str
        One line each, repeated keys once.

    Examples
    --------
    >>> from calibrant.references import cite
    >>> print(cite(["brier1950"])[0])
    Brier (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review.
    """
    lines = []
    for key in dict.fromkeys(keys):
        check_choice("reference", key, tuple(REFERENCES))
        fields = REFERENCES[key][1]
        names = [author.split(",")[0] for author in fields["author"].split(" and ")]
        who = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} & {names[-1]}"
        end = "" if fields["title"].endswith("?") else "."
        where = fields.get("journal") or fields["booktitle"]
        lines.append(f"{who} ({fields['year']}). {fields['title']}{end} {where}.")
    return lines


def bibtex(keys: Iterable[str]) -> str:
    """Return the references as BibTeX entries.

    Examples
    --------
    >>> from calibrant.references import bibtex
    >>> print(bibtex(["gao2017"]).splitlines()[0])
    @inproceedings{gao2017,
    """
    entries = []
    for key in dict.fromkeys(keys):
        check_choice("reference", key, tuple(REFERENCES))
        kind, fields = REFERENCES[key]
        body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        entries.append(f"@{kind}{{{key},\n{body}}}\n")
    return "\n".join(entries)
