"""Emit Ascend C from final tile IR: the emitter, its templates and device headers."""

from tile_codegen_ascendc.emit import DEVICE_HEADER_DIR, emit, entry_source
from tile_codegen_ascendc.generator import CODE_GENERATOR
from tile_codegen_ascendc.templates import has_template

__all__ = ["CODE_GENERATOR", "DEVICE_HEADER_DIR", "emit", "entry_source", "has_template"]
