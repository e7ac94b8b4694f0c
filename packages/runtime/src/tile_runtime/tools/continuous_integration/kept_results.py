"""Keep the results of kernel files in the kernel cache: one is valid as long as the files that its
run read, the packages of this compiler and the switches are the same.

An entry for the text of a file names the other files that its last run read. An entry for the text
and the contents of those has the result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
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

_FILE = "kept.json"


def kept_result(root: Path, file: str) -> FileResult | None:
    """The result of an earlier run of a file below a root; None if there is none that is valid."""
    if not switch("cache"):
        return None
    key = _key(root, file)
    names = _kept(key)
    text = None if names is None else _kept(_key_with(key, root, json.loads(names)))
    return None if text is None else result_from(text)


def keep_result(root: Path, file: str, result: FileResult) -> None:
    """Keep a complete result."""
    if not (switch("cache") and result.complete):
        return
    key, names = _key(root, file), json.dumps(sorted(result.read))
    if _kept(key) != names:
        kernel_cache().discard(key)
        _keep(key, f"files that {file} reads", names)
    _keep(_key_with(key, root, list(result.read)), f"result of {file}", result_text(result))


def _kept(key: str) -> str | None:
    entry = kernel_cache().lookup(key)
    with suppress(FileNotFoundError):  # another process may have evicted it
        return None if entry is None else (entry / _FILE).read_text()
    return None


def _keep(key: str, name: str, text: str) -> None:
    def fill(folder: Path) -> None:
        (folder / META).write_text(json.dumps({"name": name, "target": switch("soc")}))
        (folder / _FILE).write_text(text)

    kernel_cache().publish(key, fill)


def _key_with(key: str, root: Path, names: Sequence[str]) -> str:
    """The key of a result: the contents of the files that a run reads are part of it."""
    found = (part for name in sorted(names) for part in (name, file_digest(root / name)))
    return digest_of(key, *found)


def _key(root: Path, file: str) -> str:
    """The text of a file, and all that decides what its run finds but for what it reads."""
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
