"""The command line: parses, calls, prints. It computes nothing; `guard` makes messages and exit codes of errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from calibrant.cli.commands.apply import apply, export
from calibrant.cli.commands.audit import audit
from calibrant.cli.commands.compare import compare
from calibrant.cli.commands.demo import cite, demo, index
from calibrant.cli.commands.monitor import monitor
from calibrant.cli.commands.plan import plan
from calibrant.cli.commands.recalibrate import recalibrate
from calibrant.cli.commands.selective import selective
from calibrant.cli.guard import guarded
from calibrant.keywords import meant
from calibrant.printable import visible
from calibrant.version import __version__

_UsageError: Any = typer.BadParameter.__base__  # which Typer itself does not show
# Names of parameters by heading; all others are the method, or, if they are written, output.
_HEADINGS = {
    "Data": "files documents model query database outcome prediction kind exposure time id block by "
    "grade weight count pos_label missing again",
    "Method": "",
    "Output": "state column title note author about checklist details as_json json_curves help",
}
_HEADING_OF = {name: heading for heading, names in _HEADINGS.items() for name in names.split()}


class _Command(TyperCommand):
    """A command whose help has arguments and options under headings, and that takes no option twice but for lists."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option of one value that is given again: the last one would win, in silence."""
        if not ctx.resilient_parsing:
            given: Counter[Any] = Counter(self.make_parser(ctx).parse_args(args=list(args))[2])
            for param, times in given.items():
                once = param.param_type_name == "option" and not (param.multiple or getattr(param, "is_flag", False))
                if once and times > 1:
                    raise _UsageError(f"Option {' / '.join(param.opts)} is given {times} times; give it once.", ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with guarded(ctx):
            return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write them."""
        records: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS}
        for param in sorted(self.get_params(ctx), key=lambda param: param.param_type_name != "argument"):
            record = param.get_help_record(ctx)
            if record is not None:
                writes = (param.metavar or "").startswith("OUT")
                heading = "Output" if writes else _HEADING_OF.get(param.name or "", "Method")
                records[heading].append(record)
        for heading, listed in records.items():
            if listed:
                with formatter.section(heading):
                    formatter.write_dl(listed)


class _Commands(TyperGroup):
    """The commands; each finds the words of the command line in its context, for the record of an audit."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.obj = ["calibrant", *args]
        with _shown_safely():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _shown_safely():
            return super().invoke(ctx)


@contextmanager
def _shown_safely() -> Iterator[None]:
    """Let messages about the words of the command line steer no terminal, and name the option that is meant."""
    try:
        yield
    except _UsageError as error:
        error.message = visible(error.message)
        if hasattr(error, "option_name") and error.ctx is not None:  # perhaps there is none of that name
            known = [option[2:].replace("-", "_") for one in error.ctx.command.params for option in one.opts]
            right = meant(error.option_name[2:].replace("-", "_"), known)
            error.possibilities = ["--" + name.replace("_", "-") for name in right]
        raise


app = typer.Typer(
    name="calibrant",
    cls=_Commands,
    help="Assess and improve the calibration of classifiers, with finite-sample guarantees.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# As the help lists them.
for command in (audit, compare, selective, recalibrate, apply, export, monitor, index, plan, demo, cite):
    app.command(cls=_Command)(command)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"calibrant {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version  # handled by its callback
