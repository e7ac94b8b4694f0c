"""Evaluate the text of a kernel, a subset of Python, statement by statement."""
