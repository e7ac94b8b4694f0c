"""`manifest.json` of a kernel: what was built, for CMake and for the next build.

Paths in it are relative to its folder, so that the tree can be moved, and stay inside it. A
manifest is data from anywhere: it is parsed and checked, and nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tile_ir import BuildError, Loc
from tile_runtime.ahead_of_time.entry_symbols import KernelAbi
from tile_runtime.ahead_of_time.kernel_spec import DispatchField, KernelCompileSpec

SCHEMA_VERSION = 2
NAME = "manifest.json"
VARIANTS, REGISTRY = "variants.inc", "registry.inc"
_TEXTS = ("variant_key", "cache_key", "generated_source", "generated_source_sha256",
          "compiled_binary", "compiled_binary_sha256")  # fmt: skip
# More than any kernel has: what is longer is no manifest.
MOST_BYTES = 64 * 2**20


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


@dataclass(frozen=True, slots=True)
class KnownVariant:
    """What an earlier build says of a variant; its files with the hashes of what was in them."""

    variant_key: str
    cache_key: str
    files: dict[Path, str]


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


def known_variants(path: Path) -> dict[str, KnownVariant]:
    """The variants that a manifest lists, by their keys.

    Raises BuildError (`manifest`) that says where the text is no manifest; FileNotFoundError.
    """
    if path.stat().st_size > MOST_BYTES:
        raise _broken(path, f"has more than {MOST_BYTES} bytes")
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise _broken(path, f"is no UTF-8 text at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise _broken(path, error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise _broken(path, "is nested too deeply") from None
    if not isinstance(manifest, dict) or manifest.get("schema_version") != SCHEMA_VERSION:
        raise _broken(path, f"is not of schema_version {SCHEMA_VERSION}")
    variants = manifest.get("variants")
    if not isinstance(variants, list):
        raise _broken(path, "has no list of variants")
    found = {}
    for number, variant in enumerate(variants):
        known = _known(path, number, variant)
        if known.variant_key in found:
            raise _broken(path, f"lists variant {known.variant_key!r} twice")
        found[known.variant_key] = known
    return found


def _known(path: Path, number: int, variant: object) -> KnownVariant:
    if not isinstance(variant, dict):
        raise _broken(path, f"variants[{number}] is no object")
    texts: dict[str, str] = {}
    for name in _TEXTS:
        value = variant.get(name)
        if not isinstance(value, str):
            raise _broken(path, f"variants[{number}].{name} is no text")
        texts[name] = value
    files = {}
    for name in ("generated_source", "compiled_binary"):
        if texts[name] or name == "generated_source":
            files[inside(path.parent, texts[name], path)] = texts[f"{name}_sha256"]
    return KnownVariant(texts["variant_key"], texts["cache_key"], files)


def inside(root: Path, relative: str, manifest: Path) -> Path:
    """A path of a manifest. BuildError if it leads out of the folder."""
    pure = PurePosixPath(relative)
    plain = relative and "\0" not in relative and "\\" not in relative
    if not plain or pure.is_absolute() or ".." in pure.parts:
        raise _broken(manifest, f"the path {relative!r} leads out of its folder")
    found = root / pure
    try:
        leaves = not found.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):
        leaves = True
    if leaves:
        raise _broken(manifest, f"the path {relative!r} leads out of its folder")
    return found


def _broken(path: Path, why: str, line: int = 1, column: int = 1) -> BuildError:
    hint = "build it again: tile-ascend compile-kernels --force"
    return BuildError("manifest", f"the manifest {why}", Loc(str(path), line, column), hint)


__all__ = [
    "BuiltVariant",
    "KeptFiles",
    "KnownVariant",
    "digest_of",
    "inside",
    "known_variants",
    "manifest_text",
]
