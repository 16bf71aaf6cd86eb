"""Data that ships with the course, so that a notebook finds it wherever it is copied.

carroll.txt  four poems by Lewis Carroll (1832–1898) from "Alice's Adventures in Wonderland" (1865)
             and "Through the Looking-Glass" (1871); in the public domain
"""

from importlib import resources


def poems() -> str:
    """Four poems by Lewis Carroll: about 6000 characters, plain ASCII."""
    return resources.files(__name__).joinpath("carroll.txt").read_text(encoding="ascii")
