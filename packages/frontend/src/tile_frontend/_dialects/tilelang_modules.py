"""Table of the modules that scripts written for tilelang-ascend import.

A name that is not in the table is an AttributeError that names its module.
"""

from __future__ import annotations

from tile_frontend._dialects.dialect import ImportTable, names

# Our modules with the names that scripts import of them: `name=ours` where it has another here.
_PLACES = {
    "tile_frontend": "DataType Fragment GemmWarpPolicy cdiv dtype make_nz_layout "
    "make_full_bank_swizzled_layout make_half_bank_swizzled_layout "
    "make_quarter_bank_swizzled_layout make_swizzled_layout make_zn_layout next_power_of_2 "
    "reduce reduce_max reduce_min reduce_sum",
    "tile_frontend._language.tir_expressions": "const",
    "tile_ir": "Layout PrimFunc=Func TVMError=KernelError",
    "tile_runtime": "__version__",
    "tile_runtime.cache.kernel_cache": "get_cache_dir set_cache_dir",
    "tile_runtime.jit_kernels.jit_compile": "JITImpl=JITImplementation cached=compile compile jit "
    "par_compile",
    "tile_runtime.launcher.signature": "KernelParam",
    "tile_runtime.jit_kernels.kernel": "JITKernel",
    "tile_runtime.jit_kernels.kernel_adapter": "CythonKernelAdapter LibraryGenerator",
    "tile_runtime.jit_kernels.kernel_artifact": "lower",
    "tile_runtime.jit_kernels.profiler": "Profiler do_bench",
    "tile_runtime.jit_kernels.tensor_supply": "TensorSupplyType get_tensor_supply",
    "tile_runtime.options.chip_family": "determine_platform determine_target",
    "tile_runtime.options.pass_configs": "PassConfigKey",
    "tile_runtime.options.pass_context": "PassContext",
    "tile_runtime.scripts.cache_calls": "clear_cache disable_cache enable_cache",
    "tile_runtime.scripts.environment": "ASCEND_HOME COMPOSABLE_KERNEL_INCLUDE_DIR CUDA_HOME "
    "CUTLASS_INCLUDE_DIR ROCM_HOME SKIP_LOADING_TILELANG_SO TILELANG_CACHE_DIR "
    "TILELANG_CLEAR_CACHE TILELANG_PACKAGE_PATH TILELANG_TEMPLATE_PATH TVM_IMPORT_PYTHON_PATH "
    "TVM_LIBRARY_PATH TVM_PYTHON_PATH env is_cache_enabled",
    "tile_runtime.scripts.gpu_marks": "iket",
    "tile_runtime.scripts.gpu_questions": "Analyzer CDNA CUDA NoRasterization "
    "determine_fp8_type determine_torch_fp8_type driver get_num_sms get_target_compute_version "
    "nvcc parse_compute_version register_cuda_postproc_callback set_log_level",
    "tile_runtime.scripts.testing": "main process_func regression requires_cuda "
    "requires_cuda_compute_version requires_cuda_compute_version_eq "
    "requires_cuda_compute_version_ge requires_cuda_compute_version_gt "
    "requires_cuda_compute_version_le requires_cuda_compute_version_lt requires_package "
    "requires_rocm set_random_seed torch_assert_close",
    "tile_runtime.tuning.autotuner": "AutoTuner autotune set_autotune_inputs",
    "tile_runtime.tuning.tile_hints": "Ascend MatmulTemplate",
}
_PLACE_OF = {
    name: f"{module}:{ours}"
    for module, text in _PLACES.items()
    for name, ours in names(text).items()
}
_AUTOTUNE = "AutoTuner autotune set_autotune_inputs"
_CACHE = "cached clear_cache disable_cache enable_cache get_cache_dir set_cache_dir"
_NAMES = {
    "tilelang": f"{_AUTOTUNE} {_CACHE} DataType JITKernel Layout PassConfigKey Profiler "
    "TensorSupplyType __version__ cdiv compile dtype is_cache_enabled lower next_power_of_2 "
    "par_compile set_log_level",
    "tilelang.autotuner": _AUTOTUNE,
    "tilelang.carver.arch.driver": "get_num_sms",
    "tilelang.carver.roller": "",
    "tilelang.carver.roller.rasterization": "NoRasterization",
    "tilelang.contrib": "nvcc",
    "tilelang.contrib.nvcc": "get_target_compute_version parse_compute_version",
    "tilelang.engine.callback": "register_cuda_postproc_callback",
    "tilelang.engine.param": "KernelParam",
    "tilelang.language.fp8": "determine_fp8_type determine_torch_fp8_type",
    "tilelang.tileop": "",
    "tilelang.tileop.base": "GemmWarpPolicy",
    "tilelang.tools": "Analyzer",
    "tilelang.tools.cuda": "iket",
    "tilelang.cache": _CACHE,
    "tilelang.carver": "MatmulTemplate",
    "tilelang.carver.arch": "Ascend CDNA CUDA",
    "tilelang.carver.arch.ascend": "Ascend",
    "tilelang.carver.template": "MatmulTemplate",
    "tilelang.engine": "",
    "tilelang.engine.lower": "lower",
    "tilelang.env": _PLACES["tile_runtime.scripts.environment"],
    "tilelang.intrinsics": "make_nz_layout make_zn_layout",
    "tilelang.jit": "JITImpl JITKernel compile jit par_compile",
    "tilelang.jit.adapter": "CythonKernelAdapter",
    "tilelang.jit.adapter.cython": "CythonKernelAdapter",
    "tilelang.jit.adapter.libgen": "LibraryGenerator",
    "tilelang.jit.kernel": "JITKernel",
    "tilelang.ascend": "",
    "tilelang.ascend.language": "",
    "tilelang.language": "",
    "tilelang.language.allocate": "",
    "tilelang.language.ascend": "",
    "tilelang.language.copy_op": "",
    "tilelang.language.customize": "",
    "tilelang.language.kernel": "",
    "tilelang.language.proxy": "",
    "tilelang.language.reduce_ascend": "reduce reduce_max reduce_min reduce_sum",
    "tilelang.layout": "Fragment Layout make_full_bank_swizzled_layout "
    "make_half_bank_swizzled_layout make_nz_layout make_quarter_bank_swizzled_layout "
    "make_swizzled_layout make_zn_layout",
    "tilelang.math": "cdiv next_power_of_2",
    "tilelang.profiler": "Profiler TensorSupplyType do_bench",
    "tilelang.profiler.bench": "do_bench",
    "tilelang.testing": _PLACES["tile_runtime.scripts.testing"],
    "tilelang.transform": "PassConfigKey PassContext",
    "tilelang.transform.pass_config": "PassConfigKey",
    "tilelang.utils": "TensorSupplyType determine_platform determine_target",
    "tilelang.utils.target": "determine_platform determine_target",
    "tilelang.utils.tensor": "TensorSupplyType get_tensor_supply torch_assert_close",
    "tilelang.version": "__version__",
    # Below both names one package to scripts.
    **{
        package + part: text
        for package in ("tilelang.tvm", "tvm")
        for part, text in (
            ("", "DataType TVMError const"), (".error", "TVMError"), (".ir", ""),
            (".tir", "PrimFunc"), (".tirx", "PrimFunc"), (".transform", "PassContext"),
        )
    },
}  # fmt: skip
_MODULES = {
    module: {name: _PLACE_OF[name] for name in text.split()} for module, text in _NAMES.items()
}
_MODULES["tilelang.env"].update(
    {name: f"tile_runtime.scripts.environment:{name}" for name in ("disable_cache", "enable_cache")}
)
# Expressions are those of the language, under names of their own.
_TIR = [f"{package}.{part}" for package in ("tilelang.tvm", "tvm") for part in ("tir", "tirx")]
for _module in ("tilelang.tvm.ir", "tvm.ir"):
    _MODULES[_module]["transform"] = "tvm.transform"
    _MODULES[_module]["PrimExpr"] = "tile_frontend._tracing.scalars:Scalar"

IMPORTS = ImportTable(
    _MODULES,
    bases={
        **{
            name: "tile_frontend"
            for name, text in _NAMES.items()
            if name.startswith(("tilelang.language", "tilelang.ascend.language")) and not text
        },
        **dict.fromkeys(_TIR, "tile_frontend._language.tir_expressions"),
    },
    # `tilelang.jit` decorates, and `tilelang.jit.adapter` is imported.
    functions={
        "tilelang.engine.lower": "tile_runtime.jit_kernels.kernel_artifact:lower",
        "tilelang.jit": "tile_runtime.jit_kernels.jit_compile:jit",
    },
    aliases={
        "tilelang.language.ascend_tile": "tile_frontend.tile",
        "tilelang.language.tile": "tile_frontend.tile",
    },
)
