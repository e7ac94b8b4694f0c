"""Note the files of a checkout that a run reads, with their hashes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tile_runtime.cache.fingerprint import file_digest
from tile_runtime.cache.kernel_cache import kernel_cache

_WRITING = os.O_WRONLY | os.O_RDWR


@contextmanager
def files_read(root: Path) -> Iterator[dict[str, str]]:
    """While the block runs, note the files below a root that Python opens or imports. Their hashes,
    by path below the root, are there at the end of the block."""
    opened: set[str] = set()
    noting = [True]

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if not (noting[0] and event == "open" and isinstance(arguments[0], (str, os.PathLike))):
            return
        if not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
            opened.add(os.path.abspath(arguments[0]))

    sys.addaudithook(audit)
    read: dict[str, str] = {}
    try:
        yield read
    finally:
        noting[0] = False
        modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        files = {*opened, *(os.path.abspath(m) for m in modules if isinstance(m, str))}
        read.update(_hashes(root, files))


def _hashes(root: Path, files: Iterable[str]) -> dict[str, str]:
    """Hashes of files below a root, but for those that Python and the kernel cache write."""
    cache = kernel_cache().root
    paths = (Path(file) for file in sorted(files))
    return {
        path.relative_to(root).as_posix(): file_digest(path)
        for path in paths
        if path.is_relative_to(root) and not path.is_relative_to(cache)
        and path.is_file() and path.suffix != ".pyc"
    }  # fmt: skip
