"""On the Interpretability of Conditional Probability Estimates in the Agnostic Setting (AISTATS 2017)."""
