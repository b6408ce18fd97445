"""Formulas of how far the empirical error may be from the true one."""
