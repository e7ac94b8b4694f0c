"""A host compiler that finds the headers of emitted kernels read before: a third of the time that a
small kernel takes to compile."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from tile_ir import BuildError
from tile_ir.switches import is_chosen
from tile_runtime.cache.fingerprint import compiler_identity, digest_of
from tile_runtime.devices.compile_host import OBJECT_FLAGS, find_compiler
from tile_runtime.options.code_generators import code_generator
from tile_runtime.simulator.build_simulator import default_cache_dir, include_directory

# What emitted kernels begin with.
_HEADER = '#include "kernel_operator.h"\n#include "tile_device.h"\n'
_HEADERS = "*.h"


@lru_cache(maxsize=1)
def quick_compiler() -> tuple[str, tuple[str, ...]]:
    """The command for the switch `cxx`, and the folders it reads; the header is made if it is not
    in the cache. Where that fails, the compiler as it is: then it only takes longer. A compiler
    chosen by the switch is taken as it is, and may read all folders."""
    words = find_compiler()
    usual = shlex.join(words)
    if is_chosen("cxx"):
        return usual, ("/",)
    includes = (include_directory(), code_generator().headers)
    texts = [p.read_text() for folder in includes for p in sorted(folder.rglob(_HEADERS))]
    key = digest_of(compiler_identity(words[0]), usual, repr(OBJECT_FLAGS), repr(includes), *texts)
    folder = default_cache_dir() / f"headers-{key[:20]}"
    header = folder / "kernel.h"
    try:
        if not (folder / "kernel.h.gch").exists():
            _precompile(words, includes, folder, header)
    except (OSError, BuildError):
        return usual, (_home_of(words[0]),)
    return shlex.join((*words, "-include", str(header))), (str(folder), _home_of(words[0]))


def _home_of(compiler: str) -> str:
    """The folder that a compiler is installed in with its programs and headers."""
    return str(Path(os.path.realpath(shutil.which(compiler) or compiler)).parent.parent)


def _precompile(
    words: tuple[str, ...], includes: tuple[Path, ...], folder: Path, header: Path
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="build-") as made:
        whole = Path(made) / "kernel.h"
        whole.write_text(_HEADER)
        os.replace(whole, header)
        flags = (*OBJECT_FLAGS, *(f"-I{include}" for include in includes))
        output = f"{made}/kernel.h.gch"
        command = [*words, *flags, "-x", "c++-header", str(header), "-o", output]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise BuildError("compiler-failed", done.stderr[:1000])
        os.replace(output, folder / "kernel.h.gch")
