"""What looks at kernels from outside: the command line, the report of a timed run, the bench.

Nothing else in the runtime imports from here.
"""
