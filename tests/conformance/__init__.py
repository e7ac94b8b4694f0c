"""Which scripts of a checkout of tilelang-ascend run here: `make conformance PEER=<checkout>`.

Nothing of the checkout is copied; the table names its files and what became of them.
"""
