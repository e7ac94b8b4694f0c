"""Make the entries of cached_compiler.py, and the commands that use them.

A compiler command is a script; a process of tests looks for an entry itself and starts a process
only where there is none.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cached_compiler import MISS, Compilation, Compiler, compiled_folder, copy, count, file_hash

_COMMAND = """#!{python} -SE
import sys
sys.path.insert(0, {folder!r})
from cached_compiler import Compiler, main
sys.exit(main(Compiler(*{compiler!r}), sys.argv[1:]))
"""
# Of the entries those that were used last stay, below so many bytes.
MOST_BYTES = 3 << 30
IN_USE_SECONDS = 3600.0
# Commands that this process may run, by their path.
_COMPILERS: dict[str, Compiler] = {}


def remembering(compiler: Compiler) -> str:
    """Path of a command that takes the arguments of the compiler."""
    found = shutil.which(compiler.words[0]) or compiler.words[0]
    compiler = compiler._replace(words=(found, *compiler.words[1:]))
    here = os.path.dirname(os.path.abspath(__file__))
    text = _COMMAND.format(python=sys.executable, folder=here, compiler=tuple(compiler))
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = os.path.join(compiled_folder(), f"command-{name}", "c++")
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o755)
        os.replace(file.name, path)
    _COMPILERS[path] = compiler
    return path


def kernel_headers() -> tuple[Path, ...]:
    """The folders of headers that kernels include; none where the packages are not installed."""
    try:
        specs = [find_spec(name) for name in ("tile_runtime", "tile_codegen_ascendc")]
    except ModuleNotFoundError:  # where something refuses to look for them
        return ()
    places = [spec.origin for spec in specs if spec is not None and spec.origin is not None]
    if len(places) < len(specs):
        return ()
    runtime, emitter = places
    return Path(runtime).resolve().parent / "simulator" / "include", Path(emitter).with_name(
        "device"
    )


def shared_copies(folders: Sequence[Path]) -> tuple[tuple[str, str], ...]:
    """Each folder with a copy of it, which has the same path in every checkout with these headers."""
    if not folders:
        return ()
    files = {f: f.read_bytes() for folder in folders for f in sorted(folder.rglob("*.h"))}
    digest = hashlib.sha256(b"".join(files.values())).hexdigest()[:20]
    target = Path(compiled_folder()) / f"headers-{digest}"
    copies = [target / f"{number}" for number in range(len(folders))]
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as made:
            for folder, copied in zip(folders, copies, strict=True):
                shutil.copytree(folder, Path(made) / "all" / copied.name)
            with suppress(OSError):  # another process was faster
                os.rename(Path(made) / "all", target)
    os.utime(target)
    return tuple((f"{f}", f"{copied}") for f, copied in zip(folders, copies, strict=True))


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Do what subprocess.run does with a compiler; a remembered compilation starts no process."""
    compiler = _COMPILERS.get(command[0])
    compilation = compiler and compiler.compilation(command[1:])
    said = compilation and compilation.remembered()
    if said is not None:
        return subprocess.CompletedProcess(command, 0, "", said)
    return subprocess.run(command, **options)


def compile_and_keep(compilation: Compilation) -> int:
    """Run the compiler, and keep its output."""
    count(MISS)
    folder = os.path.dirname(compilation.entry)
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as own:
        # Where no list was asked for: this one has a rule for each source, that of -MF the last only.
        listed = compilation.listed or os.path.join(own, "dependencies")
        noting = {**os.environ, "DEPENDENCIES_OUTPUT": listed}
        done = subprocess.run(
            compilation.command, capture_output=True, text=True, check=False, env=noting
        )
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
        if done.returncode or done.stdout or not os.path.isfile(listed):
            return done.returncode
        dependencies = Path(listed).read_text()
        files = _prerequisites(dependencies)
        if not all(map(os.path.isfile, files)):
            return 0
        # Sources are in the key; names of folders of ours say what is in them.
        headers = [f for f in files if not f.startswith((*compilation.sources, folder))]
        unshared = compilation.unshared
        if unshared and any(compilation.marked(f).startswith(unshared) for f in headers):
            return 0
        new = os.path.join(own, "entry")
        os.mkdir(new)
        copy(compilation.output, os.path.join(new, "output"))
        for name, text in (
            ("headers", "".join(f"{file_hash(f)} {compilation.marked(f)}\n" for f in headers)),
            ("dependencies", compilation.marked(dependencies)),
            ("said", compilation.marked(done.stderr)),
        ):
            with open(os.path.join(new, name), "w") as file:
                file.write(text)
        shutil.rmtree(compilation.entry, ignore_errors=True)
        with suppress(OSError):  # another process was faster
            os.rename(new, compilation.entry)
    return 0


def _prerequisites(rules: str) -> list[str]:
    """The files that rules of make name behind their targets."""
    words = re.split(r"(?<!\\)\s+", rules.replace("\\\n", " ").strip())
    return [word.replace("\\ ", " ") for word in words if not word.endswith(":")]


def forget_old(folder: str, most: int = MOST_BYTES) -> None:
    """Remove the entries that were used least recently, until the rest is below `most` bytes."""
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.stat().st_mtime, reverse=True)
    except OSError:
        return
    for entry in entries:
        try:
            most -= sum(f.stat().st_size for f in os.scandir(entry))
        except OSError:
            continue
        if most < 0 and time.time() - entry.stat().st_mtime > IN_USE_SECONDS:
            shutil.rmtree(entry, ignore_errors=True)
