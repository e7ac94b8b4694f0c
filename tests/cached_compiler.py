"""A C++ compiler that remembers its outputs.

Tests compile the same kernels again and again, in one run and from run to run. The key of an entry
is the compiler, its arguments and the texts of the sources, without the folders of sources and
output, and without the places in Python files that emitted lines name behind them. An entry is valid as long as all headers of its compilation are unchanged. Some compilations
are always repeated: those that fail, those that make no file, and those for this machine only
(`-march=native`), which another machine would find in the folder of a CI.

conftest.py names the command in TILE_CXX. TILE_TEST_COMPILED is the folder, which a CI keeps between
its runs. Most compilations of a run are hits, so this file imports little; the rest is in
remember_compilation.py.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

FOLDER = "TILE_TEST_COMPILED"
# A file with one letter for each compilation of a run.
COUNTED = "TILE_TEST_COUNTED"
HIT, MISS = b"h", b"m"
SOURCES = (".cpp", ".h")
# Raise it when an entry holds something else, so that no folder's old entries are found.
ENTRIES = 2


def compiled_folder() -> str:
    default = os.path.expanduser("~/.cache/tile-ascend-tests")
    return os.environ.get(FOLDER) or default


class Compiler(NamedTuple):
    """A host compiler, and how emitted kernels are compiled quickly with it (kernel_compiler.py)."""

    words: tuple[str, ...]
    # Headers of the checkout and their copies, which checkouts with equal headers share. Emitted
    # kernels are those that include from one of these folders.
    copies: tuple[tuple[str, str], ...] = ()
    # With this precompiled header emitted kernels are not optimised.
    header: str = ""
    # False where kernels never come again.
    remembers: bool = True

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The words of one compilation: emitted kernels include the shared copies.

        Hand-written kernels, which a debugging level shows, have macros that the headers look at:
        they are compiled as they are, but their lines name no folder of headers. So are kernels of
        a test with headers of its own.
        """
        if not {f"-I{folder}" for folder, _ in self.copies} <= set(arguments):
            return [*self.words, *arguments]
        if any(a.startswith("-g") for a in arguments):
            return [*self.words, *arguments, *(_hiding(folder) for folder, _ in self.copies)]
        words = [*self.words, *map(self._shared, arguments)]
        return [*words, "-include", self.header, "-O0"] if self.header else words

    def _shared(self, argument: str) -> str:
        """An argument with the copy in place of a folder of headers, or of one inside."""
        for folder, copy in self.copies:
            if argument == f"-I{folder}" or argument.startswith(f"-idirafter{folder}/"):
                return argument.replace(folder, copy)
        return argument

    def compilation(self, arguments: Sequence[str]) -> Compilation | None:
        """The compilation, if it has an entry or would get one."""
        if not self.remembers or "-o" not in arguments or "-march=native" in arguments:
            return None
        command = self.command(arguments)
        return Compilation(command, {f: copy for f, copy in self.copies if _hiding(f) in command})


def main(compiler: Compiler, arguments: Sequence[str]) -> int:
    """Run a compiler, or copy the output of an earlier compilation."""
    compilation = compiler.compilation(arguments)
    if compilation is None:
        os.execvp(compiler.words[0], compiler.command(arguments))
    said = compilation.remembered()
    if said is None:
        from remember_compilation import compile_and_keep

        return compile_and_keep(compilation)
    sys.stderr.write(said)
    return 0


class Compilation:
    """A command with its sources, its output and the folder of its entry. Where folders of headers
    are hidden, which have the copies named, checkouts differ in them and in the current folder."""

    def __init__(self, command: Sequence[str], hidden: Mapping[str, str] = {}) -> None:
        self.command = command
        self.output = command[command.index("-o") + 1]
        self.sources = [
            a for a in command[1:] if a.endswith(SOURCES) and a[0] != "-" and a != self.output
        ]
        self.listed = command[command.index("-MF") + 1] if "-MF" in command else ""
        files = [self.output, *self.sources]
        self._marks = dict(hidden)
        self._marks.update((os.path.dirname(f), f"<{i}>") for i, f in enumerate(files))
        here = f"{os.getcwd()}/"
        # Headers there are not shared: lines name them.
        self.unshared = here if hidden and f"-iquote{here[:-1]}" in command else ""
        different = {f"-iquote{self.unshared[:-1]}", *map(_hiding, hidden)}
        words = [f"{word}/" if hidden else word for word in command[1:] if word not in different]
        self.entry = os.path.join(compiled_folder(), self._key(words))

    def _key(self, words: Sequence[str]) -> str:
        program = os.path.realpath(self.command[0])
        about = os.stat(program)
        digest = hashlib.sha256(
            f"{ENTRIES} {program} {about.st_size} {about.st_mtime_ns}\n".encode()
        )
        for word in words:
            digest.update(self.marked(word).encode() + b"\n")
        for source in self.sources:
            digest.update(source_hash(source).encode())
        return digest.hexdigest()[:40]

    def remembered(self) -> str | None:
        """Copy the output of a valid entry; the warnings of its compilation, None without one."""
        try:
            for line in self._part("headers").splitlines():
                known, _, path = line.partition(" ")
                if file_hash(self.unmarked(path)) != known:
                    return None
            said = self.unmarked(self._part("said"))
            os.utime(self.entry)
            copy(os.path.join(self.entry, "output"), self.output)
            if self.listed:
                with open(self.listed, "w") as file:
                    file.write(self.unmarked(self._part("dependencies")))
        except OSError:
            return None
        count(HIT)
        return said

    def _part(self, name: str) -> str:
        with open(os.path.join(self.entry, name)) as file:
            return file.read()

    def marked(self, text: str) -> str:
        """The text with marks in place of the folders of sources and output."""
        for folder, mark in self._marks.items():
            text = text.replace(folder + "/", mark + "/") if folder else text
        return text

    def unmarked(self, text: str) -> str:
        for folder, mark in self._marks.items():
            text = text.replace(mark + "/", folder + "/")
        return text


def _hiding(folder: str) -> str:
    """The option that leaves a folder out of debugging lines."""
    return f"-ffile-prefix-map={folder}=headers"


def count(letter: bytes) -> None:
    """Append to the file that conftest.py counts hits and misses from."""
    if counted := os.environ.get(COUNTED):
        with open(counted, "ab", buffering=0) as file:
            file.write(letter)


def copy(source: str, target: str) -> None:
    """Copy bytes and mode. A target in use keeps its bytes: it is replaced, not overwritten."""
    with open(source, "rb") as file:
        data = file.read()
    if os.path.exists(target):
        os.unlink(target)
    with open(target, "wb") as file:
        file.write(data)
    os.chmod(target, os.stat(source).st_mode)


def source_hash(path: str) -> str:
    """The hash of a source without the places of statements in Python files, which stand as
    comments at the ends of emitted lines: a script in a temporary folder has another one in every
    run."""
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    return hashlib.sha256(b"\n".join(map(_without_place, lines))).hexdigest()


def _without_place(line: bytes) -> bytes:
    code, mark, comment = line.rpartition(b"  // ")
    place = comment.rpartition(b".py:")[2].replace(b":", b"")
    return code if mark and place.isdigit() and b'"' not in comment else line


def file_hash(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
