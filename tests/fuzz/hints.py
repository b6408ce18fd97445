"""Bad input for functions and commands, and what the error advises, done as it says until the call works.

``python -m fuzz.hints --runs 2000 --seed 7`` from the folder ``tests`` prints in how many steps mistakes were mended
so, which advice could only be read, and each hint that leads nowhere, or names an option or a keyword that is not
there. Of several hints of a message one is drawn.
"""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

import calibrant as cal
from calibrant.cli.main import app
from calibrant.errors import CalibrantError
from fuzz.functions import report
from fuzz.oracles import run

ROWS, STEPS = 240, 8
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
# Functions of columns by name, outcomes and predictions; those of arrays take the same in this order.
NAMED = ("audit", "find_segments", "selective", "selective_binary", "amounts", "read_table")
OF_AMOUNTS = {"amounts": partial(cal.audit, kind="amount")}
ARRAYS: dict[str, Callable[..., Any]] = {
    **{name: getattr(cal, name) for name in NAMED if name not in ("amounts", "read_table")},
    **OF_AMOUNTS,
    "certify": cal.certify,
    "calibration_test": cal.calibration_test,
    "brier_score": cal.brier_score,
    "compare": cal.compare,
    "update": cal.Monitor(tolerance=0.05).update,
    "fit": cal.PlattCalibrator().fit,
}
# Of what a hint names and a mistake is not made with.
REPAIRED: dict[str, Callable[..., Any]] = {"fit_means": cal.AutoMeanCalibrator().fit}
SHELL = {
    "audit": {},
    "compare": {},
    "selective": {},
    "recalibrate": {"--model": "OUT.json", "--method": "platt"},
    "monitor": {"--tolerance": "0.05", "--state": "STATE.json"},
}
NEEDS = {"find_segments": {"by": "group", "min_rows": 5}}


@dataclass
class Call:
    """A call that can be done, and changed as an error advises."""

    door: str  # "arrays", "frame", "file" or "shell"
    name: str  # of the function or command
    columns: dict[str, Any]
    roles: dict[str, str]  # names of columns by what they are
    options: dict[str, Any] = field(default_factory=dict)  # keywords, or options of a shell
    sql: str | None = None  # in place of the file

    def done(self, folder: Path) -> str:
        """Return the error; "" if there is none."""
        path = folder / "my rows.csv"
        if self.door in ("file", "shell"):
            pd.DataFrame(self.columns).to_csv(path, index=False)
        if self.door == "shell":
            for left in folder.glob("*.json*"):
                left.unlink()
            words = [path] if self.sql is None else ["--query", self.sql]
            words += [word for role, name in self.roles.items() for word in (f"--{role.rstrip('2')}", name)]
            places = {"OUT.json": folder / "o.json", "STATE.json": folder / "s.json"}
            words += [places.get(word, word) for pair in self.options.items() for word in pair]
            found = run(self.name, *words)
            assert found.exit_code in (0, 1, 2), found.stderr
            return " ".join(found.stderr.split()) if found.exit_code == 2 else ""
        try:
            if self.door == "arrays":
                given = [np.asarray(self.columns[name]) for name in self.roles.values()]
                given = [given[0], {"a": given[1], "b": given[2]}] if self.name == "compare" else given
                given = given[::-1] if self.name.startswith("fit") else given
                options = {k: self.columns.get(v, v) if isinstance(v, str) else v for k, v in self.options.items()}
                options |= {"by": {"g": options["by"]}} if "by" in options else {}
                self.function(*given, **options)
            else:
                rows = pd.DataFrame(self.columns) if self.door == "frame" else path
                rows = rows if self.sql is None else cal.Query(self.sql)
                self.function(rows, **self.roles, **self.options)
        except (CalibrantError, TypeError) as error:
            return str(error)
        return ""

    @property
    def of_amounts(self) -> bool:
        """Whether outcomes are amounts."""
        return self.name in ("amounts", "fit_means") or "amount" in (
            self.options.get("--kind"),
            self.options.get("kind"),
        )

    @property
    def parameters(self) -> set[str]:
        """Options or keywords that there are."""
        if self.door == "shell":
            return {option for param in COMMANDS[self.name].params for option in param.opts}
        return set(inspect.signature(self.function).parameters)

    @property
    def function(self) -> Callable[..., Any]:
        """What is called in Python."""
        known = ARRAYS | REPAIRED if self.door == "arrays" else OF_AMOUNTS
        return known[self.name] if self.name in known else attrgetter(self.name)(cal)


def drawn(rng: np.random.Generator) -> Call:
    """Return a call that works."""
    p = rng.uniform(0.05, 0.95, ROWS).round(3)
    names = rng.permutation(["right", "my p", "group", "case id", 'q"x', "ünï", "loss", "rate"]).tolist()
    label, score, group, cluster, second, amount, mean, weight = names
    columns = {
        label: (rng.uniform(size=ROWS) < p).astype(int),
        score: p,
        second: p**2,
        group: np.array(["north", "south", "east", "west"])[np.arange(ROWS) % 4],
        cluster: np.arange(ROWS) // 3,
        amount: rng.poisson(2.0, ROWS),
        mean: rng.uniform(1.0, 3.0, ROWS).round(2),
        weight: rng.integers(1, 4, ROWS),
    }
    door = str(rng.choice(["arrays", "frame", "file", "shell"]))
    name = str(rng.choice(list({"arrays": ARRAYS, "shell": SHELL}.get(door, NAMED))))
    roles = dict(zip(("outcome", "prediction"), (amount, mean) if name == "amounts" else (label, score), strict=True))
    if name == "compare":
        roles["prediction2"] = second
    options: dict[str, Any] = dict(SHELL[name]) if door == "shell" else {}
    for keyword, value in NEEDS.get(name, {}).items() if door != "shell" else ():
        options[keyword] = group if value == "group" else value
    call = Call(door, name, columns, roles, options)
    if rng.random() < 0.3:
        keywords = {"--cluster", "cluster", "groups"} & call.parameters
        if name != "calibration_test":
            call.options |= dict.fromkeys(keywords, cluster)
    return call


def _few(rng: np.random.Generator, values: Any, put: Any) -> Any:
    """Put something in some places."""
    found = np.array(values, dtype=object if isinstance(put, str) else np.float64)
    found[rng.choice(ROWS, int(rng.integers(1, 6)), replace=False)] = put
    return found


CODES = (-1, 9, -9, 99, -999, -9999)
# What is put in place of the first column of a call, or of the second.
FIRST: dict[str, Callable[[np.random.Generator, Any], Any]] = {
    "missing": lambda rng, v: _few(rng, v, np.nan),
    "yes and no": lambda rng, v: np.array(["no", "yes"])[v],
    "1 and 2": lambda rng, v: np.asarray(v) + 1,
    "a code": lambda rng, v: _few(rng, v, rng.choice(CODES)).astype(int),
    "a word": lambda rng, v: _few(rng, v.astype(str), str(rng.choice(["NA", "null", "?", "None"]))),
    "three": lambda rng, v: np.array(["a", "b", "c"])[np.arange(ROWS) % 3],
    "counts": lambda rng, v: rng.poisson(2, ROWS),
    "shares": lambda rng, v: rng.uniform(size=ROWS),
    "one class": lambda rng, v: np.ones(ROWS, int),
}
SECOND: dict[str, Callable[[np.random.Generator, Any], Any]] = {
    "percent": lambda rng, v: 100 * v,
    "percent signs": lambda rng, v: np.array([f"{100 * x:.1f}%" for x in v]),
    "percent signs, mixed": lambda rng, v: _few(rng, [f"{100 * x:.1f}%" for x in v], str(rng.choice(["0.9", "no"]))),
    "decimal commas": lambda rng, v: np.array([str(x).replace(".", ",") for x in v]),
    "missing": lambda rng, v: _few(rng, v, np.nan),
    "a code": lambda rng, v: _few(rng, v, rng.choice([-1.0, -9.0, 99.0, -999.0])),
    "rounding": lambda rng, v: _few(rng, v, rng.choice([-1e-17, 1 + 2.0**-52, 1 + 1e-8])),
    "logits": lambda rng, v: np.log(np.where(v < 1, v / (1 - v), v)),
    "ratings": lambda rng, v: rng.integers(1, 6, ROWS),
    "two scales": lambda rng, v: np.where(np.arange(ROWS) % 3, v, 100 * v),
    "infinite": lambda rng, v: _few(rng, v, np.inf),
    "a word": lambda rng, v: _few(rng, v.astype(str), str(rng.choice(["NA", "-", "missing"]))),
}
# Names for what a function or command has under another one, or does not have.
OTHER_NAMES = {
    "cluster": ("groups", "clusters", "by", "sensitive_features"),
    "by": ("segments", "strata", "sensitive_features"),
    "confidence_level": ("confidence", "level", "conf"),
    "pos_label": ("positive", "pos_class"),
    "missing": ("mising", "missin"),
    "tolerance": ("tolerence",),
    "count": ("weights", "sample_weight", "counts"),
}
COLUMNS = {"by": 3, "cluster": 4, "groups": 4, "count": 7}  # which of the columns is meant
VALUES = {"confidence_level": 0.9, "pos_label": 1, "missing": "raise", "tolerance": 0.1}


def spoiled(rng: np.random.Generator, call: Call) -> tuple[str, Call]:
    """Make one mistake in a call; return it in words with the call."""
    first, second = list(call.roles)[:2]
    which = int(rng.integers(6))
    if which < 2 and not call.of_amounts:
        how = str(rng.choice(list(FIRST)))
        name = call.roles[first]
        return f"outcomes: {how}", replace(call, columns=call.columns | {name: FIRST[how](rng, call.columns[name])})
    if which < 4:
        how = str(rng.choice(list(SECOND)))
        name = call.roles[second]
        return f"scores: {how}", replace(call, columns=call.columns | {name: SECOND[how](rng, call.columns[name])})
    if which == 4 and call.door != "arrays":
        name = call.roles[first]
        return "a name", replace(call, roles=call.roles | {first: str(rng.choice([name.upper(), f"{name}s"]))})
    if rng.random() < 0.3:
        a, b = call.roles[first], call.roles[second]
        return "exchanged", replace(call, roles=call.roles | {first: b, second: a})
    meant = str(rng.choice(list(OTHER_NAMES)))
    other = str(rng.choice(OTHER_NAMES[meant]))
    value = VALUES[meant] if meant in VALUES else list(call.columns)[COLUMNS[meant]]
    if call.door == "shell":
        other, value = "--" + other.replace("_", "-"), str(value)
    return f"{other} for {meant}", replace(call, options={other: value} | call.options)


# What is done where a message advises it.
def _query(call: Call, said: re.Match[str]) -> Call:
    sql = shlex.split(said[0])[1] if call.door == "shell" else ast.literal_eval(said[1])
    assert call.door in ("file", "shell"), "a query, and no file"
    dropped = re.match(r" and (--missing|missing)\b", said.string[said.end() :])
    return replace(call, sql=sql, options=call.options | ({dropped[1]: "drop"} if dropped else {}))


def _scores(change: Callable[[Any], Any]) -> Callable[[Call, re.Match[str]], Call]:
    def changed(call: Call, said: re.Match[str]) -> Call:
        name = list(call.roles.values())[1]
        return replace(call, columns=call.columns | {name: change(np.asarray(call.columns[name]))})

    return changed


def _exchanged(call: Call, said: re.Match[str]) -> Call:
    first, second, *others = call.roles.values()
    return replace(call, roles=dict(zip(call.roles, [second, first, *others], strict=True)))


def _option(call: Call, said: re.Match[str]) -> Call:
    value: Any = said[2] if call.door == "shell" else ast.literal_eval(said[2])
    return replace(call, options=call.options | {said[1]: value})


def _unknown(call: Call, said: re.Match[str]) -> Call:
    call = _scores(lambda v: np.where(np.isin(v, CODES), np.nan, v))(call, said)
    if known := {"missing", "--missing"} & call.parameters:
        return replace(call, options=call.options | dict.fromkeys(known, "drop"))
    return _dropped(call, said)


def _left_out(call: Call, said: re.Match[str]) -> Call:
    names = {"--" + said[1].lstrip("-").replace("_", "-"), said[1]}
    assert names & call.options.keys(), f"leave out what was not given: {said[0]}"
    return replace(call, options={key: value for key, value in call.options.items() if key not in names})


_WEIGHTS = ("--weight", "weight", "sample_weight")


def _wrong(call: Call) -> str:
    """Return the option that is not there, or else that of weights, which a kind does not take."""
    unknown = [option for option in call.options if option not in call.parameters]
    return next(option for option in (*unknown, *_WEIGHTS) if option in call.options)


def _weights(call: Call) -> str:
    """Return the option that has weights, by whatever name."""
    return next((name for name in _WEIGHTS if name in call.options), None) or _wrong(call)


def _named(call: Call, said: re.Match[str]) -> Call:
    meant = said[1]
    if meant in call.columns:
        return replace(call, roles={k: v if v in call.columns else meant for k, v in call.roles.items()})
    wrong = _wrong(call)
    assert meant in call.parameters, f"{meant} is not there"
    options = {meant: call.options[wrong]} | {k: v for k, v in call.options.items() if k != wrong}
    for name, place in COLUMNS.items():  # such as clusters that are levels of `by`
        if meant.strip("-") == name:
            options[meant] = list(call.columns)[place]
    return replace(call, options=options)


def _rows(call: Call, keep: Any, **changed: Any) -> Call:
    """Take some rows, or the same ones several times."""
    return replace(call, columns={name: np.asarray(column)[keep] for name, column in call.columns.items()}, **changed)


def _dropped(call: Call, said: re.Match[str]) -> Call:
    """Leave out the rows that the message calls unusable, which are those unlike most of their column."""
    frame = pd.DataFrame(call.columns)
    keep = np.ones(len(frame), dtype=bool)
    for role, name in call.roles.items():
        if name in frame:
            values = pd.to_numeric(frame[name].astype(str).str.strip("%"), errors="coerce")
            keep &= (
                np.isfinite(values)
                & ~values.isin(CODES)
                & ((role != "prediction") | (not call.of_amounts) | (values > 0))
            )
    return _rows(call, keep.to_numpy())


def _of_means(call: Call, said: re.Match[str]) -> Call:
    """Judge the two columns as outcomes and predicted means, or map them."""
    judged, others = "audit" in said[0], {"--kind": "amount", "--model": "OUT.json"}
    roles = dict(zip(("outcome", "prediction"), call.roles.values(), strict=False))
    if call.door == "shell":
        if "--floor and --cap 0 and 1" in said.string:  # whatever the weights are
            others = {
                "--kind": "amount",
                "--weight": call.options[_weights(call)],
                "--relative-to": "exposure",
                "--floor": "0",
                "--cap": "1",
            }
        options = {"--kind": "amount"} if judged and "--weight" not in others else others
        return replace(call, name="audit" if judged else "recalibrate", roles=roles, options=options)
    if not judged:  # which takes arrays
        return replace(call, door="arrays", name="fit_means", roles=roles, options={})
    options = {}
    if "limits 0 and 1" in said.string:  # whatever the weights are
        options = {"weight": call.options[_weights(call)], "relative_to": "exposure", "limits": (0, 1)}
    return replace(call, name="amounts", roles=roles, options=options)


def _audited(call: Call, said: re.Match[str]) -> Call:
    """Ask for an audit, which needs no rows of both classes."""
    roles = dict(list(call.roles.items())[:2])
    pos_label = {"pos_label": call.options["pos_label"]} if "pos_label" in call.options else {}
    return replace(call, door="arrays", name="audit", roles=roles, options=pos_label)


def _one_segment(call: Call, said: re.Match[str]) -> Call:
    group = list(call.columns)[3]
    options = {key: value for key, value in call.options.items() if key in call.parameters}
    if "confidence_level" in said.string.partition("; ")[2]:
        options["confidence_level"] = 1 - 0.05 / len(set(call.columns[group]))
    return _rows(call, np.asarray(call.columns[group]) == "north", options=options)


def _joined(call: Call, said: re.Match[str]) -> Call:
    name = call.options.get("by", call.options.get("--by"))
    pairs = {"north": "up", "east": "up", "south": "down", "west": "down"}
    return replace(call, columns=call.columns | {name: np.array([pairs[one] for one in call.columns[name]])})


def _against_others(call: Call, said: re.Match[str]) -> Call:
    name, one = call.roles["outcome"], str(ast.literal_eval(said[1]))
    column = np.array([str(value) == one for value in np.asarray(call.columns[name]).tolist()]).astype(int)
    return replace(call, columns=call.columns | {name: column})


def _one_class(call: Call, said: re.Match[str]) -> Call:
    one: Any = np.asarray(call.columns[call.roles["outcome"]]).tolist()[0]
    return replace(call, options=call.options | ({"--pos-label": str(one)} if call.door == "shell" else {said[1]: one}))


def _outcomes(call: Call, said: re.Match[str]) -> Call:
    name = call.roles["outcome"]
    return replace(call, columns=call.columns | {name: (np.asarray(call.columns[name]) > 0.5).astype(int)})


def _two_rows(call: Call, said: re.Match[str]) -> Call:
    """Make two rows of a share of ten."""
    name, weight = call.roles["outcome"], list(call.columns)[7]
    events = np.round(10 * np.asarray(call.columns[name])).astype(int)
    twice = _rows(call, np.tile(np.arange(len(events)), 2), options=call.options | {said[1]: weight})
    outcomes, count = np.repeat([1, 0], len(events)), np.concatenate([events, 10 - events])
    twice = replace(twice, columns=twice.columns | {name: outcomes, weight: count})
    return _rows(twice, count > 0)


def _from_frame(call: Call, said: re.Match[str]) -> Call:
    return replace(call, name=said[1])


def _percent(value: str) -> float:
    return float("nan") if value == "no" else float(value.strip("%")) / (100 if "%" in value else 1)


FOLLOWED: list[tuple[str, Callable[[Call, re.Match[str]], Call]]] = [
    (r'--query (?:"(?:[^"\\]|\\.)*"|\'[^\']*\')', _query),
    (r"calibrant\.Query\(('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\)", _query),
    (r"(?:[dD]id you mean|Possible options:) '?([^'?,)]+)", _named),
    (r"[dD]id you mean '[^']+' or '([^']+)", _named),
    (r"(--pos-label|(?<!same weights, )--relative-to) ([a-z0-9.]+)", _option),
    (r"(pos_label|(?<!same weights, )relative_to)=('[^']*'|[^ ;,]+)", _option),
    (r"make it (NaN), and leave it out", _unknown),
    (r"counted, with (--missing) (drop)", _option),
    (r"counted, with (missing)=('drop')", _option),
    (r"divide them by 100", _scores(lambda v: v / 100)),
    (r"divide by 100 those", _scores(lambda v: np.where(v > 1, v / 100, v))),
    (r"numpy\.clip\(scores, 0, 1\)", _scores(lambda v: np.clip(v, 0, 1))),
    (r"1 / \(1 \+ exp\(-score\)\)", _scores(lambda v: 1 / (1 + np.exp(-v)))),
    (r"divide them by 5", _scores(lambda v: v / 5)),
    (r"write 0\.87, not 87%", _scores(lambda v: np.array([_percent(x) for x in v.tolist()]))),
    (r"write a point, not a comma", _scores(lambda v: np.array([float(x.replace(",", ".")) for x in v.tolist()]))),
    (r"cast the column to float", _scores(lambda v: pd.to_numeric(pd.Series(v), errors="coerce").to_numpy())),
    (r"exchange them", _exchanged),
    (r"leave (?!them|it )(--[a-z-]+|[a-z_]+) out", _left_out),
    (r"(?:drop|repair)(?: or repair| or correct)? (?:these|those) rows|convert or drop", _dropped),
    (r"calibrant\.audit with kind='amount'|calibrant\.AutoMeanCalibrator (?=repairs)", _of_means),
    (r"calibrant audit (?=with --kind)|calibrant recalibrate FILE (?=--kind)", _of_means),
    (r"calibrant\.audit(?= tells)", _audited),
    (r"call it on the rows of each segment", _one_segment),
    (r"join small ones", _joined),
    (r"as a column of ('[^']*'|[^ ]+) or not", _against_others),
    (r"name it as (--pos-label|pos_label), and", _one_class),
    (r"pass the observed outcome of each row", _outcomes),
    (r"with the numbers of rows as (--count|count)", _two_rows),
    (r"if each weight is a number of equal rows, pass (count)", _named),
    (r"calibrant\.(ScoreTable\.from_frame)", _from_frame),
]
# Where a message has no hint that can be done: what it says is not there, is left out.
NO_SUCH = r"(?:unexpected keyword argument '|No such option: )([a-z_-]+)"
READ = Counter[str]()  # advice that could only be read


def _followed(message: str) -> Iterator[tuple[Callable[[Call, re.Match[str]], Call], re.Match[str]]]:
    """Yield what can be done of a message."""
    hint = message.partition("; ")[2] or message.partition("Error: ")[2] or message
    for pattern, follow in FOLLOWED:
        for said in re.finditer(pattern, hint):
            yield follow, said


def once(seed: int) -> str:
    """Make one mistake, and do what the errors say; return in how many steps it works, or "read", or fail."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        message = ""
        while not message:  # a score that ranks rows is no mistake to some
            how, call = spoiled(rng, drawn(rng))
            message = call.done(Path(name))
        case, met = f"{seed}: {call.door} {call.name}, {how}", list[str]()
        while message:
            met.append(message)
            trail = " / ".join(met)
            assert len(met) == len(set(met)) <= STEPS, f"{case}: no end, {trail}"
            _check_names(call, message.partition("; ")[2] or message, case, message)
            found = list(_followed(message))
            if not found and (said := re.search(NO_SUCH, message)):
                found = [(_left_out, said)]
            if not found:
                READ[re.sub(r"[^;]*found .*?; ", "", message)[:200]] += 1
                return "read" if len(met) == 1 else "followed, then read"
            follow, said = found[rng.integers(len(found))]
            try:
                call = follow(call, said)
                message = call.done(Path(name))
            except Exception as error:
                raise AssertionError(f"{case}: {said[0]}: {error!r}; {trail}") from error
    return f"followed in {len(met)}"


def _check_names(call: Call, hint: str, case: str, message: str) -> None:
    """Of the options and keywords that a hint names each is there; in a shell it names nothing of Python."""
    sql = r'--query (?:"(?:[^"\\]|\\.)*"|\'[^\']*\')|calibrant\.Query\(.*\)'
    plain = re.sub(rf"{sql}|encoding=|calibrant\.audit with kind.*", "", hint)
    options = re.findall(r"(?<![\w-])--[a-z][a-z-]*", re.sub("No such option: [^ .]+", "", plain))
    if call.door == "shell":
        others = "calibrant audit with" in plain or "calibrant recalibrate FILE" in plain
        wrong = [] if others else [option for option in options if option not in call.parameters]
        assert not wrong, f"{case}: no such option {wrong}: {message}"
        assert not re.search(r"\bcalibrant\.[a-z]|\b[a-z_]+=[\[{'\"]", plain), f"{case}: Python in a shell: {message}"
    else:
        assert not options, f"{case}: options in Python: {message}"
        said = set(re.findall(r"\b([a-z_]+)='", plain)) - call.parameters
        assert not said, f"{case}: no such keyword {said}: {message}"


if __name__ == "__main__":
    failures = report(once, __doc__)
    for advice, times in READ.most_common():
        print(f"{times:6,} read: {advice}")
    sys.exit(failures)
