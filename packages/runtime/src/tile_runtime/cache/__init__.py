"""Store compiled kernels on disk, by the hash of all their inputs.

Not here: what is put there, which `jit_kernels` and `source_kernels` know, and what tuners keep
(`tuning.results`). The calls below are those of `tile_runtime.cache` in scripts.
"""

from tile_runtime.cache.kernel_cache import (
    clear_cache,
    disable_cache,
    enable_cache,
    get_cache_dir,
    set_cache_dir,
)

__all__ = ["clear_cache", "disable_cache", "enable_cache", "get_cache_dir", "set_cache_dir"]
