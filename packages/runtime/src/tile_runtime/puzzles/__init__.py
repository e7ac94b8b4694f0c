"""Puzzles: kernels with a hole, judged on the simulator (docs/use/puzzles.md).

A puzzle is one file in `answers/`: its page, its reference, its kernel with the answer between two
marks, and behind a third mark what only the judge reads. Not here: the command, which is
`tools/command_line/puzzles.py`.
"""
