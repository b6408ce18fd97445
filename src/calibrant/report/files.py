"""Reports as files: HTML, Markdown, tables as LaTeX, or PDF printed by an installed browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from os import PathLike
from pathlib import Path

from calibrant.atomic_write import check_writable, replacing, write_text
from calibrant.errors import ArgumentError, SourceError
from calibrant.report.parts import Form

# Programs that print as Chromium does, by the names that systems give them.
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_QUIET = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-pdf-header-footer",
)
_SECONDS = 120
_ENDINGS: dict[Form, tuple[str, ...]] = {"html": (".html", ".pdf"), "markdown": (".md",), "latex": (".tex",)}


def form_of(path: str | PathLike[str]) -> Form:
    """Return the form of a report by the ending of its name."""
    ending = Path(path).suffix.lower()
    return next((form for form, endings in _ENDINGS.items() if ending in endings), "html")


def check_report(path: str | PathLike[str], *inputs: str | PathLike[str], form: Form | None = None) -> None:
    """Raise an error, before work is done, if a report cannot be written there, or a PDF cannot be made here.

    With a `form` only the endings of that form are allowed.
    """
    check_writable(path, *inputs)
    ending = Path(path).suffix.lower()
    allowed = [name for key, names in _ENDINGS.items() if form in (None, key) for name in names]
    if ending not in allowed and (form not in (None, "html") or ending != ".htm"):  # an older name of .html
        listed = " or ".join(filter(None, [", ".join(allowed[:-1]), allowed[-1]]))
        raise ArgumentError(f"a report whose name ends in {listed}", repr(str(path)), "change the ending")
    if ending == ".pdf":
        _browser()


def write_report(page: str, path: str | PathLike[str]) -> None:
    """Write a page to a file as it is, or, if the name ends in .pdf, print it.

    Raises
    ------
    ArgumentError
        If the name has another ending.
    SourceError
        If the file cannot be written, or there is no browser to print a PDF.
    """
    check_report(path)
    if Path(path).suffix.lower() != ".pdf":
        write_text(page, path)
        return
    browser = _browser()
    with replacing(path) as draft, tempfile.TemporaryDirectory(prefix="calibrant-") as folder:
        source = Path(folder, "report.html")
        source.write_text(page, encoding="utf-8")
        # The sandbox of Chromium does not start for root.
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        ends = [f"--user-data-dir={folder}/profile", f"--print-to-pdf={draft}", source.as_uri()]
        try:
            command = [browser, *_QUIET, *root, *ends]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
            said = done.stderr.strip().rpartition("\n")[2]
        except subprocess.TimeoutExpired:
            said = f"no end after {_SECONDS} seconds"
        if not draft.exists():
            raise SourceError(f"{browser} to print the report", said or "no file", "write .html and print that")


def _browser() -> str:
    """Path of the browser: that of the environment variable CHROME, or the first that is installed."""
    names = (os.environ["CHROME"],) if os.environ.get("CHROME") else _BROWSERS
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    raise SourceError(
        "Chromium or Chrome to print a PDF",
        f"none of {', '.join(names)}",
        "install it, set the environment variable CHROME to its path, or write .html and print that from any browser",
    )
