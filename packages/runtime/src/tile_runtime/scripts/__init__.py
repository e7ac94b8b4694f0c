"""Import or run the scripts of users, and time their launches.

Not here: the names under which it finds the rest, which the frontend has in a table, and the device
"npu" of a machine without one (`host_npu`).
"""
