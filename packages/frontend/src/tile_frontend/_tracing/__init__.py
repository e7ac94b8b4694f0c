"""Hold the parts of a traced kernel, and the values of its names.

`trace.py` is the kernel in the making; scalars, buffers, slices and pending operations are the
values; a `Fault` is an error that the evaluator places in the text.

Not here: Python syntax, which is in `evaluate`, and the functions that scripts call.
"""
