"""The version, where modules of the package can import it from without importing the package."""

__version__ = "0.2.0"
