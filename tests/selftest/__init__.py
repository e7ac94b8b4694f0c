"""Run every example and every operation on a device and compare the results.

`op_kernels` makes kernels of operations, `example_calls` records calls of the examples, and
`run_cases` runs both, and `table` prints the results. Not here: the command `tile-ascend selftest`.
"""
