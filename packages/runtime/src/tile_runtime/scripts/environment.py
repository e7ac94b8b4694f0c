"""Define `tilelang.env`: folders and settings that scripts read.

Settings of other hardware are empty, as on a machine that does not have it.
"""

from __future__ import annotations

import os
from pathlib import Path

from tile_runtime.cache.kernel_cache import get_cache_dir
from tile_runtime.options.code_generators import code_generator
from tile_runtime.scripts.cache_calls import disable_cache, enable_cache


def is_cache_enabled() -> bool:
    """True: what scripts switch off is a cache that could be out of date."""
    return True


class Environment:
    """`tilelang.env.env`, the same settings as attributes and methods."""

    enable_cache = staticmethod(enable_cache)
    disable_cache = staticmethod(disable_cache)
    is_cache_enabled = staticmethod(is_cache_enabled)

    @property
    def TILELANG_CACHE_DIR(self) -> str:
        return str(get_cache_dir())


env = Environment()
CUDA_HOME = ROCM_HOME = ""
ASCEND_HOME = os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_HOME") or ""
CUTLASS_INCLUDE_DIR = COMPOSABLE_KERNEL_INCLUDE_DIR = None
TVM_PYTHON_PATH = TVM_LIBRARY_PATH = TVM_IMPORT_PYTHON_PATH = None
SKIP_LOADING_TILELANG_SO = TILELANG_CLEAR_CACHE = "0"
TILELANG_CACHE_DIR = str(get_cache_dir())
TILELANG_PACKAGE_PATH = Path(__file__).resolve().parents[1]
# The headers that the emitted source includes.
TILELANG_TEMPLATE_PATH = str(code_generator().headers)
