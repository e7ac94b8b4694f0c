"""Define the symbols of the language that are no operations.

Allocation, loops, frames of `with`, functions of numbers, views and element types. `_symbols.py`
above this room gives them their names.

Not here: operations, which come from the op table through `arguments`, and the evaluation of a
loop's or frame's body, which `evaluate` starts.
"""
