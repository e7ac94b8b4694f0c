"""The folder of compiled kernels: its entries, how one is made, and the calls that choose it.

An entry is a folder that appears complete or not at all: it is written elsewhere on the same file
system and renamed. So a killed compiler leaves no entry, and two processes that compile the same
kernel at once both succeed. Entries are never changed; each has hashes of its files, so that a
damaged one is noticed and made anew. Those that were used last stay below a limit of bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tile_ir import BuildError, Diagnostic, warn
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import switch

# Folders of builds that were killed are removed when they are older than this.
STALE_SECONDS = 3600.0
# Times that `publish` tries to put an entry in its place. A try fails where another process has put
# one there; a third one may evict that before it is looked at, so that it can not be used either.
RENAMES = 100
# The file whose presence makes a folder an entry, and whose time is that of its last use.
META = "meta.json"
# Hashes of the files beside it.
DIGESTS = "digests.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel on disk: its key, the bytes of its files, and when it was last used, in seconds
    since 1970."""

    key: str
    bytes: int
    used: float


@dataclass(frozen=True, slots=True)
class CacheSize:
    """The size of the cache: the number of kernels, and the bytes of all files."""

    kernels: int
    bytes: int


class KernelCache:
    """Entries under `root/kernels`, builds in progress under `root/building`. With `most_bytes`
    files of entries take no more after each build, but for those of the last."""

    def __init__(self, root: Path, most_bytes: int = 0) -> None:
        self.root, self.most_bytes = root, most_bytes
        self.kernels = root / "kernels"
        self.building = root / "building"

    def lookup(self, key: str) -> Path | None:
        """The folder of an entry that is whole, which is used by that; None if there is none."""
        entry = self.kernels / key
        if not (entry / META).is_file():
            return None
        wrong = damaged_file(entry)
        if wrong is not None:
            what = f"an entry of the kernel cache {self.root} is damaged ({wrong}): it is made anew"
            hint = "tile-ascend cache verify looks at all entries"
            warn([Diagnostic("cache-damaged", what, None, hint, "warning")])
            return None
        with suppress(OSError):  # another process may have removed it, or the folder is not ours
            os.utime(entry / META)
        return entry

    def publish(self, key: str, fill: Callable[[Path], None]) -> Path:
        """Make an entry from the files that `fill` writes into its folder.

        If `fill` raises, no entry appears. BuildError if the cache can not be written.
        """
        folder = self.scratch()
        try:
            fill(folder)
            (folder / DIGESTS).write_text(json.dumps(_digests(folder), indent=1))
            self.kernels.mkdir(parents=True, exist_ok=True)
            entry = self._rename(folder, self.kernels / key)
            self._keep_below_limit(key)
            return entry
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

    def entries(self) -> list[Entry]:
        """All entries, those used last first."""
        found = []
        for folder in self.kernels.glob("*"):
            with suppress(OSError):  # another process removes it
                used = (folder / META).stat().st_mtime
                size = sum(file.stat().st_size for file in folder.iterdir())
                found.append(Entry(folder.name, size, used))
        return sorted(found, key=lambda entry: (-entry.used, entry.key))

    def size(self) -> CacheSize:
        found = self.entries()
        return CacheSize(len(found), sum(entry.bytes for entry in found))

    def remove_damaged(self) -> dict[str, str]:
        """Take away what is damaged; by their keys, the files that were."""
        found = {}
        for folder in self.kernels.glob("*"):
            wrong = damaged_file(folder)
            if wrong is not None and folder.exists():
                found[folder.name] = wrong
                self._remove(folder)
        return found

    def _keep_below_limit(self, newest: str) -> None:
        """Remove what was not used for the longest, but not the newest entry."""
        if not self.most_bytes:
            return
        left = self.most_bytes
        for entry in sorted(self.entries(), key=lambda e: e.key != newest):
            left -= entry.bytes
            if left < 0 and entry.key != newest:
                self._remove(self.kernels / entry.key)

    def _rename(self, folder: Path, entry: Path) -> Path:
        for _ in range(RENAMES):
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


def damaged_file(entry: Path) -> str | None:
    """The name of a file of an entry that is not what was written; None if all are, and if another
    process has removed the entry meanwhile."""
    try:
        folder = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        wrong = _first_damaged(folder)
        # What is renamed away loses its files one by one, and another entry may be in its place.
        here = os.stat(entry).st_ino if wrong is not None else None
        return wrong if here == os.fstat(folder).st_ino else None
    except FileNotFoundError:
        return None
    finally:
        os.close(folder)


def _first_damaged(folder: int) -> str | None:
    try:
        known = json.loads(_read(folder, DIGESTS))
    except (OSError, ValueError):
        return DIGESTS
    if not isinstance(known, dict) or META not in known:
        return DIGESTS
    for name, digest in known.items():
        try:
            if hashlib.sha256(_read(folder, name)).hexdigest() != digest:
                return str(name)
        except (OSError, ValueError):
            return str(name)
    return None


def _read(folder: int, name: str) -> bytes:
    with open(os.path.basename(name), "rb", opener=lambda n, f: os.open(n, f, dir_fd=folder)) as f:
        return f.read()


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(f for f in folder.iterdir() if f.is_file())
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


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


def kernel_cache() -> KernelCache:
    """The cache of the switches `cache_dir` and `cache_limit`."""
    return KernelCache(get_cache_dir(), switch("cache_limit") * 10**6)


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
    kernel_cache().clear()
