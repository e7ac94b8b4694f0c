"""Keep the results of kernel files in the kernel cache: one is valid as long as the files that its
run read, the packages of this compiler and the switches are the same."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from tile_ir.switches import switch
from tile_runtime.cache.fingerprint import (
    compiler_identity,
    digest_of,
    file_digest,
    package_files,
    sources_digest,
)
from tile_runtime.cache.kernel_cache import META, kernel_cache
from tile_runtime.tools.continuous_integration.file_result import (
    FileResult,
    result_from,
    result_text,
)

_RESULT = "result.json"


def kept_result(root: Path, file: str) -> FileResult | None:
    """The result of an earlier run of a file below a root; None if there is none that is valid."""
    if not switch("cache"):
        return None
    cache, key = kernel_cache(), _key(root, file)
    entry = cache.lookup(key)
    if entry is None:
        return None
    try:
        result = result_from((entry / _RESULT).read_text())
    except (OSError, ValueError, KeyError, TypeError):
        result = None
    if result is None or any(file_digest(root / f) != had for f, had in result.read.items()):
        cache.discard(key)
        return None
    return result


def keep_result(root: Path, file: str, result: FileResult) -> None:
    """Keep a complete result."""
    if not (switch("cache") and result.complete):
        return

    def fill(folder: Path) -> None:
        (folder / META).write_text(
            json.dumps({"name": f"result of {file}", "target": switch("soc")})
        )
        (folder / _RESULT).write_text(result_text(result))

    kernel_cache().publish(_key(root, file), fill)


def _key(root: Path, file: str) -> str:
    """The files that a run read besides are compared with the result."""
    text = (root / file).read_text(errors="replace")
    return digest_of(
        "kernel-file", file, text, sources_digest(), _frontend_digest(), version("torch"),
        switch("soc"), compiler_identity(switch("cxx")),
    )  # fmt: skip


@lru_cache(maxsize=1)
def _frontend_digest() -> str:
    """Hash of the packages that decide besides what a script makes and what is found in it."""
    digest = hashlib.sha256()
    for package in ("tile_frontend", "tile_checkers"):
        for path in package_files(package):
            digest.update(Path(path).read_bytes())
    return digest.hexdigest()
