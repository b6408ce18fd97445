"""From a table to a map: isotonic, Lipschitz, local polynomial, logistic, Venn-Abers."""
