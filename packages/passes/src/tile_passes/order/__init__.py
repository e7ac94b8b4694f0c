"""Order the pipes of a core, and the cores of a block.

docs/internals/order.md#inside-a-core explains the steps. `check_sync` verifies the
result by rules of its own and imports nothing of this package.
"""
