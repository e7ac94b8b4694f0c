"""Kernels of several tasks in one launch: each task goes through the pipeline by itself (`split`),
`edges` finds which waits for which, and `join` makes one final text of them."""
