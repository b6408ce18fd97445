"""What is imported by name: what results reach in layers above their own, and what a package imports on first use.

No import statement points up, not even inside a function, and what is missing harms only those who ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def resolve(path: str) -> Any:
    """Return what has this path within calibrant, such as ``plots.display.draw``."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"calibrant.{module}"), name)


def on_first_use(package: str, file: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package that imports its names on first use.

    They are those of the stub beside its file, which type checkers read (SPEC 1 of Scientific Python). What the stub
    imports from the package itself is a package inside, which is there but not in ``__all__``.
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    home = {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as ", stub, re.MULTILINE)}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home[name] == package:
            return import_module(f"{package}.{name}")
        return resolve("keywords.checked")(getattr(import_module(home[name]), name))

    public = sorted(name for name, module in home.items() if module != package and name[0] != "_")
    return public, get, lambda: sorted(home)
