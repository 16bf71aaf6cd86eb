"""The classes that tests here look at."""

from tests.nbgrader.classes import guarded_class, real_class, stock_class

__all__ = ["guarded_class", "real_class", "stock_class"]
