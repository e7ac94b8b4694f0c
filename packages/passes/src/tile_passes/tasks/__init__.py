"""Compile kernels of several tasks in one launch.

Each task goes through the pipeline by itself (`split`), `edges` finds the waits between tasks, and
`join` makes one final text of them.
"""
