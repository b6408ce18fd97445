"""How fast and how good, measured beside other packages: each script is one question (see README.md)."""
