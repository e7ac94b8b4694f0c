"""`tile-ascend inspect`: the kernels of a tree that was built ahead of time, and whether wrappers
in C++ fit them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir import BuildError

if TYPE_CHECKING:
    from tile_runtime.ahead_of_time.read_manifest import KnownVariant, Manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("root", type=Path, help="the --output-root of compile-kernels")
    parser.add_argument(
        "--wrapper", action="append", default=[], type=Path, metavar="FILE",
        help="a C++ source whose calls are checked against the registries: names, numbers and "
        "types of arguments, not the order of those of one type; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--flag", action="append", default=[], metavar="=FLAG",
        help="what the wrapper is compiled with besides, as --flag=-Iinclude; may be repeated",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from tile_runtime.ahead_of_time.check_wrapper import check_wrapper

    manifests = _manifests_of(options.root)
    for wrapper in options.wrapper:
        for fits in check_wrapper(wrapper, manifests, options.flag):
            print(f"{wrapper}: fits {fits.kernel}({fits.abi.types()})")
    if options.wrapper:
        return 0
    changed = False
    for manifest in manifests:
        print("\n".join(_told(manifest)))
        for path, what in (c for v in manifest.variants for c in _changed_files(v)):
            changed = True
            print(f"{path}: {what} since it was built", file=sys.stderr)
    return int(changed)


def _told(manifest: Manifest) -> Iterator[str]:
    from tile_runtime.scripts.columns import columns

    devices = ", ".join(dict.fromkeys(v.device for v in manifest.variants))
    yield f"{manifest.kernel}: {manifest.target}, {devices}, in {manifest.path.parent}"
    yield f"  {manifest.abi.return_type} ({manifest.abi.types()})"
    head = ["", "variant", *(f"{f.name}: {f.kind}" for f in manifest.schema), "entry", "file"]
    rows = [
        ["", v.variant_key, *map(str, v.values), v.entry_symbol, _last(manifest, v.files)]
        for v in manifest.variants
    ]
    yield columns([head, *rows])


def _last(manifest: Manifest, files: dict[Path, str]) -> str:
    """The object, or the source where nothing was compiled."""
    return str(list(files)[-1].relative_to(manifest.path.parent))


def _manifests_of(root: Path) -> tuple[Manifest, ...]:
    """Those below an output root, by kernel; BuildError if there is none, or one is broken."""
    from tile_runtime.ahead_of_time.manifest import NAME
    from tile_runtime.ahead_of_time.read_manifest import read_manifest

    found = sorted(root.glob(f"targets/*/*/{NAME}"))
    if not found:
        raise BuildError(
            "aot-root", f"no kernel was built below {root}",
            hint="give the --output-root of tile-ascend compile-kernels",
        )  # fmt: skip
    return tuple(map(read_manifest, found))


def _changed_files(variant: KnownVariant) -> Iterator[tuple[Path, str]]:
    """Find the files of a variant that differ from the build: each is changed or missing."""
    from tile_runtime.cache.fingerprint import file_digest

    for path, digest in variant.files.items():
        now = file_digest(path)
        if now != digest:
            yield path, "changed" if now else "missing"
