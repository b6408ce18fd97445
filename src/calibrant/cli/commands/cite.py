"""`calibrant cite`: the references."""

import typer


def cite() -> None:
    """Print the references as BibTeX."""
    from calibrant.references import REFERENCES, bibtex

    typer.echo(bibtex(REFERENCES), nl=False)
