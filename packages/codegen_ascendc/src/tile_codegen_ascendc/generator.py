"""Ascend C as one of the languages a kernel can be emitted in."""

from __future__ import annotations

from pathlib import Path

from tile_codegen_ascendc.emit import AI_CORES, DEVICE_HEADER_DIR, emit, entry_source
from tile_ir import Func, Target
from tile_ir.code_generator import CodeGenerator
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AscendC:
    """The vendor's C++ for kernels."""

    language: str = "Ascend C"
    suffix: str = ".cpp"
    ai_cores: frozenset[str] = AI_CORES
    headers: Path = DEVICE_HEADER_DIR

    def emit(self, func: Func, target: Target) -> str:
        return emit(func, target)

    def entry(self, func: Func) -> str:
        return entry_source(func)


CODE_GENERATOR: CodeGenerator = AscendC()
