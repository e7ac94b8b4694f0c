"""Measure the compiler on this machine: `make bench`, or `tile-ascend bench ROW...` in a checkout.

One function measures one row, with the median of repeated runs. Not here: the command that prints
the rows (`tile_runtime.tools.command_line.bench`), which also measures kernels of the user.
"""
