"""What a tree of kernels has: its manifests, and whether the files are those that were built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tile_ir import BuildError
from tile_runtime.ahead_of_time.manifest import NAME
from tile_runtime.ahead_of_time.read_manifest import KnownVariant, Manifest, read_manifest
from tile_runtime.cache.fingerprint import file_digest


def manifests_of(root: Path) -> tuple[Manifest, ...]:
    """Those below an output root, by kernel; BuildError if there is none, or one is broken."""
    found = sorted(root.glob(f"targets/*/*/{NAME}"))
    if not found:
        raise BuildError(
            "aot-root", f"no kernel was built below {root}",
            hint="give the --output-root of tile-ascend compile-kernels",
        )  # fmt: skip
    return tuple(map(read_manifest, found))


def changed_files(variant: KnownVariant) -> Iterator[tuple[Path, str]]:
    """The files of a variant that are not what was built, with what became of each."""
    for path, digest in variant.files.items():
        now = file_digest(path)
        if now != digest:
            yield path, "changed" if now else "missing"
