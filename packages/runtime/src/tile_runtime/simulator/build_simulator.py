"""Builds libtile_simulator.so, its runner and the launcher extension for this host.

Only the standard library is used, so that a setup script can run this file before anything is
installed. Results lie in a cache folder under a hash of sources, compiler, flags and instructions
of the CPU. So a change of any of them builds anew, and a CPU never loads instructions it lacks.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_LAUNCHER = _HERE.parent / "launcher"

# -fno-math-errno and -fno-trapping-math let the vector loops vectorise; neither changes a value.
_OPTIMISED = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast")
_SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-omit-frame-pointer")
# What x86 processors have had since 2013 (x86-64-v3, a name that older compilers do not know), by
# the compiler's names and the kernel's: one build serves nearly all machines, as wheels must.
_X86_64_V3 = {
    "-mavx2": "avx2",
    "-mbmi": "bmi1",
    "-mbmi2": "bmi2",
    "-mf16c": "f16c",
    "-mfma": "fma",
    "-mlzcnt": "abm",
    "-mmovbe": "movbe",
}
# The only target that is a program and not a shared library.
RUNNER = "tile_simulator_runner"
# What a file is to somebody who waits for it, and how long about.
_PARTS = {
    "libtile_simulator.so": "the simulator (about two minutes)",
    RUNNER: "the runner of Ascend C sources",
    "_tile_launcher": "the launcher of kernels",
}
# Seconds between lines about progress where a line can not be written over.
_SECONDS_A_LINE = 10.0
_COMMON = ("-std=c++17", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pthread")


class CompilerMissing(RuntimeError):
    """No C++ compiler was found."""


class SimulatorBuildError(RuntimeError):
    """The compiler rejected the sources; the text holds its output."""


class NotBuilt(RuntimeError):
    """A part is not there, and the caller did not want it to be built."""


def include_directory() -> Path:
    """Folder of the headers a kernel is compiled against."""
    return _HERE / "include"


def find_compiler() -> str:
    """Path of the C++ compiler: $TILE_CXX, else $CXX, else g++, else clang++."""
    wanted = os.environ.get("TILE_CXX") or os.environ.get("CXX")
    for name in (wanted,) if wanted else ("g++", "clang++"):
        path = shutil.which(name)
        if path:
            return path
    what = (
        f"$CXX is {wanted!r}, which is not an executable"
        if wanted
        else "neither g++ nor clang++ is installed"
    )
    raise CompilerMissing(
        f"the simulator needs a C++17 compiler, but {what}. "
        "Install one (Debian/Ubuntu: `apt-get install g++`, Fedora: `dnf install gcc-c++`, "
        "Alpine: `apk add g++`) or set CXX to its path."
    )


def kernel_flags(sanitize: bool = False) -> list[str]:
    """Compiler flags for a kernel source; add `-shared`, the source and `-o`."""
    flags = ["-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", f"-I{include_directory()}"]
    return [*flags, "-fsanitize=address,undefined", "-g"] if sanitize else flags


def default_cache_dir() -> Path:
    """$TILE_CACHE_DIR, or ~/.cache/tile-ascend."""
    chosen = os.environ.get("TILE_CACHE_DIR")
    return Path(chosen) if chosen else Path.home() / ".cache" / "tile-ascend"


def build_simulator(
    cache_dir: Path | None = None, sanitize: bool = False, may_build: bool = True
) -> Path:
    """Returns the path of libtile_simulator.so; builds it if the cache has none for this host, or
    raises NotBuilt if it may not. So do the other two."""
    flags = (*_COMMON, *(_SANITIZED if sanitize else _OPTIMISED), *instruction_set()[1])
    sources = sorted((_HERE / "src").glob("*.cpp"))
    watched = _sources_under(_HERE / "src", include_directory())
    includes = (f"-I{include_directory()}", f"-I{_HERE / 'src'}")
    name = "libtile_simulator.so"
    return _build(cache_dir, name, sources, watched, flags, includes, (), may_build)


def build_runner(cache_dir: Path | None = None, may_build: bool = True) -> Path:
    """Returns the path of the program that runs hand-written kernels in a process of their own."""
    folder = _HERE / "runner"
    flags = (*_COMMON, "-O2", "-fvisibility=hidden")
    watched = _sources_under(folder, include_directory())
    includes = (f"-I{include_directory()}",)
    sources = sorted(folder.glob("*.cpp"))
    return _build(cache_dir, RUNNER, sources, watched, flags, includes, (), may_build)


def build_launcher(cache_dir: Path | None = None, may_build: bool = True) -> Path:
    """Returns the path of the launcher extension; builds it if needed, with pybind11's headers."""
    name = "_tile_launcher" + str(sysconfig.get_config_var("EXT_SUFFIX"))
    sources = sorted(_LAUNCHER.glob("*.cpp"))
    watched = [*sources, *sorted(_LAUNCHER.glob("*.h")), *include_directory().glob("*.h")]
    flags = (*_COMMON, "-O2", "-fvisibility=hidden")
    includes = (
        f"-I{include_directory()}",
        # System headers: our warnings are errors, theirs are not.
        f"-isystem{sysconfig.get_path('include')}",
        f"-isystem{_pybind11_include()}",
    )
    identity = (sys.version, _pybind11_include())
    return _build(cache_dir, name, sources, watched, flags, includes, identity, may_build)


def _sources_under(*folders: Path) -> list[Path]:
    found = (path for folder in folders for path in folder.rglob("*"))
    return sorted(path for path in found if path.suffix in (".h", ".cpp"))


def _pybind11_include() -> str:
    try:
        import pybind11
    except ImportError as error:
        raise SimulatorBuildError(
            "building the launcher needs pybind11: `pip install pybind11`"
        ) from error
    return str(pybind11.get_include())


def _build(
    cache_dir: Path | None,
    name: str,
    sources: Sequence[Path],
    watched: Sequence[Path],
    flags: Sequence[str],
    includes: Sequence[str],
    identity: Sequence[str],
    may_build: bool,
) -> Path:
    compiler = find_compiler()
    digest = hashlib.sha256()
    for text in (_compiler_version(compiler), *flags, *identity, instruction_set()[0]):
        digest.update(text.encode() + b"\0")
    for path in watched:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    folder = (cache_dir or default_cache_dir()) / f"host-{digest.hexdigest()[:20]}"
    target = folder / name
    if target.exists():
        return target
    if not may_build:
        raise NotBuilt(f"{name} is not built yet")
    folder.mkdir(parents=True, exist_ok=True)
    with _BuildProgress(name, len(sources)) as progress, _locked(folder / "lock"):
        if not target.exists():
            _compile_and_link(compiler, sources, flags, includes, target, progress)
    return target


class _BuildProgress:
    """Says on standard error what is built and how far it is: on a terminal in one line."""

    def __init__(self, name: str, files: int) -> None:
        part = next((what for key, what in _PARTS.items() if name.startswith(key)), name)
        self._files, self._done = files, 0
        self._started = self._told = time.monotonic()
        self._lock = threading.Lock()
        self._terminal = sys.stderr.isatty()
        self._say(f"tile-ascend: building {part}, once for this machine ...", "\n")

    def step(self) -> None:
        """Another file is compiled; called from several threads."""
        with self._lock:
            self._done += 1
            now = time.monotonic()
            text = f"tile-ascend: {self._done} of {self._files} files compiled"
            if self._terminal:
                self._say(f"\r{text}", "")
            elif now - self._told > _SECONDS_A_LINE:
                self._told = now
                self._say(text, "\n")

    def __enter__(self) -> _BuildProgress:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        lead = "\r" if self._terminal else ""
        ended = "built" if kind is None else "stopped"
        seconds = time.monotonic() - self._started
        self._say(f"{lead}tile-ascend: {ended} after {seconds:.0f} s", "\n")

    def _say(self, text: str, end: str) -> None:
        print(text.ljust(48) if self._terminal else text, end=end, file=sys.stderr, flush=True)


def _compile_and_link(
    compiler: str,
    sources: Sequence[Path],
    flags: Sequence[str],
    includes: Sequence[str],
    target: Path,
    progress: _BuildProgress,
) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as scratch:

        def compile_one(source: Path) -> str:
            output = str(Path(scratch) / (source.stem + ".o"))
            # The same bytes wherever the sources lie.
            anywhere = f"-ffile-prefix-map={_HERE.parent}=tile_runtime"
            _run([compiler, *flags, anywhere, *includes, "-c", str(source), "-o", output])
            progress.step()
            return output

        with ThreadPoolExecutor(max_workers=2) as pool:
            objects = list(pool.map(compile_one, sources))
        linked = str(Path(scratch) / target.name)
        kind = () if target.name == RUNNER else ("-shared",)
        _run([compiler, *flags, *kind, *objects, "-ldl", "-o", linked])
        os.replace(linked, target)


def _run(command: Sequence[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SimulatorBuildError(f"{' '.join(command)}\n{result.stdout}{result.stderr}")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)


@lru_cache(maxsize=8)
def _compiler_version(compiler: str) -> str:
    """Return the compiler's version text: independent of its folder and of a caching command."""
    result = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return result.stdout


@lru_cache(maxsize=1)
def cpu_features() -> str:
    """Machine type and instruction set extensions of this host: what -march=native looks at."""
    lines = [platform.machine()]
    try:
        # The first processor's block is enough, and /proc/cpuinfo is slow to produce.
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    lines.append(" ".join(sorted(line.partition(":")[2].split())))
                    break
    except OSError:
        lines.append(platform.processor())
    return "\n".join(lines)


def instruction_set() -> tuple[str, tuple[str, ...]]:
    """Choose the instructions that the simulator may use on this host: a name to compare and store,
    and the flags."""
    features = cpu_features()
    if platform.machine() == "x86_64" and set(_X86_64_V3.values()) <= set(features.split()):
        return "x86-64-v3", tuple(_X86_64_V3)
    return hashlib.sha256(features.encode()).hexdigest(), ("-march=native",)


if __name__ == "__main__":
    print(build_simulator(sanitize="--sanitize" in sys.argv[1:]))
    if "--sanitize" not in sys.argv[1:]:
        print(build_launcher())
        print(build_runner())
