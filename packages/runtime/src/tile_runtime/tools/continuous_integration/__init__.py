"""Judge the kernels that a change touches, without a device: what a continuous integration runs.

`touched_files` reads git, `kernel_files` selects the files to run, and `run_kernel_file` runs one
in a process of its own. `kept_results` finds earlier results, and `compare_times` sets times beside
those of the base. `check_change` does all of that.

Not here: what is found in a run, which stands in the simulator and the checkers, and the text forms
of findings, which stand in the command line.
"""
