"""Evaluate the text of a kernel, a subset of Python, statement by statement.

`kernel_function.py` (`T.prim_func`) and `macros.py` (`T.macro`) are the entries. Expressions,
calls, comprehensions, assignments and statements are one evaluator in layers; `scope.py` looks
names up.

Not here: what a called function does, which is in `language` and `arguments`.
"""
