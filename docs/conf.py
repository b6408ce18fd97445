"""Settings of the documentation site: ``python -m sphinx -W docs docs/_build``."""

import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from numpydoc.xref import DEFAULT_LINKS
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import calibrant

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import enrich  # noqa: E402 - lies beside this file
import public_names  # noqa: E402

project = "calibrant"
author = "The calibrant developers"
project_copyright = "The calibrant developers"
release = version = calibrant.__version__

extensions = [
    "myst_nb",
    "notebooks",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "jupyter_execute", "gallery/**/*.ipynb", "gallery/**/*.py", "sg_execution_times.rst"]
smartquotes = False  # they would turn the two hyphens of an option into a dash
suppress_warnings = ["config.cache"]  # the functions that the templates of the reference call cannot be stored

# Reference: pages are written from the names, the docstrings and the commands before anything else is read.
autosummary_generate = True
autosummary_context = {"own_members": public_names.members}
autodoc_typehints = "none"  # numpydoc's sections say more
numpydoc_show_class_members = False
numpydoc_xref_param_type = True  # public names among the types are links
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {name: page for name, (page, thing) in enrich.public().items() if isinstance(thing, type)}
DEFAULT_LINKS.clear()  # to Python and NumPy, whose inventories a build without network cannot read
default_role = "py:obj"  # names in single backticks are links, as far as they are public
public_names.write_pages(HERE / "reference" / "api")
public_names.write_commands(HERE / "reference" / "command_line.md")

# Guides call `calibrant` in a shell, where it is found whether the environment of this Python is active or not.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# Tutorial and guides run while the site is built, each in a folder of its own; an error ends the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "text/html", 0)]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ |!"  # lines of the shell are copied without the mark that notebooks need
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "subsection_order": [
        f"../examples/{folder}" for folder in ("measure", "pictures", "certify", "decide", "recalibrate", "large_data")
    ],
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1_000,
    "capture_repr": ("_repr_html_",),  # not what the methods of matplotlib return
    "abort_on_example_error": True,
    "write_computation_times": False,
    "doc_module": "calibrant",
    "reference_url": {"calibrant": None},
}

html_search_scorer = str(HERE / "search_order.js")
html_theme = "pydata_sphinx_theme"
html_title = f"calibrant {release}"
html_static_path = ["_static"]
html_sidebars = {"tutorial": []}  # it has no pages below it
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


class IndexWords(SphinxTransform):
    """The words of docs/goals.toml as entries of the index of their pages, before the index is made."""

    default_priority = 500
    words = enrich.index_words()

    def apply(self, **_: Any) -> None:
        """Put them at the beginning of the page."""
        entries = [("single", word, part, "main", None) for word, part in self.words.get(self.env.docname, [])]
        if entries:
            self.document.insert(0, addnodes.index(entries=entries))


def resolve(app: Sphinx, env: Any, node: nodes.Element, text: nodes.Element) -> nodes.reference | None:
    """Return the link of a public name that is not written out in full."""
    name = enrich.home(node["reftarget"]) if node.get("refdomain") == "py" else None
    return name and env.domains.python_domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, text)


def setup(app: Sphinx) -> None:
    """Connect what the site adds; to docstrings before numpydoc reads them."""
    app.add_transform(IndexWords)
    app.connect("missing-reference", resolve)
    app.connect(
        "autodoc-process-docstring",
        lambda _app, _what, _name, thing, _options, lines: enrich.enrich(thing, lines),
        priority=100,
    )
