"""Programs as test inputs: the text of a kernel, run on NumPy arrays and on the simulator."""
