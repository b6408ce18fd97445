"""The file of references is what `bibtex` writes, and every entry of it can be cited."""

from __future__ import annotations

from pathlib import Path

from calibrant import references
from calibrant.references import REFERENCES, bibtex, cite


def test_the_file_holds_what_is_read_of_it():
    text = Path(references.__file__).with_suffix(".bib").read_text(encoding="utf-8")
    assert bibtex(REFERENCES) == text
    assert len(REFERENCES) == text.count("@")


def test_every_reference_has_its_fields():
    for kind, fields in REFERENCES.values():
        assert list(fields) == ["author", "title", "journal" if kind == "article" else "booktitle", "year"]
    assert len(cite(REFERENCES)) == len(REFERENCES)
