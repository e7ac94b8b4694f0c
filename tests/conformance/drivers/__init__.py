"""Cases for kernels of TileLang's examples: sizes, inputs and formulas in float64, all our own.

A module here is a family; each function with `@driver` builds the inputs of one case from a row of
its table, calls a kernel of the checkout, and yields what to compare.
"""
