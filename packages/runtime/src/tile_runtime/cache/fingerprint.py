"""Compute the identity of a kernel's inputs besides its text: our sources and the compiler."""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tile_runtime.options.code_generators import GENERATORS

_SUFFIXES = (".py", ".h", ".cpp", ".jinja", ".lark")


@lru_cache(maxsize=1)
def sources_digest() -> str:
    """Hash of all source files, by content, of the packages that decide what is emitted and how it
    runs; computed once per process. The frontend is not among them: what it makes is the IR, which
    is part of the key itself."""
    digest = hashlib.sha256()
    for package in ("tile_ir", "tile_passes", *GENERATORS.values(), "tile_runtime"):
        for path in package_files(package):
            digest.update(path.encode())
            with open(path, "rb") as file:
                digest.update(file.read())
    return digest.hexdigest()


def package_files(package: str) -> list[str]:
    """The source files of an installed package, sorted."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return []
    found = [
        os.path.join(folder, name)
        for root in spec.submodule_search_locations
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(_SUFFIXES)
    ]
    return sorted(found)


@lru_cache(maxsize=8)
def compiler_identity(program: str) -> str:
    """Which compiler a program name means, without running it: path, size and time of its file.

    A package upgrade replaces the driver, so that changes too.
    """
    found = shutil.which(program)
    if found is None:
        return program
    real = Path(found).resolve()
    stat = real.stat()
    return f"{real}:{stat.st_size}:{stat.st_mtime_ns}"


def digest_of(*parts: str) -> str:
    """Hash of texts; other texts, or the same divided otherwise, have another one."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Hash the content of a file; empty if there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def source_hash(text: str) -> str:
    """Return the short hash of an emitted source that commands show: equal for equal kernels."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
