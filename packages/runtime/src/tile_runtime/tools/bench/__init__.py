"""What this compiler is worth and how long it takes, measured on this machine: rows with medians.

Not here: the command that prints them (`command_line.bench`), and how near a run of one kernel
comes to what the chip could do (`report.roofline`).
"""
