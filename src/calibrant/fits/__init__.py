"""From a table to a map: isotonic, local polynomial, logistic, Venn-Abers."""
