"""Both papers again: what they print and claim, theirs beside ours, and a list of what was not attempted.

``python -m reproductions`` runs all items, ``python -m reproductions NAME`` one of them. calibrant is used as a user
would use it. Each item is a module (what is computed and drawn) and a text of the same name (what it means); what was
measured lies in ``results``, pictures in ``figures``, and `docs/reproductions/index.md` is made from them.
"""
