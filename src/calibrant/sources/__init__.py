"""Rows, wherever they are: opened, checked, and handed over as what a computation asks for.

A row of a file goes this way. `paths` finds the file, `formats` recognises it, `connection` opens it (several by
`multi_file`, the result of a `query` likewise) as one `source`, whose queries `query_runner` runs.
`checks` looks at all rows once: what is wrong with one is said in the words of `faults`. Then the row is asked for:
pooled or in slices by `files`, for a table that `calibrant.cells` makes; with its cluster by `files`, in the order of
time by `ordered_rows`; added up by segment by `segment_source` and `segment_scan`.

A row of a dataframe is checked and handed over by `frames`: in memory as arrays, in an engine by `frame_checks` (those
that lack something are left out by `frame_gaps`). Rows of arrays that lack something are left out by `array_gaps`, rows
that come in chunks are read by `chunks`. `named_columns` chooses between all these.
"""
