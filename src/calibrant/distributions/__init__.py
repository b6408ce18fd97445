"""Distributions that certificates, tests and intervals share."""
