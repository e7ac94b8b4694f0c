"""`manifest.json` of a kernel: what was built, for CMake and for the next build.

Paths in it are relative to its folder, so that the tree can be moved. Not here: how it is read
(`read_manifest.py`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.ahead_of_time.entry_symbols import KernelAbi
from tile_runtime.ahead_of_time.kernel_spec import DispatchField, KernelCompileSpec
from tile_runtime.cache.fingerprint import file_digest

SCHEMA_VERSION = 2
NAME = "manifest.json"
VARIANTS, REGISTRY = "variants.inc", "registry.inc"


@dataclass(frozen=True, slots=True)
class VariantFiles:
    """The files of a variant, relative to the manifest's folder; `binary` is empty where nothing is
    compiled."""

    source: str
    binary: str

    @staticmethod
    def of(spec: KernelCompileSpec, compiled: bool) -> VariantFiles:
        stem = f"{spec.variant_key}/{spec.kernel_name}_{spec.variant_key}_kernel"
        return VariantFiles(f"{stem}.cpp", f"{stem}.o" if compiled else "")


@dataclass(frozen=True, slots=True)
class BuiltVariant:
    """A variant on disk."""

    spec: KernelCompileSpec
    files: VariantFiles
    cache_key: str
    options: dict[str, str]
    fingerprint: dict[str, str]


def manifest_text(
    folder: Path,
    target: str,
    built: list[BuiltVariant],
    schema: list[DispatchField],
    abi: KernelAbi,
) -> str:
    """The text of the manifest of a folder, the same for the same build."""
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "target": target,
        "kernel_name": built[0].spec.kernel_name,
        "output_dir": ".",
        "variants_inc": VARIANTS,
        "registry_inc": REGISTRY,
        "dispatch_schema": [{"name": f.name, "kind": f.kind} for f in schema],
        "kernel_abi": abi.to_json(),
        "variants": [_variant(folder, b) for b in built],
    }
    return json.dumps(manifest, indent=2, sort_keys=True) + "\n"


def _variant(folder: Path, built: BuiltVariant) -> dict[str, Any]:
    source, binary = built.files.source, built.files.binary
    return {
        "variant_key": built.spec.variant_key,
        "specialization": built.spec.specialization,
        "dispatch_values": built.spec.dispatch_values,
        "generated_source": source,
        "generated_source_sha256": file_digest(folder / source),
        "compiled_binary": binary,
        "compiled_binary_sha256": file_digest(folder / binary) if binary else "",
        "entry_symbol": built.spec.entry_symbol,
        "cache_key": built.cache_key,
        "toolchain_options": built.options,
        "fingerprint": built.fingerprint,
        "compile_definitions": built.spec.definitions(),
    }
