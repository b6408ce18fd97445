"""Many rows as sums: a table in bounded memory, whose cutoff calibration error is exact all the same.

A row that comes here is checked: a score in [0, 1], a label of 0 or 1, perhaps a weight.

1. Where few scores differ (`gathering`), rows are pooled by score: by NumPy (`slices`), or in an engine
   (`frame_rows`).
2. Else each row falls into a bucket of a `Grid` and is added up there: rows, positives, residuals in whole units
   (`bucket_sums`), by the engine (`frame_rows`) or, slice by slice (`slices`), by NumPy (`FineSums`).
   Its log loss and its squared residual go into two totals (`LossTotals`).
3. `refinement` tells from the sums which buckets can hide an extreme of the cumulative residuals or a corner of the
   isotonic fit; `refinement` asks for the rows of these again, in narrower buckets or score by score.
4. What is left is put together into cells, and a `ScoreTable` is made of it.

`pruning` does the same for arrays in memory, of which only the calibration error is asked.
"""
