"""How the help of a command looks: arguments and options under headings."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

# Names of parameters by heading; all others are the method. A `rich_help_panel` is another heading.
_HEADINGS = {
    "Data": "file files query database label score time id block cluster by weight pos_label missing again",
    "Method": "",
    "Output": "state output column model report title note author details as_json json_curves plot help",
}
_HEADING_OF = {name: heading for heading, names in _HEADINGS.items() for name in names.split()}


class Command(TyperCommand):
    """A command whose help has arguments and options under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write them."""
        records: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS}
        for param in sorted(self.get_params(ctx), key=lambda param: param.param_type_name != "argument"):
            record = param.get_help_record(ctx)
            if record is not None:
                heading = getattr(param, "rich_help_panel", None) or _HEADING_OF.get(param.name or "", "Method")
                records[heading].append(record)
        for heading, listed in records.items():
            if listed:
                with formatter.section(heading):
                    formatter.write_dl(listed)
