"""Split rows over the two vector cores of a block.

`relations` and `shared_memory` collect the facts, `choice` and `plan` choose, `halves` writes.
"""
