"""`manifest.json` of a kernel: what was built, for CMake and for the next build.

Paths in it are relative to its folder, so that the tree can be moved. Not here: how it is read
(`read_manifest.py`).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tile_runtime.ahead_of_time.entry_symbols import KernelAbi
from tile_runtime.ahead_of_time.kernel_spec import DispatchField, KernelCompileSpec

SCHEMA_VERSION = 2
NAME = "manifest.json"
VARIANTS, REGISTRY = "variants.inc", "registry.inc"


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files of a variant, relative to the manifest's folder, and hashes of what is in them;
    `binary` is empty where nothing was compiled."""

    source: str
    binary: str
    source_digest: str
    binary_digest: str


@dataclass(frozen=True, slots=True)
class BuiltVariant:
    """A variant on disk."""

    spec: KernelCompileSpec
    files: KeptFiles
    cache_key: str
    options: dict[str, str]
    fingerprint: dict[str, str]


def digest_of(path: Path) -> str:
    """The hash of a file; empty if there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def manifest_text(
    target: str, built: list[BuiltVariant], schema: list[DispatchField], abi: KernelAbi
) -> str:
    """The text of a manifest, the same for the same build."""
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "target": target,
        "kernel_name": built[0].spec.kernel_name,
        "output_dir": ".",
        "variants_inc": VARIANTS,
        "registry_inc": REGISTRY,
        "dispatch_schema": [{"name": f.name, "kind": f.kind} for f in schema],
        "kernel_abi": abi.to_json(),
        "variants": [_variant(b) for b in built],
    }
    return json.dumps(manifest, indent=2, sort_keys=True) + "\n"


def _variant(built: BuiltVariant) -> dict[str, Any]:
    return {
        "variant_key": built.spec.variant_key,
        "specialization": built.spec.specialization,
        "dispatch_values": built.spec.dispatch_values,
        "generated_source": built.files.source,
        "generated_source_sha256": built.files.source_digest,
        "compiled_binary": built.files.binary,
        "compiled_binary_sha256": built.files.binary_digest,
        "entry_symbol": built.spec.entry_symbol,
        "cache_key": built.cache_key,
        "toolchain_options": built.options,
        "fingerprint": built.fingerprint,
        "compile_definitions": built.spec.definitions(),
    }


__all__ = ["BuiltVariant", "KeptFiles", "digest_of", "manifest_text"]
