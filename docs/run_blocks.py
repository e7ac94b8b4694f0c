"""Runs the code blocks of a document, and puts what they print into its `output` blocks.

A fenced block runs when the word `run` follows its language:

    ```python run            a script
    ```python run add.py     a script kept as add.py for the blocks after it
    ```python file add.py    only written to add.py
    ```sh run                shell commands

The blocks of one document run in order, in one empty folder. A block ```LANGUAGE output right
after one that ran holds its standard output; ```LANGUAGE error holds the standard error of a block
that must fail. Every other block is left alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tile_runtime.launcher.native import launcher_library, simulator_library

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(?P<info>\w[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)
# What runs the blocks, and the switches they find: tests have quicker ones.
PYTHON = sys.executable
SWITCHES = {"TILE_TARGET": "sim"}
COMMAND = (
    "import sys; sys.executable = {python}; "
    "from tile_runtime.tools.command_line import main; sys.exit(main())"
)


class BlockError(Exception):
    """A block that should run failed, or one that should fail did not."""


@dataclass(frozen=True)
class Block:
    language: str
    action: str
    name: str
    body: str


def block_of(match: re.Match[str]) -> Block:
    language, action, name = [*match["info"].split(), "", ""][:3]
    return Block(language, action, name, match["body"])


def blocks(text: str) -> list[Block]:
    """Every fenced block of a document."""
    return [block_of(m) for m in BLOCK.finditer(text)]


def run_document(text: str, title: str) -> str:
    """The document with its output blocks as they are today. Raises BlockError."""
    found = list(BLOCK.finditer(text))
    if not any(block_of(m).action == "run" for m in found):
        return text
    with tempfile.TemporaryDirectory(prefix="docs-") as folder:
        runner = _Runner(Path(folder), title)
        parts, end = [], 0
        for position, match in enumerate(found):
            block = block_of(match)
            following = found[position + 1 : position + 2]
            fails = any(block_of(m).action == "error" for m in following)
            parts += [text[end : match.start("body")], runner.body(block, fails)]
            end = match.end("body")
        return "".join([*parts, text[end:]])


class _Runner:
    """The folder of one document and what its last block printed."""

    def __init__(self, folder: Path, title: str) -> None:
        self.folder = folder / "page"
        self.title = title
        self.printed = self.complained = ""
        self.folder.mkdir()
        commands = folder / "commands"
        commands.mkdir()
        command = COMMAND.format(python=json.dumps(PYTHON))
        for name, arguments in (("python", ""), ("tile-ascend", f" -c '{command}'")):
            script = commands / name
            script.write_text(f'#!/bin/sh\nexec "{PYTHON}"{arguments} "$@"\n')
            script.chmod(0o755)
        sources = [str(p) for p in sorted(ROOT.glob("packages/*/src"))]
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("TILE_")},
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sources),
            "TILE_CACHE_DIR": str(self._cache(folder)),
            **SWITCHES,
        }

    def _cache(self, folder: Path) -> Path:
        """A folder of its own for kernels; the simulator, slow to build, is the usual one."""
        simulator_library()
        launcher_library()
        usual = os.environ.get("TILE_CACHE_DIR")
        shared = Path(usual) if usual else Path.home() / ".cache" / "tile-ascend"
        cache = folder / "cache"
        cache.mkdir()
        for host in shared.glob("host-*"):
            (cache / host.name).symlink_to(host)
        return cache

    def body(self, block: Block, fails: bool) -> str:
        """Do what a block asks for; its text, new if it shows an output."""
        match block.action:
            case "file":
                (self.folder / block.name).write_text(block.body)
            case "run":
                self._run(block, fails)
            case "output":
                return _lines(self.printed)
            case "error":
                return _lines(self.complained)
        return block.body

    def _run(self, block: Block, fails: bool) -> None:
        name = block.name or f"block.{'py' if block.language == 'python' else 'sh'}"
        (self.folder / name).write_text(block.body)
        program = ["python"] if block.language == "python" else ["bash", "-eu", "-o", "pipefail"]
        done = subprocess.run(
            [*program, name], cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        self.printed, self.complained = self._plain(done.stdout), self._plain(done.stderr)
        if (done.returncode != 0) != fails:
            raise BlockError(
                f"{self.title}: exit code {done.returncode} of\n{block.body}\n"
                f"{done.stdout}{done.stderr}"
            )

    def _plain(self, text: str) -> str:
        """Without the names of folders that are others in every run."""
        text = text.replace(f"{self.folder}{os.sep}", "")
        cache = re.escape(self.environment["TILE_CACHE_DIR"])
        return re.sub(cache + r"/kernels/\w+", "CACHE", text)


def _lines(text: str) -> str:
    return text.rstrip("\n") + "\n"
