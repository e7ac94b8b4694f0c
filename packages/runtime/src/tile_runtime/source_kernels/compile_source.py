"""Compiles a hand-written kernel with its host stub, and keeps the result in the kernel cache."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from tile_ir import BuildError, Loc
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import switch
from tile_runtime.cache.fingerprint import (
    compiler_identity,
    digest_of,
    file_digest,
    sources_digest,
)
from tile_runtime.cache.kernel_cache import META, kernel_cache
from tile_runtime.devices.compile_host import FLAGS, find_compiler, run_compiler
from tile_runtime.options.code_generators import named_generator
from tile_runtime.simulator.build_simulator import cpu_features, include_directory
from tile_runtime.source_kernels.host_stub import STUB_NAME

# -g1: a crash is told at its line. A loop that never ends has to be one here too, and a function
# that should return a value but does not is told about, not run into what follows it. A frame that
# is larger than the stack touches the guard page at its end, not what lies behind. Sources
# copy tiling structs word by word, whatever the fields are.
DEFINED_BEHAVIOUR = (
    "-fno-strict-aliasing", "-fno-finite-loops", "-fsanitize=return",
    "-fsanitize-undefined-trap-on-error", "-fstack-clash-protection",
)  # fmt: skip
_FLAGS = (*FLAGS, "-g1", *DEFINED_BEHAVIOUR)
# What the device's own compiler and the vendor's CPU build define
# (docs/hardware/index.md#compilers). The last two make sources leave their launches out.
PREDEFINED = (
    "__NPU_ARCH__=2201", "__CCE_AICORE__=220", "__DAV_C220__",
    "__CCE_KT_TEST__=1", "ASCENDC_CPU_DEBUG=1",
)  # fmt: skip
# The slug of an error about a header that is missing.
NO_SUCH_HEADER = "no-such-header"
_MISSING = re.compile(r"fatal error: (?:([^:\n]+): No such file|'([^'\n]+)' file not found)")
# The vendor's advanced API.
_ADVANCED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<](?:lib|adv_api)/', re.MULTILINE)
# What is found where neither the user nor the simulator has a header of that name: empty stand-ins
# for those of the host's runtime, and the vendor's names for parts of kernel_operator.h.
STAND_INS = tuple(
    include_directory() / f for f in ("host_headers", "part_headers", "part_headers/basic_api")
)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Folders, macros (`NAME` or `NAME=value`) and where quoted includes are looked for first."""

    includes: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    folder: Path = field(default_factory=Path)


@dataclass(frozen=True, slots=True)
class CompiledSource:
    """A kernel library. `owner` keeps the folder of one that is not in the cache."""

    library: Path
    owner: Any = field(default=None, repr=False)


def compile_source(unit: str, name: str, options: SourceOptions, text: str) -> CompiledSource:
    """The library of a translation unit, compiled now or before.

    `name` and `text` are the user's source, for errors. Raises BuildError at its line.
    """
    if not switch("cache"):
        owner = tempfile.TemporaryDirectory(prefix="tile-ascend-")
        return CompiledSource(_compile(Path(owner.name), unit, name, options, text), owner)
    cache = kernel_cache()
    key = _key(unit, options)
    found = cache.lookup(key)
    if found is not None:
        if _still_valid(found):
            return CompiledSource(found / "kernel.so")
        cache.discard(key)
    folder = cache.publish(key, lambda scratch: _fill(scratch, unit, name, options, text))
    return CompiledSource(folder / "kernel.so")


def _key(unit: str, options: SourceOptions) -> str:
    compiler = find_compiler()
    return digest_of(
        "source", unit, *map(str, options.includes), "", *options.defines, str(options.folder),
        compiler_identity(compiler[0]), *compiler[1:], *_FLAGS, cpu_features(), sources_digest(),
    )  # fmt: skip


def _fill(folder: Path, unit: str, name: str, options: SourceOptions, text: str) -> None:
    _compile(folder, unit, name, options, text)
    meta = {"source": name, "headers": _user_headers(folder / "kernel.d", folder)}
    (folder / META).write_text(json.dumps(meta, indent=2) + "\n")


def _compile(folder: Path, unit: str, name: str, options: SourceOptions, text: str) -> Path:
    source, library = folder / "kernel.cpp", folder / "kernel.so"
    source.write_text(unit)
    command = [
        *find_compiler(), *_FLAGS,
        *(f"-D{d}" for d in (*PREDEFINED, *options.defines)),
        f"-iquote{options.folder}",
        *(f"-I{p}" for p in options.includes),
        f"-I{include_directory()}", f"-I{_emitted_headers()}",
        *(f"-idirafter{p}" for p in STAND_INS),
        "-MMD", "-MF", str(folder / "kernel.d"),
        str(source), "-o", str(library),
    ]  # fmt: skip
    try:
        run_compiler(command, name)
    except BuildError as error:
        if error.slug != "compiler-failed":
            raise
        raise _told_at_source(error, name, text) from None
    return library


def _emitted_headers() -> Path:
    """Return the headers of the emitter: emitted Ascend C is compiled here like any other."""
    return named_generator("ascendc").headers


def _told_at_source(error: BuildError, name: str, text: str) -> BuildError:
    """The compiler's text at the first line of the user's source it mentions."""
    place = re.search(rf"^(?:In file included from )?{re.escape(name)}:(\d+):(?:(\d+):)?",
                      error.message, re.MULTILINE)  # fmt: skip
    loc = Loc(name, int(place[1]), int(place[2] or 1)) if place else None
    if missing := _MISSING.search(error.message):
        header = missing[1] or missing[2]
        return BuildError(
            NO_SUCH_HEADER,
            f"there is no header {header}, and the kernel does not compile without it\n"
            + error.message,
            loc,
            f"give the folder of {header} (includes=, -I); of the vendor's headers the simulator "
            "has those of the basic API (kernel_operator.h)",
            sources={name: text},
        )
    hint = None
    if "<<<" in text and "<<<" in error.message:
        hint = "launches (<<<...>>>) are host code; put them in functions of their own or under "
        hint += "#ifndef ASCENDC_CPU_DEBUG"
    elif "TILING_KEY_VAR" in error.message:
        keys = sorted({int(k) for k in re.findall(r"\bTILING_KEY_IS\s*\(\s*(\d+)", text)})
        hint = "say which variant of the operator to run: -D TILING_KEY_VAR=<key> (defines=)"
        hint += f"; the source asks for {', '.join(map(str, keys))}" if keys else ""
    elif _ADVANCED.search(text):
        hint = (
            "the simulator implements the basic API of kernel_operator.h; what lib/ has (Matmul, "
        )
        hint += "SoftMax, ...) it does not"
    elif STUB_NAME in error.message and place is None:
        hint = "the kernel's declaration was understood differently than the compiler reads it"
    first = re.search(r"(?:error|Error): (.*)", error.message)
    message = f"{first[1]}\n{error.message}" if first else error.message
    return BuildError(error.slug, message, loc, hint, sources={name: text})


def _user_headers(dependencies: Path, folder: Path) -> Mapping[str, str]:
    """Files the source includes, with hashes of their text; ours are part of the key already."""
    words = re.split(r"(?<!\\)\s+", dependencies.read_text().replace("\\\n", " "))
    ours = [include_directory(), _emitted_headers(), folder]
    found: dict[str, str] = {}
    for word in words[1:]:
        path = Path(word.replace("\\ ", " "))
        if word and not any(path.is_relative_to(p) for p in ours):
            found[str(path.absolute())] = file_digest(path)
    return found


def _still_valid(folder: Path) -> bool:
    try:
        headers: Mapping[str, str] = json.loads((folder / META).read_text())["headers"]
        return all(file_digest(Path(path)) == digest for path, digest in headers.items())
    except (OSError, ValueError, KeyError):
        return False


def addresses_to_lines(library: Path, offsets: Sequence[int]) -> list[list[tuple[str, int]]]:
    """For every code address the places it was compiled from, innermost inlined function first.

    Empty lists if addr2line, which comes with the compiler, is missing or finds nothing.
    """
    return _addr2line(library, offsets) if offsets and shutil.which("addr2line") else []


def _addr2line(library: Path, offsets: Sequence[int]) -> list[list[tuple[str, int]]]:
    try:
        done = subprocess.run(
            ["addr2line", "-a", "-i", "-e", str(library), *map(hex, offsets)],
            capture_output=True, text=True, errors="replace", timeout=10, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return []
    found: list[list[tuple[str, int]]] = []
    for line in done.stdout.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            found.append([])
            continue
        file, _, number = line.split(" (")[0].rpartition(":")
        if found and number.isdigit():
            found[-1].append((file, int(number)))
    return found
