"""Bind the arguments of operation calls to the operands and attributes of their records.

`op_functions.py` makes every operation of the op table callable; names, order, defaults, lists and
arguments without effect are fields of the record. `build_op.py` builds and checks the operation.
The other files compute what a record cannot say: regions from start indices, parts of products,
older forms of a call.

Not here: other spellings, which are tables in `dialects`.
"""
