"""The modules that scripts written for tilelang-ascend import, with our compiler behind them.

`MODULES` is the whole mapping: which module has which name, and where the value stands here.
`install()` makes `import tilelang` and its parts work in this process; nothing else is imported
before a name is used. A name that is not in the table is an AttributeError that names its module.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from tile_frontend.dialects.table_module import CallableModule, TableModule

_CACHE = {
    "cached": "tile_runtime.jit_kernels.jit_compile:compile",
    "clear_cache": "tile_runtime.scripts.cache_calls:clear_cache",
    "disable_cache": "tile_runtime.scripts.cache_calls:disable_cache",
    "enable_cache": "tile_runtime.scripts.cache_calls:enable_cache",
    "get_cache_dir": "tile_runtime.cache.kernel_cache:get_cache_dir",
    "set_cache_dir": "tile_runtime.cache.kernel_cache:set_cache_dir",
}
_AUTOTUNE = {
    "AutoTuner": "tile_runtime.tuning.autotuner:AutoTuner",
    "autotune": "tile_runtime.tuning.autotuner:autotune",
    "set_autotune_inputs": "tile_runtime.tuning.autotuner:set_autotune_inputs",
}
_PROFILER = {
    "Profiler": "tile_runtime.jit_kernels.profiler:Profiler",
    "TensorSupplyType": "tile_runtime.jit_kernels.tensor_supply:TensorSupplyType",
    "do_bench": "tile_runtime.jit_kernels.profiler:do_bench",
}
_ENGINE = {"lower": "tile_runtime.jit_kernels.kernel_artifact:lower"}
_ADAPTER = {"CythonKernelAdapter": "tile_runtime.jit_kernels.kernel_adapter:CythonKernelAdapter"}
_REDUCTIONS = {
    name: f"tile_frontend:{name}"
    for name in ("reduce", "reduce_max", "reduce_min", "reduce_sum")
}  # fmt: skip
_PASS_CONFIGS = {
    "PassConfigKey": "tile_runtime.options.pass_configs:PassConfigKey",
    "PassContext": "tile_runtime.options.pass_context:PassContext",
}
_ENVIRONMENT = {
    name: f"tile_runtime.scripts.environment:{name}"
    for name in (
        "ASCEND_HOME", "COMPOSABLE_KERNEL_INCLUDE_DIR", "CUDA_HOME", "CUTLASS_INCLUDE_DIR",
        "ROCM_HOME", "SKIP_LOADING_TILELANG_SO", "TILELANG_CACHE_DIR", "TILELANG_CLEAR_CACHE",
        "TILELANG_PACKAGE_PATH", "TILELANG_TEMPLATE_PATH", "TVM_IMPORT_PYTHON_PATH",
        "TVM_LIBRARY_PATH", "TVM_PYTHON_PATH", "disable_cache", "enable_cache", "env",
        "is_cache_enabled",
    )
}  # fmt: skip
_TESTING = {
    name: f"tile_runtime.scripts.testing:{name}"
    for name in ("main", "set_random_seed", "torch_assert_close")
}
_LAYOUT = {
    "Layout": "tile_ir:Layout",
    "make_nz_layout": "tile_frontend:make_nz_layout",
    "make_zn_layout": "tile_frontend:make_zn_layout",
}
_TARGET = {
    "determine_platform": "tile_runtime.options.chip_family:determine_platform",
    "determine_target": "tile_runtime.options.chip_family:determine_target",
}
_TIR = {"PrimFunc": "tile_ir:Func"}
_TVM = {"DataType": "tile_frontend:DataType", "TVMError": "tile_ir:KernelError"}
# Below `tilelang.tvm` and below `tvm`, which are one package to scripts.
_TVM_PARTS = {
    "": _TVM,
    ".error": {"TVMError": "tile_ir:KernelError"},
    ".ir": {"transform": "tvm.transform"},
    ".tir": _TIR,
    ".transform": {"PassContext": _PASS_CONFIGS["PassContext"]},
}

# Module, then what it holds. A part of a module (`tilelang.cache` of `tilelang`) is its attribute.
MODULES: dict[str, dict[str, str]] = {
    "tilelang": {
        **_AUTOTUNE,
        **_ENGINE,
        **_CACHE,
        "DataType": "tile_frontend:DataType",
        "Layout": _LAYOUT["Layout"],
        "is_cache_enabled": _ENVIRONMENT["is_cache_enabled"],
        "JITKernel": "tile_runtime.jit_kernels.kernel:JITKernel",
        "PassConfigKey": "tile_runtime.options.pass_configs:PassConfigKey",
        "Profiler": _PROFILER["Profiler"],
        "TensorSupplyType": _PROFILER["TensorSupplyType"],
        "cdiv": "tile_frontend:cdiv",
        "compile": "tile_runtime.jit_kernels.jit_compile:compile",
        "dtype": "tile_frontend:DataType",
        "next_power_of_2": "tile_frontend:next_power_of_2",
        "__version__": "tile_runtime:__version__",
    },
    "tilelang.autotuner": _AUTOTUNE,
    "tilelang.cache": _CACHE,
    "tilelang.carver": {
        "MatmulTemplate": "tile_runtime.tuning.tile_hints:MatmulTemplate",
    },
    "tilelang.carver.arch": {"Ascend": "tile_runtime.tuning.tile_hints:Ascend"},
    "tilelang.carver.arch.ascend": {"Ascend": "tile_runtime.tuning.tile_hints:Ascend"},
    "tilelang.carver.template": {"MatmulTemplate": "tile_runtime.tuning.tile_hints:MatmulTemplate"},
    "tilelang.engine": {},
    "tilelang.engine.lower": _ENGINE,
    "tilelang.env": _ENVIRONMENT,
    "tilelang.intrinsics": {name: place for name, place in _LAYOUT.items() if name != "Layout"},
    "tilelang.jit": {
        "JITKernel": "tile_runtime.jit_kernels.kernel:JITKernel",
        "compile": "tile_runtime.jit_kernels.jit_compile:compile",
        "jit": "tile_runtime.jit_kernels.jit_compile:jit",
    },
    "tilelang.jit.adapter": _ADAPTER,
    "tilelang.jit.adapter.cython": _ADAPTER,
    "tilelang.jit.adapter.libgen": {
        "LibraryGenerator": "tile_runtime.jit_kernels.kernel_adapter:LibraryGenerator"
    },
    "tilelang.jit.kernel": {"JITKernel": "tile_runtime.jit_kernels.kernel:JITKernel"},
    "tilelang.language": {},
    "tilelang.language.allocate": {},
    "tilelang.language.ascend": {},
    "tilelang.language.copy_op": {},
    "tilelang.language.customize": {},
    "tilelang.language.kernel": {},
    "tilelang.language.proxy": {},
    "tilelang.language.reduce_ascend": _REDUCTIONS,
    "tilelang.layout": _LAYOUT,
    "tilelang.math": {
        "cdiv": "tile_frontend:cdiv",
        "next_power_of_2": "tile_frontend:next_power_of_2",
    },
    "tilelang.profiler": _PROFILER,
    "tilelang.profiler.bench": {"do_bench": _PROFILER["do_bench"]},
    "tilelang.testing": _TESTING,
    "tilelang.transform": _PASS_CONFIGS,
    "tilelang.transform.pass_config": {"PassConfigKey": _PASS_CONFIGS["PassConfigKey"]},
    "tilelang.utils": {"TensorSupplyType": _PROFILER["TensorSupplyType"], **_TARGET},
    "tilelang.utils.target": _TARGET,
    "tilelang.utils.tensor": {
        "TensorSupplyType": _PROFILER["TensorSupplyType"],
        "torch_assert_close": _TESTING["torch_assert_close"],
    },
    "tilelang.version": {"__version__": "tile_runtime:__version__"},
    **{
        package + part: names
        for package in ("tilelang.tvm", "tvm")
        for part, names in _TVM_PARTS.items()
    },
}
# Modules whose remaining names are those of a module of ours.
_BASES = {
    name: "tile_frontend"
    for name, names in MODULES.items()
    if name.startswith("tilelang.language") and not names
}
# Modules that are also called: `tilelang.jit` decorates, and `tilelang.jit.adapter` is imported.
_FUNCTIONS = {
    "tilelang.engine.lower": "tile_runtime.jit_kernels.kernel_artifact:lower",
    "tilelang.jit": "tile_runtime.jit_kernels.jit_compile:jit",
}
# Parts that are modules of ours as they stand.
_ALIASES = {
    "tilelang.language.ascend_tile": "tile_frontend.tile",
    "tilelang.language.tile": "tile_frontend.tile",
}
_DOC = "Part of tilelang, as scripts import it; see tile_frontend.dialects.compat."
_ABSENT = ", or it is not among what this compiler takes over from tilelang"


def modules() -> dict[str, ModuleType]:
    """A new module for every line of the table."""
    made: dict[str, ModuleType] = {}
    for name, names in MODULES.items():
        parts = {
            part[len(name) + 1 :]: _ALIASES.get(part, part)
            for part in (*MODULES, *_ALIASES)
            if part.startswith(f"{name}.") and "." not in part[len(name) + 1 :]
        }
        if name in _FUNCTIONS:
            made[name] = CallableModule(name, _DOC, {**parts, **names}, _FUNCTIONS[name])
        else:
            base = _BASES.get(name)
            made[name] = TableModule(name, _DOC, {**parts, **names}, base=base, absent=_ABSENT)
    return made


def install() -> None:
    """Make the modules importable in this process, in place of any that are installed."""
    from tile_frontend import tile

    sys.modules.update(modules())
    sys.modules.update(dict.fromkeys(_ALIASES, tile))


@contextmanager
def installed() -> Iterator[None]:
    """`install` for the duration of a block."""
    names = (*MODULES, *_ALIASES)
    before = {name: sys.modules.get(name) for name in names}
    install()
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
