"""Hold what tracing a kernel has gathered, and the values that its names stand for.

`trace.py` is the kernel in the making; scalars, buffers, slices and pending operations are the
values; a `Fault` is an error that the evaluator places in the text.

Not here: Python syntax, which is in `evaluate`, and the functions that scripts call.
"""
