"""A C++ compiler that remembers what it made.

Tests compile the same kernels again and again, in one run and from run to run. An entry is found by
the compiler, its arguments and the texts of its sources, wherever they and the output are, and is
taken if all headers it was made from are what they were. Compilations that fail, those that make no
file, and those for this machine only, which another would take from the folder of a CI, are always
done. conftest.py names the command in TILE_CXX; TILE_TEST_COMPILED is
the folder, which a CI keeps between its runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress

FOLDER = "TILE_TEST_COMPILED"
SOURCES = (".cpp", ".h")
_COMMAND = """#!{python} -SE
import sys
sys.path.insert(0, {folder!r})
from cached_compiler import main
sys.exit(main([*{compiler!r}, *sys.argv[1:]]))
"""
# Of the entries those that were used last stay, below so many bytes.
MOST_BYTES = 3 << 30
IN_USE_SECONDS = 3600.0


def compiled_folder() -> str:
    default = os.path.expanduser("~/.cache/tile-ascend-tests")
    return os.environ.get(FOLDER) or default


def caching_command(compiler: Sequence[str]) -> str:
    """Path of a command that takes the arguments of the compiler."""
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
    return path


def main(command: list[str]) -> int:
    if "-o" not in command or "-march=native" in command:
        return subprocess.run(command, check=False).returncode
    output = command[command.index("-o") + 1]
    sources = [a for a in command[1:] if a.endswith(SOURCES) and a[0] != "-" and a != output]
    places = {os.path.dirname(f): f"<{i}>" for i, f in enumerate([output, *sources])}
    entry = os.path.join(compiled_folder(), _key(command, sources, output, places))
    if _taken(entry, command, output, places):
        return 0
    return _made(entry, command, sources, output, places)


def _key(command: list[str], sources: list[str], output: str, places: dict[str, str]) -> str:
    program = os.path.realpath(shutil.which(command[0]) or command[0])
    about = os.stat(program)
    digest = hashlib.sha256(f"{program} {about.st_size} {about.st_mtime_ns}\n".encode())
    for word in command[1:]:
        digest.update(_anywhere(word, places).encode() + b"\n")
    for source in sources:
        digest.update(_hash(source).encode())
    return digest.hexdigest()[:40]


def _taken(entry: str, command: list[str], output: str, places: dict[str, str]) -> bool:
    """Whether an entry is good; then its files are where the command says."""
    try:
        with open(os.path.join(entry, "made.json")) as file:
            made = json.load(file)
        if any(_hash(path) != known for path, known in made["headers"].items()):
            return False
        os.utime(entry)
        shutil.copy(os.path.join(entry, "output"), output)
        if "-MF" in command:
            with open(command[command.index("-MF") + 1], "w") as file:
                file.write(_here(made["dependencies"], places))
    except (OSError, ValueError, KeyError):
        return False
    sys.stderr.write(_here(made["said"], places))
    return True


def _made(
    entry: str, command: list[str], sources: list[str], output: str, places: dict[str, str]
) -> int:
    """Runs the compiler, and keeps what it made if it made it."""
    folder = os.path.dirname(entry)
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as own:
        noted, more = os.path.join(own, "dependencies"), []
        if "-MF" in command:
            noted = command[command.index("-MF") + 1]
        else:
            more = ["-MMD", "-MF", noted]
        done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
        if done.returncode or done.stdout or not os.path.isfile(noted):
            return done.returncode
        with open(noted) as file:
            dependencies = file.read()
        words = re.split(r"(?<!\\)\s+", dependencies.replace("\\\n", " ").strip())[1:]
        files = [word.replace("\\ ", " ") for word in words]
        if not all(map(os.path.isfile, files)):
            return 0
        made = {
            # Sources are in the key; names of folders of ours say what is in them.
            "headers": {f: _hash(f) for f in files if not f.startswith((*sources, folder))},
            "dependencies": _anywhere(dependencies, places),
            "said": _anywhere(done.stderr, places),
        }
        new = os.path.join(own, "entry")
        os.mkdir(new)
        shutil.copy(output, os.path.join(new, "output"))
        with open(os.path.join(new, "made.json"), "w") as file:
            json.dump(made, file)
        shutil.rmtree(entry, ignore_errors=True)
        with suppress(OSError):  # another process was faster
            os.rename(new, entry)
    return 0


def _anywhere(text: str, places: dict[str, str]) -> str:
    for place, name in places.items():
        text = text.replace(place + "/", name + "/") if place else text
    return text


def _here(text: str, places: dict[str, str]) -> str:
    for place, name in places.items():
        text = text.replace(name + "/", place + "/")
    return text


def _hash(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def forget_old(folder: str, most: int = MOST_BYTES) -> None:
    """Removes entries that were not used for the longest, until the rest is below `most` bytes."""
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
