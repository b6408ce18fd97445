"""Probability laws that certificates, tests and intervals share."""
