"""Evaluate the text of a kernel, a subset of Python, statement by statement.

`decorators.py` has the entries `T.prim_func` and `T.macro`. Expressions, loops at trace time,
calls, assignments and statements are one evaluator in layers; `scope.py` looks names up.

Not here: the effect of a called function, which is in `language` and `arguments`.
"""
