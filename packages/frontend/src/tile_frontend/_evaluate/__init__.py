"""Evaluate the text of a kernel, a subset of Python, statement by statement.

`decorators.py` has the entries `T.prim_func` and `T.macro`. Expressions, what runs while tracing,
calls, assignments and statements are one evaluator in layers; `scope.py` looks names up.

Not here: what a called function does, which is in `language` and `arguments`.
"""
