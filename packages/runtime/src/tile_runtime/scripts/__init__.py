"""Scripts of users: how one is imported or run, what it finds under `tilelang.env`, `.cache` and
`.testing`, and the times of what it launches.

Not here: the names under which it finds the rest, which the frontend has in a table, and the device
"npu" of a machine without one (`host_npu`).
"""
