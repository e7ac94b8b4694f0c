"""Every example and every operation run on a device and compared: kernels of operations
(`op_kernels`), calls of the examples (`example_calls`), and the runs (`run_cases`).

Not here: the command and its table (tools/command_line/selftest.py).
"""
