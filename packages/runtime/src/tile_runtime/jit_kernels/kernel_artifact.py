"""Emit the source of a kernel for scripts that compile it themselves: `lower`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_ir import Func, KernelError, LaunchSequence, warn
from tile_ir.quick_dataclasses import dataclass
from tile_passes import run_pipeline
from tile_runtime.jit_kernels.compile_options import CompileOptions, resolve_target
from tile_runtime.launcher.signature import Param, signature_of
from tile_runtime.options.code_generators import code_generator
from tile_runtime.options.pass_configs import pass_options
from tile_runtime.options.pass_context import PassContext


@dataclass(frozen=True, slots=True)
class KernelArtifact:
    """The result of lowering: the emitted source with its `call`, and the parameters of that."""

    kernel_source: str
    params: tuple[Param, ...]
    lowered: Func


def lower(
    prim_func: Func,
    target: str = "auto",
    target_host: str | None = None,
    platform: str = "auto",
    pass_configs: Mapping[Any, Any] | None = None,
    **ignored: Any,
) -> KernelArtifact:
    """Run the passes and emit, under the configs of the `PassContext` around the call; those of
    the call itself come first. Raises KernelError for a mistake in the kernel
    and for a target that no code generator makes."""
    if isinstance(prim_func, LaunchSequence):
        raise prim_func.one_by_one("the source of `lower`")
    if not isinstance(prim_func, Func):
        raise KernelError(
            "not-a-prim-func", f"expected a prim_func, found {type(prim_func).__name__}"
        )
    generator = code_generator(target, prim_func.loc)
    chip = resolve_target(CompileOptions(platform=platform))
    configs = {**PassContext.current().config, **(pass_configs or {})}
    lowered = run_pipeline(prim_func, chip, pass_options(configs)).func
    warn(lowered.remarks)
    signature = signature_of(lowered, len(prim_func.params))
    return KernelArtifact(generator.emit(lowered, chip), signature.params, lowered)
