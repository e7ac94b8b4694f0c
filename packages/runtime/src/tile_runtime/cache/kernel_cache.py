"""The folder of compiled kernels: its entries, how one is made, and the calls that choose it.

An entry is a folder that appears complete or not at all: it is written elsewhere on the same file
system and renamed. So a killed compiler leaves no entry, and two processes that compile the same
kernel at once both succeed. Entries are never changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tile_ir import BuildError
from tile_ir.switches import switch

# Folders of builds that were killed are removed when they are older than this.
STALE_SECONDS = 3600.0
# The file whose presence makes a folder an entry; it is written last.
META = "meta.json"


@dataclass(frozen=True, slots=True)
class CacheSize:
    """What the cache holds: number of kernels, and bytes of all files."""

    kernels: int
    bytes: int


class KernelCache:
    """Entries under `root/kernels`, builds in progress under `root/building`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kernels = root / "kernels"
        self.building = root / "building"

    def lookup(self, key: str) -> Path | None:
        """The folder of an entry, or None."""
        entry = self.kernels / key
        return entry if (entry / META).is_file() else None

    def publish(self, key: str, fill: Callable[[Path], None]) -> Path:
        """Make an entry with what `fill` writes into the folder it is given.

        Whatever `fill` raises leaves no trace. BuildError if the cache can not be written.
        """
        folder = self.scratch()
        try:
            fill(folder)
            self.kernels.mkdir(parents=True, exist_ok=True)
            return self._rename(folder, self.kernels / key)
        except OSError as error:
            raise _unwritable(self.root, error) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def scratch(self) -> Path:
        """A new folder on the cache's file system; the caller removes it."""
        try:
            self.building.mkdir(parents=True, exist_ok=True)
            self._remove_stale()
            return Path(tempfile.mkdtemp(dir=self.building))
        except OSError as error:
            raise _unwritable(self.root, error) from None

    def keep_source(self, reason: str, name: str, source: Path) -> Path:
        """A copy of a source outside the entries, under `reason/name-<hash>` and its suffix."""
        folder = self.root / reason
        folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
        return Path(shutil.copyfile(source, folder / f"{name}-{digest}{source.suffix}"))

    def discard(self, key: str) -> None:
        """Remove an entry that can not be read."""
        self._remove(self.kernels / key)

    def clear(self) -> None:
        """Remove all entries. Kernels that are loaded keep working."""
        self._remove(self.kernels)
        for reason in ("failed", "kept"):
            self._remove(self.root / reason)

    def size(self) -> CacheSize:
        files = [f.stat().st_size for f in self.kernels.rglob("*") if f.is_file()]
        kernels = sum(1 for _ in self.kernels.glob(f"*/{META}"))
        return CacheSize(kernels, sum(files))

    def _rename(self, folder: Path, entry: Path) -> Path:
        for _ in range(2):
            try:
                os.rename(folder, entry)
                return entry
            except OSError:
                if self.lookup(entry.name) is not None:
                    return entry  # another process was faster; its entry is as good
                self._remove(entry)  # a folder without meta.json is no entry
        raise OSError(f"{entry} can not be replaced")

    def _remove(self, folder: Path) -> None:
        """Take a folder away in one step, then delete its files."""
        if not folder.exists():
            return
        trash = self.scratch()
        try:
            os.rename(folder, trash / folder.name)
        except FileNotFoundError:
            pass  # another process removed it
        finally:
            shutil.rmtree(trash, ignore_errors=True)

    def _remove_stale(self) -> None:
        now = time.time()
        for folder in self.building.iterdir():
            try:
                if now - folder.stat().st_mtime > STALE_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
            except FileNotFoundError:
                continue  # its owner finished meanwhile


def _unwritable(root: Path, error: OSError) -> BuildError:
    return BuildError(
        "cache-folder",
        f"the kernel cache {root} can not be written: {error.strerror or error}",
        hint="set TILE_CACHE_DIR to a folder that can",
    )


def get_cache_dir() -> Path:
    """The folder of compiled kernels now."""
    chosen = switch("cache_dir")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "tile-ascend"


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Keep compiled kernels elsewhere from now on, in this process and those it starts."""
    os.environ["TILE_CACHE_DIR"] = os.fspath(path)


def enable_cache() -> None:
    """Reuse compiled kernels from disk (the default)."""
    os.environ["TILE_CACHE"] = "1"


def disable_cache() -> None:
    """Compile every kernel anew and keep none, in this process and those it starts."""
    os.environ["TILE_CACHE"] = "0"


def clear_cache() -> None:
    """Remove all compiled kernels from disk."""
    KernelCache(get_cache_dir()).clear()
