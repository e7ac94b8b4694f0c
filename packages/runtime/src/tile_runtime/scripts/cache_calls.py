"""The cache calls of scripts written for tilelang: accepted, and nothing needs to be done.

Such scripts clear or disable the cache when they start, so that no kernel of an older compiler is
reused. Ours can not be: the key of an entry covers the compiler too
(`jit_kernels.build.cache_key`). Clearing it would slow every start and remove the kernels of
scripts that run at the same time. `tile-ascend cache clear` and TILE_CACHE=0 are the ways to really
do it.
"""

from __future__ import annotations


def clear_cache() -> None:
    """Nothing: an entry of the cache is never out of date."""


def disable_cache() -> None:
    """Nothing: an entry of the cache is what compiling anew would make."""


def enable_cache() -> None:
    """Nothing: the cache is not disabled."""
