"""Order the pipes of a core, and the cores of a block; docs/internals/finding_order.md explains the steps.

`check_sync` proves the result by rules of its own and imports nothing of this.
"""
