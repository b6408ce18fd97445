"""Rows, wherever they are: opened, checked once, and handed over as what a computation asks for.

`rows_of` (`rows`) opens the columns of a source; which, and what can be asked of the rows, stands in `protocol`.

A row of a file goes this way. `paths` finds the file, `formats` recognises it, `connection` opens it (several
together, the result of a `query` likewise) as one `source`, whose queries `query_runner` runs. `checks` looks at
all rows once; what is wrong with one is said in the words of `faults`. `files` then asks for the row: pooled or in
slices for a table, which `calibrant.cells` makes; by segment (`segment_scan`); or in its order. Without labels,
`expected_brier` asks for one number.

A row of a dataframe is taken out of it by `frames`, if it is in memory, and is one of `array_rows` from then on. In an
engine it stays there: `frame_checks` leaves it out if it lacks something, and looks at it, `frames` asks for
it pooled. Rows that come in chunks are read by `chunks`; the probabilities of several classes, into one matrix, by
`class_rows`.
"""
