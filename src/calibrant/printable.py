"""Text from outside, such as names of columns and files, as it may be shown."""

from __future__ import annotations

import re
import shlex

# Control characters (C0, DEL, C1), marks that turn the direction of text, other ends of lines, and half characters.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Write characters that steer a terminal or turn text round as their escapes, ends of lines too.

    Examples
    --------
    >>> visible("name\x1b[2J\n")
    'name\\x1b[2J\\n'
    """
    return _HIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def visible_name(text: str) -> str:
    """Do the same with a name; an empty one is written as two quotation marks."""
    return visible(text) or '""'


def visible_lines(text: str) -> str:
    """Do the same in each line of a text."""
    return "\n".join(map(visible, text.split("\n")))


def without_passwords(text: str) -> str:
    """Replace passwords in addresses of databases by three stars.

    Examples
    --------
    >>> without_passwords("no file mysql://me:secret@host")
    'no file mysql://me:***@host'
    """
    text = re.sub(r"(://[^/@:\s]*):\S*@", r"\1:***@", text)
    return re.sub(r"(password=)[^&\s'\"]+", r"\1***", text)


def shell_word(text: str) -> str:
    """Write a word as it is typed in a shell: quoted only if it must be, in the kind of quotes that it does not hold.

    Examples
    --------
    >>> print(shell_word("p.csv"), shell_word("my file.csv"), shell_word("SELECT * FROM 'p.csv'"))
    p.csv 'my file.csv' "SELECT * FROM 'p.csv'"
    """
    if _HIDDEN.search(text):
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"$'{visible(escaped)}'"
    # These have a meaning between double quotes, the last one where a person types.
    if "'" not in text or set(text) & set("$`\\!"):
        return shlex.quote(text)
    return '"' + text.replace('"', '\\"') + '"'
