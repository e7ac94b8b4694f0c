"""Explain the time of a run: events of each core, deciding work, a verdict.

Pictures and pages are made elsewhere.
"""
