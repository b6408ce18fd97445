"""`calibrant cite`: the references."""

import typer

__all__ = ["cite"]


def cite() -> None:
    """Print the references as BibTeX."""
    from calibrant.references import REFERENCES, bibtex

    typer.echo(bibtex(REFERENCES), nl=False)
