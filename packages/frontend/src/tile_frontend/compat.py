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

from tile_frontend.table_module import CallableModule, TableModule

_CACHE = {
    "clear_cache": "tile_runtime.script_cache:clear_cache",
    "disable_cache": "tile_runtime.script_cache:disable_cache",
    "enable_cache": "tile_runtime.script_cache:enable_cache",
    "get_cache_dir": "tile_runtime.cache:get_cache_dir",
    "set_cache_dir": "tile_runtime.cache:set_cache_dir",
}
_AUTOTUNE = {
    "AutoTuner": "tile_runtime.autotuner:AutoTuner",
    "autotune": "tile_runtime.autotuner:autotune",
    "set_autotune_inputs": "tile_runtime.autotuner:set_autotune_inputs",
}
_PROFILER = {
    "Profiler": "tile_runtime.profiler:Profiler",
    "TensorSupplyType": "tile_runtime.tensor_supply:TensorSupplyType",
    "do_bench": "tile_runtime.profiler:do_bench",
}
_ENGINE = {"lower": "tile_runtime.kernel_artifact:lower"}
_ADAPTER = {"CythonKernelAdapter": "tile_runtime.kernel_adapter:CythonKernelAdapter"}
_REDUCTIONS = {
    name: f"tile_frontend:{name}"
    for name in ("reduce", "reduce_max", "reduce_min", "reduce_sum")
}  # fmt: skip
_TVM = {"TVMError": "tile_ir:KernelError"}

# Module, then what it holds. A part of a module (`tilelang.cache` of `tilelang`) is its attribute.
MODULES: dict[str, dict[str, str]] = {
    "tilelang": {
        **_AUTOTUNE,
        **_ENGINE,
        **{name: place for name, place in _CACHE.items() if not name.startswith("get")},
        "DataType": "tile_frontend:DataType",
        "JITKernel": "tile_runtime.kernel:JITKernel",
        "PassConfigKey": "tile_runtime.pass_configs:PassConfigKey",
        "Profiler": _PROFILER["Profiler"],
        "TensorSupplyType": _PROFILER["TensorSupplyType"],
        "cdiv": "tile_frontend:cdiv",
        "compile": "tile_runtime.jit_compile:compile",
        "dtype": "tile_frontend:DataType",
        "next_power_of_2": "tile_frontend:next_power_of_2",
        "__version__": "tile_runtime:__version__",
    },
    "tilelang.autotuner": _AUTOTUNE,
    "tilelang.cache": _CACHE,
    "tilelang.carver": {
        "MatmulTemplate": "tile_runtime.tile_hints:MatmulTemplate",
    },
    "tilelang.carver.arch": {"Ascend": "tile_runtime.tile_hints:Ascend"},
    "tilelang.carver.arch.ascend": {"Ascend": "tile_runtime.tile_hints:Ascend"},
    "tilelang.carver.template": {"MatmulTemplate": "tile_runtime.tile_hints:MatmulTemplate"},
    "tilelang.engine": _ENGINE,
    "tilelang.intrinsics": {
        "make_nz_layout": "tile_frontend:make_nz_layout",
        "make_zn_layout": "tile_frontend:make_zn_layout",
    },
    "tilelang.jit": {
        "JITKernel": "tile_runtime.kernel:JITKernel",
        "compile": "tile_runtime.jit_compile:compile",
        "jit": "tile_runtime.jit_compile:jit",
    },
    "tilelang.jit.adapter": _ADAPTER,
    "tilelang.jit.adapter.cython": _ADAPTER,
    "tilelang.jit.adapter.libgen": {
        "LibraryGenerator": "tile_runtime.kernel_adapter:LibraryGenerator"
    },
    "tilelang.jit.kernel": {"JITKernel": "tile_runtime.kernel:JITKernel"},
    "tilelang.language": {},
    "tilelang.language.reduce_ascend": _REDUCTIONS,
    "tilelang.math": {
        "cdiv": "tile_frontend:cdiv",
        "next_power_of_2": "tile_frontend:next_power_of_2",
    },
    "tilelang.profiler": _PROFILER,
    "tilelang.transform": {"PassConfigKey": "tile_runtime.pass_configs:PassConfigKey"},
    "tilelang.tvm": _TVM,
    "tilelang.tvm.tir": {"PrimFunc": "tile_ir:Func"},
    "tilelang.utils": {
        "TensorSupplyType": _PROFILER["TensorSupplyType"],
        "determine_platform": "tile_runtime.chip_family:determine_platform",
    },
    "tilelang.utils.target": {
        "determine_platform": "tile_runtime.chip_family:determine_platform",
    },
    "tvm": _TVM,
    "tvm.tir": {"PrimFunc": "tile_ir:Func"},
}
# Modules whose remaining names are those of a module of ours.
_BASES = {"tilelang.language": "tile_frontend"}
# Modules that are also called: `tilelang.jit` decorates, and `tilelang.jit.adapter` is imported.
_FUNCTIONS = {"tilelang.jit": "tile_runtime.jit_compile:jit"}
# Parts that are modules of ours as they stand.
_ALIASES = {
    "tilelang.language.ascend_tile": "tile_frontend.tile",
    "tilelang.language.tile": "tile_frontend.tile",
}
_DOC = "Part of tilelang, as scripts import it; see tile_frontend.compat."
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
