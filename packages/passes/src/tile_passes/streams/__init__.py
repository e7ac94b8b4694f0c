"""Model the cores of a block as streams of statements with one common order.

`items` has the streams, `handovers` and `workspaces` their shared tensors, `merge` the order. The
waits between them are in `order`.
"""
