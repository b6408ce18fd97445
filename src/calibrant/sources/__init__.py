"""Rows, wherever they are: opened, checked once, and handed over as what a computation asks for.

In `given`, `columns_by_role` says which columns hold what, for every verb, and `rows_of` opens them; what can be asked
of the rows stands in `rows`.

A row of a file goes this way. `formats` finds the file and recognises it, `connection` opens it (several
together, the result of a `query` likewise) as one `source`, which runs queries. `columns` gives
what it holds one shape, looks at all rows once, and says what is wrong with one. `files` then asks for
the row: pooled or in slices for a table, which `calibrant.cells` makes; by segment (`engine`); or in its order.
Without labels, `expected_scores` asks for their distribution.

A row of a dataframe is taken out of it by `frames`, if it is in memory, and is one of arrays (`rows`) from then on. In
an engine it stays there: it gets the same shape, and the same checks; `frames` asks for it pooled. Rows that come in
chunks are read by `chunks`; amounts, and the probabilities of several classes, into one matrix, by `given`.
"""
