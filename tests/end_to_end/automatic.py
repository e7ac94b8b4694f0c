"""What kernels of the tests leave to the compiler: `pass_configs` for `T.compile` and `T.jit`."""

from tile_runtime import PassConfigKey

ORDERED = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
AUTOMATIC = {
    **ORDERED,
    PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
    PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
