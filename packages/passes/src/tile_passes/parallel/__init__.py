"""Represent `T.Parallel` nests, their dependences and their vector expressions.

`vectorize_parallel` is made of these.
"""
