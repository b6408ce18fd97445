"""The literature behind each result, and how to cite it."""

from __future__ import annotations

from collections.abc import Iterable

from calibrant.errors import ArgumentError
from calibrant.keywords import check_package
from calibrant.table.parameters import check_choice

__all__ = ["REFERENCES", "bibtex", "cite"]


def _entry(kind: str, author: str, title: str, where: str, year: str) -> tuple[str, dict[str, str]]:
    place = "journal" if kind == "article" else "booktitle"
    return kind, {"author": author, "title": title, place: where, "year": year}


# key -> (BibTeX type, fields)
REFERENCES: dict[str, tuple[str, dict[str, str]]] = {
    "gao2017": _entry(
        "inproceedings",
        "Gao, Yihan and Parameswaran, Aditya and Peng, Jian",
        "On the Interpretability of Conditional Probability Estimates in the Agnostic Setting",
        "Proceedings of the 20th International Conference on Artificial Intelligence and Statistics",
        "2017",
    ),
    "machado2024": _entry(
        "article",
        "Fernandes Machado, Agathe and Charpentier, Arthur and Flachaire, Emmanuel and Gallic, Ewen and Hu, François",
        "From Uncertainty to Precision: Enhancing Binary Classifier Performance through Calibration",
        "arXiv 2402.07790",
        "2024",
    ),
    "shevtsova2013": _entry(
        "article",
        "Shevtsova, Irina",
        "On the absolute constants in the Berry-Esseen inequality and its structural and nonuniform improvements",
        "Informatics and Applications",
        "2013",
    ),
    "shevtsova2010": _entry(
        "article",
        "Shevtsova, Irina",
        "An improvement of convergence rate estimates in the Lyapunov theorem",
        "Doklady Mathematics",
        "2010",
    ),
    "bentkus2004": _entry(
        "article",
        "Bentkus, Vidmantas",
        "On Hoeffding's inequalities",
        "The Annals of Probability",
        "2004",
    ),
    "berger1982": _entry(
        "article",
        "Berger, Roger L.",
        "Multiparameter hypothesis testing and acceptance sampling",
        "Technometrics",
        "1982",
    ),
    "anderson1955": _entry(
        "article",
        "Anderson, Theodore W.",
        "The integral of a symmetric unimodal function over a symmetric convex set and some probability inequalities",
        "Proceedings of the American Mathematical Society",
        "1955",
    ),
    "rossellini2025": _entry(
        "inproceedings",
        "Rossellini, Raphael and Soloff, Jake A. and Barber, Rina Foygel and Ren, Zhimei and Willett, Rebecca",
        "Can a calibration metric be both testable and actionable?",
        "Conference on Learning Theory",
        "2025",
    ),
    "fan2015": _entry(
        "article",
        "Fan, Xiequan and Grama, Ion and Liu, Quansheng",
        "Exponential inequalities for martingales with applications",
        "Electronic Journal of Probability",
        "2015",
    ),
    "hoeffding1963": _entry(
        "article",
        "Hoeffding, Wassily",
        "Probability inequalities for sums of bounded random variables",
        "Journal of the American Statistical Association",
        "1963",
    ),
    "howard2021": _entry(
        "article",
        "Howard, Steven R. and Ramdas, Aaditya and McAuliffe, Jon and Sekhon, Jasjeet",
        "Time-uniform, nonparametric, nonasymptotic confidence sequences",
        "The Annals of Statistics",
        "2021",
    ),
    "shin2023": _entry(
        "article",
        "Shin, Jaehyeok and Ramdas, Aaditya and Rinaldo, Alessandro",
        "E-detectors: a nonparametric framework for sequential change detection",
        "The New England Journal of Statistics in Data Science",
        "2023",
    ),
    "feller1951": _entry(
        "article",
        "Feller, William",
        "The asymptotic distribution of the range of sums of independent random variables",
        "The Annals of Mathematical Statistics",
        "1951",
    ),
    "ayer1955": _entry(
        "article",
        "Ayer, Miriam and Brunk, H. D. and Ewing, G. M. and Reid, W. T. and Silverman, Edward",
        "An empirical distribution function for sampling with incomplete information",
        "The Annals of Mathematical Statistics",
        "1955",
    ),
    "brier1950": _entry(
        "article",
        "Brier, Glenn W.",
        "Verification of forecasts expressed in terms of probability",
        "Monthly Weather Review",
        "1950",
    ),
    "vickers2006": _entry(
        "article",
        "Vickers, Andrew J. and Elkin, Elena B.",
        "Decision curve analysis: a novel method for evaluating prediction models",
        "Medical Decision Making",
        "2006",
    ),
    "hernandez2011": _entry(
        "inproceedings",
        "Hernández-Orallo, José and Flach, Peter and Ferri, Cèsar",
        "Brier curves: a new cost-based visualisation of classifier performance",
        "Proceedings of the 28th International Conference on Machine Learning",
        "2011",
    ),
    "clopper1934": _entry(
        "article",
        "Clopper, C. J. and Pearson, E. S.",
        "The use of confidence or fiducial limits illustrated in the case of the binomial",
        "Biometrika",
        "1934",
    ),
    "massart1990": _entry(
        "article",
        "Massart, Pascal",
        "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality",
        "The Annals of Probability",
        "1990",
    ),
    "delong1988": _entry(
        "article",
        "DeLong, Elizabeth R. and DeLong, David M. and Clarke-Pearson, Daniel L.",
        "Comparing the Areas under Two or More Correlated Receiver Operating Characteristic Curves",
        "Biometrics",
        "1988",
    ),
    "gaffke2005": _entry(
        "article",
        "Gaffke, Norbert",
        "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable",
        "Mathematical Methods of Statistics",
        "2005",
    ),
    "hothorn2008": _entry(
        "article",
        "Hothorn, Torsten and Bretz, Frank and Westfall, Peter",
        "Simultaneous Inference in General Parametric Models",
        "Biometrical Journal",
        "2008",
    ),
    "collins2024": _entry(
        "article",
        "Collins, Gary S. and Moons, Karel G. M. and Dhiman, Paula and Riley, Richard D. and others",
        "TRIPOD+AI statement: updated guidance for reporting clinical prediction models that use regression or machine "
        "learning methods",
        "BMJ",
        "2024",
    ),
    "vancalster2025": _entry(
        "article",
        "Van Calster, Ben and Collins, Gary S. and Vickers, Andrew J. and Wynants, Laure and others",
        "Evaluation of performance measures in predictive artificial intelligence models to support medical decisions: "
        "overview and guidance",
        "The Lancet Digital Health",
        "2025",
    ),
}


def cite(keys: Iterable[str]) -> list[str]:
    """Return the references as readable lines, repeated ones once.

    Parameters
    ----------
    keys : iterable of str
        Keys of `REFERENCES`, such as the `references` field of a result.

    Returns
    -------
    list of str
        One line each.

    Examples
    --------
    >>> from calibrant.references import cite
    >>> print(cite(["brier1950"])[0])
    Brier (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review.
    """
    lines = []
    for key in _known(keys):
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
    for key in _known(keys):
        kind, fields = REFERENCES[key]
        body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        entries.append(f"@{kind}{{{key},\n{body}}}\n")
    return "\n".join(entries)


def _known(keys: Iterable[str]) -> list[str]:
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise ArgumentError("a list of keys of references", repr(keys), "pass the `references` of a result")
    return list(dict.fromkeys(check_choice("reference", key, tuple(REFERENCES)) for key in keys))


check_package(__name__)
