"""Reading `manifest.json`: data from anywhere, parsed and checked, and nothing in it is executed.

Paths in it stay inside its folder.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tile_ir import BuildError, Loc
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.ahead_of_time.entry_symbols import KernelAbi, Parameter
from tile_runtime.ahead_of_time.kernel_spec import DispatchField
from tile_runtime.ahead_of_time.manifest import SCHEMA_VERSION

# More than any kernel has: what is longer is no manifest.
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class KnownVariant:
    """A variant of an earlier build. `files` maps its files to the hashes of their contents, the
    source first; `values` are those of the dispatch fields, in their order."""

    variant_key: str
    cache_key: str
    files: dict[Path, str]
    entry_symbol: str
    values: tuple[int | str, ...]
    device: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a built kernel."""

    path: Path
    kernel: str
    target: str
    schema: tuple[DispatchField, ...]
    abi: KernelAbi
    registry: Path
    variants: tuple[KnownVariant, ...]


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises BuildError (`manifest`) that says where the text is no manifest; FileNotFoundError.
    """
    top = _ManifestReader(path, "", _parsed(path))
    if top.fields.get("schema_version") != SCHEMA_VERSION:
        raise broken(path, f"is not of schema_version {SCHEMA_VERSION}")
    schema = tuple(
        DispatchField(f.text("name"), f.text("kind")) for f in top.all("dispatch_schema")
    )
    abi = top.part("kernel_abi")
    parameters = tuple(Parameter(p.text("cpp_type"), p.text("name")) for p in abi.all("parameters"))
    variants = tuple(_variant(v, schema) for v in top.all("variants"))
    times = Counter(v.variant_key for v in variants)
    for key, count in times.items():
        if count > 1:
            raise broken(path, f"lists variant {key!r} twice")
    return Manifest(
        path,
        top.text("kernel_name"),
        top.text("target"),
        schema,
        KernelAbi(abi.text("return_type"), parameters),
        inside(path.parent, top.text("registry_inc"), path),
        variants,
    )


@dataclass(frozen=True, slots=True)
class _ManifestReader:
    """An object of a manifest, at a place in it."""

    path: Path
    place: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise broken(self.path, f"{self._at(name)} is no text")
        return value

    def number_or_text(self, name: str) -> int | str:
        value = self.fields.get(name)
        if not isinstance(value, (int, str)):
            raise broken(self.path, f"{self._at(name)} is neither a number nor a text")
        return value

    def part(self, name: str) -> _ManifestReader:
        return self._object(self._at(name), self.fields.get(name))

    def all(self, name: str) -> Iterator[_ManifestReader]:
        """The objects of a list."""
        values = self.fields.get(name)
        if not isinstance(values, list):
            raise broken(self.path, f"has no list of {self._at(name)}")
        return (self._object(f"{self._at(name)}[{n}]", value) for n, value in enumerate(values))

    def _object(self, place: str, value: object) -> _ManifestReader:
        if not isinstance(value, dict):
            raise broken(self.path, f"{place} is no object")
        return _ManifestReader(self.path, place, value)

    def _at(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name


def _parsed(path: Path) -> Mapping[str, Any]:
    if path.stat().st_size > MOST_BYTES:
        raise broken(path, f"has more than {MOST_BYTES} bytes")
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise broken(path, f"is no UTF-8 text at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise broken(path, error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise broken(path, "is nested too deeply") from None
    return manifest if isinstance(manifest, dict) else {}


def _variant(read: _ManifestReader, schema: tuple[DispatchField, ...]) -> KnownVariant:
    files = {}
    for name in ("generated_source", "compiled_binary"):
        place, digest = read.text(name), read.text(f"{name}_sha256")
        if place or name == "generated_source":
            files[inside(read.path.parent, place, read.path)] = digest
    values = read.part("dispatch_values")
    return KnownVariant(
        read.text("variant_key"),
        read.text("cache_key"),
        files,
        read.text("entry_symbol"),
        tuple(values.number_or_text(f.name) for f in schema),
        read.part("toolchain_options").text("device"),
    )


def inside(root: Path, relative: str, manifest: Path) -> Path:
    """A path of a manifest. BuildError if it leads out of the folder."""
    pure = PurePosixPath(relative)
    plain = relative and "\0" not in relative and "\\" not in relative
    if not plain or pure.is_absolute() or ".." in pure.parts:
        raise broken(manifest, f"the path {relative!r} leads out of its folder")
    found = root / pure
    try:
        leaves = not found.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):
        leaves = True
    if leaves:
        raise broken(manifest, f"the path {relative!r} leads out of its folder")
    return found


def broken(path: Path, why: str, line: int = 1, column: int = 1) -> BuildError:
    """Of a text that is no manifest."""
    hint = "build it again: tile-ascend compile-kernels --force"
    return BuildError("manifest", f"the manifest {why}", Loc(str(path), line, column), hint)
