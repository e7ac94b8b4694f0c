"""The host C++ compiler: finding it, its command line, and what it says when it fails."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tile_ir import BuildError
from tile_ir.switches import switch

# Integers of the language wrap, so signed overflow has to be what the machine does. A kernel calls
# the simulator, where the work is: for size it compiles in half the time of -O2, and runs as fast.
FLAGS = ("-std=c++17", "-Os", "-fwrapv", "-fPIC", "-shared", "-pipe")
# Those for an object that others link.
OBJECT_FLAGS = tuple(flag for flag in FLAGS if flag != "-shared")
# A kernel compiles in about a second; a compiler that takes this long is stuck.
TIMEOUT_SECONDS = 600
# Compilers repeat themselves; the first error is near the top.
OUTPUT_LINES = 60


def find_compiler() -> tuple[str, ...]:
    """The compiler as command words: the switch `cxx`, $CXX, g++ or clang++.

    Raises BuildError that says what to install.
    """
    chosen = switch("cxx") or os.environ.get("CXX", "")
    candidates = [tuple(shlex.split(chosen))] if chosen else [("g++",), ("clang++",)]
    for words in candidates:
        if words and shutil.which(words[0]):
            return words
    looked = chosen or "g++, clang++"
    raise BuildError(
        "no-compiler",
        f"no C++ compiler found (looked for {looked})",
        hint="install one: `apt-get install g++` (Debian, Ubuntu) or `dnf install gcc-c++` "
        "(Fedora, openEuler); Xcode on macOS is not supported",
    )


def host_command(
    compiler: Sequence[str], sources: Sequence[Path], output: Path, includes: Sequence[Path]
) -> list[str]:
    """One invocation that makes a shared object of the sources."""
    return [
        *compiler,
        *FLAGS,
        *(f"-I{path}" for path in includes),
        *(str(path) for path in sources),
        "-o",
        str(output),
    ]


def run_compiler(command: Sequence[str], what: str) -> None:
    """Run a compiler to its end.

    Raises BuildError with its output and command line when it fails.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_SECONDS
        )
    except FileNotFoundError:
        raise BuildError("no-compiler", f"{command[0]} not found while compiling {what}") from None
    except subprocess.TimeoutExpired:
        raise BuildError(
            "compiler-timeout", f"{command[0]} took over {TIMEOUT_SECONDS} s for {what}"
        ) from None
    if done.returncode == 0:
        return
    ending = (
        f"was killed by signal {-done.returncode}"
        if done.returncode < 0
        else f"failed with exit code {done.returncode}"
    )
    raise BuildError(
        "compiler-failed",
        f"{command[0]} {ending} on {what}\n{_shortened(done.stderr or done.stdout)}\n"
        f"command: {shlex.join(command)}",
    )


def _shortened(output: str) -> str:
    lines = output.strip().splitlines()
    if len(lines) <= OUTPUT_LINES:
        return "\n".join(lines)
    return "\n".join([*lines[:OUTPUT_LINES], f"... {len(lines) - OUTPUT_LINES} more lines"])
