"""Notebooks of the tutorial and the guides: what the site's build executed, to be downloaded from their pages.

An extension of Sphinx, and a script that `.ci/run` calls after the build to see that they open and hold no error:

    python docs/notebooks.py docs/_build
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class NotebookLink(SphinxTransform):
    """A link below the title of every page that is executed."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Put it there."""
        source = Path(self.document["source"])
        executed = source.suffix == ".md" and "```{code-cell}" in source.read_text(encoding="utf-8")
        section = next(self.document.findall(nodes.section), None)
        if executed and section is not None:
            notebook = Path(self.env.mystnb_config.output_folder, f"{self.env.docname}.ipynb")
            link = addnodes.download_reference(reftarget=f"/{os.path.relpath(notebook, self.env.srcdir)}")
            link += nodes.inline("", "Download this page as a notebook")
            section.insert(1, nodes.paragraph("", "", link))


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the links."""
    app.add_transform(NotebookLink)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def check(folder: Path) -> list[str]:
    """Return the names of the notebooks that a site offers, each read and searched for errors."""
    names = []
    for path in sorted((folder / "_downloads").rglob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if notebook.metadata.get("file_format") != "mystnb":
            continue  # an example of the gallery, without output
        nbformat.validate(notebook)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert all(cell.execution_count for cell in cells), f"{path.name} was not executed"
        assert not [one for cell in cells for one in cell.outputs if one.output_type == "error"], path.name
        names.append(path.name)
    return names


if __name__ == "__main__":
    names = check(Path(sys.argv[1]))
    assert names, "no notebooks"
    sys.stdout.write(f"{len(names)} notebooks open: {', '.join(names)}\n")
