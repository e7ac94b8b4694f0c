"""Inspect kernels from outside: command line, report of a timed run, benches.

Nothing else in the runtime imports from here.
"""
