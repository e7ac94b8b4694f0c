"""The server: its tools, each with its description for agents.

Every tool takes the text of a source, or the path of a file on this machine, and answers with an
object. A source is read and executed in a child process with limits, behind a fence. The answer
names the fences that this platform lacks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

from tile_ir import Diagnostic, TileError
from tile_runtime import __version__
from tile_runtime.child_processes.child_server import ChildServer
from tile_runtime.tools.command_line.finding_formats import Found, finding_data, found_by
from tile_runtime.tools.judge.judge_file import judge_file
from tile_runtime.tools.judge.request import JudgeRequest
from tile_runtime.tools.mcp_server.kernel_words import kernel_words
from tile_runtime.tools.mcp_server.run_command import SOURCE, WARM_UP, CommandSource, command_answer
from tile_runtime.tools.mcp_server.search_pages import search_pages

SKILL = Path(__file__).with_name("SKILL.md")
_INSTRUCTIONS = """\
Write, judge and speed up tile kernels for Ascend NPUs without a device. Start with the prompt or
resource `skill`; judge every kernel with `judge` before you call it right.
"""
# Seconds that a tool may take where the caller says nothing.
_SECONDS = 60.0
# What an agent sees of a result of a search.
_MOST_PAGES = 5

Answer = dict[str, Any]


def make_server(given: ChildServer | None = None) -> MCPServer[None]:
    """Make a server with all tools. Its processes end with its last session, unless they are given
    to it."""
    children = given or ChildServer(WARM_UP)

    @asynccontextmanager
    async def sessions(_: MCPServer[None]) -> AsyncIterator[None]:
        try:
            yield None
        finally:
            if given is None:
                children.close()

    server: MCPServer[None] = MCPServer(
        "tile-ascend", instructions=_INSTRUCTIONS, version=__version__, lifespan=sessions,
        log_level="WARNING",
    )  # fmt: skip
    _add_skill(server)
    _add_commands(server, children)
    _add_judge(server, children)
    return server


def _add_skill(server: MCPServer[None]) -> None:
    @server.resource("skill://tile-ascend", name="skill", mime_type="text/markdown")
    def skill_page() -> str:
        """How to write a kernel and which tools to call in which order."""
        return SKILL.read_text(encoding="utf-8")

    @server.prompt(name="skill")
    def skill() -> str:
        """How to write a kernel and which tools to call in which order."""
        return SKILL.read_text(encoding="utf-8")


def _add_judge(server: MCPServer[None], children: ChildServer) -> None:
    @server.tool()
    async def judge(
        text: str | None = None, file: str = "kernel.py", kernel: str = "",
        arguments: dict[str, Any] | None = None, reference: str = "",
        sizes: list[dict[str, Any]] | None = None, random: int = 1, edges: bool = True,
        advise: int = 0, seconds: float = _SECONDS,
    ) -> Answer:  # fmt: skip
        """Judge a kernel: is it right on given, random and edge sizes against its reference, free
        of races and memory errors, and how near to its roofline?

        `reference` is `file.py:function`, or the name of a function of the source; without one, the
        function `reference` or `ref_program` of the source. `arguments` go to the factory, `sizes`
        are further arguments and symbolic sizes to run with. `advise` is how many changes to try
        for advice. The answer has `verdict` (right, wrong, finding, refused, ...), `reason`,
        `findings` at lines, `cases`, the modelled `time` and the share of the `roofline`.
        """
        asked = {
            "file": file, "text": text, "kernel": kernel, "arguments": arguments or {},
            "reference": reference, "sizes": sizes or [], "random": random, "edges": edges,
            "advise": advise, "limits": {"seconds": seconds},
        }  # fmt: skip

        def judged() -> Answer:
            return judge_file(JudgeRequest.from_json(asked), children).to_json()

        return await _apart(judged)


def _add_commands(server: MCPServer[None], children: ChildServer) -> None:
    async def of_kernel(
        before: list[str], after: list[str], text: str | None, file: str, kernel: str,
        arguments: Mapping[str, Any] | None, seconds: float,
    ) -> Answer:  # fmt: skip
        """The answer of a command about a kernel."""

        def answered() -> Answer:
            named = kernel_words(text, file, kernel, arguments)
            words = [*before, *named.words, *after]
            return command_answer(children, words, CommandSource(file, text, named.name), seconds)

        return await _apart(answered)

    @server.tool(name="compile")
    async def compile_kernel(
        text: str | None = None, file: str = "", kernel: str = "",
        arguments: dict[str, Any] | None = None, seconds: float = _SECONDS,
    ) -> Answer:  # fmt: skip
        """Compile a kernel and prove its order and its memory, without running it.

        `output` is the emitted Ascend C. `findings` are what the compiler refuses, each with line
        and hint; `proof` has what the checkers find in the finished kernel.
        """
        emitted = await of_kernel(["emit"], [], text, file, kernel, arguments, seconds)
        if not emitted["ok"]:
            return emitted
        proof = await of_kernel(["check"], ["--json"], text, file, kernel, arguments, seconds)
        found = proof["output"]["findings"] if isinstance(proof["output"], dict) else []
        return {**emitted, "ok": proof["ok"], "proof": [*found, *proof["findings"]]}

    @server.tool()
    async def report(
        text: str | None = None, file: str = "", kernel: str = "",
        arguments: dict[str, Any] | None = None, scalars: dict[str, float] | None = None,
        tries: int = 0, seconds: float = _SECONDS,
    ) -> Answer:  # fmt: skip
        """Run a kernel on random numbers and show where its modelled time goes, as text: bound,
        pipes, stalls by line, roofline.

        `scalars` are scalar parameters and symbolic sizes. `tries` changes of the program are tried
        for the advice, each as long as a run.
        """
        given = [word for n, v in (scalars or {}).items() for word in ("--scalar", f"{n}={v:g}")]
        after = ["--text", "--tries", str(tries), *given]
        return await of_kernel(["report"], after, text, file, kernel, arguments, seconds)

    @server.tool()
    async def explain(
        text: str | None = None, file: str = "", kernel: str = "",
        arguments: dict[str, Any] | None = None, passes: str = "", seconds: float = _SECONDS,
    ) -> Answer:  # fmt: skip
        """Show decisions of passes for a kernel, with reasons: memories, addresses, order, flags.

        `passes` are names, separated by commas, such as `plan_memory`; without any, the order of
        the pipes is explained.
        """
        after = ["--explain", *(["-p", passes] if passes else [])]
        return await of_kernel(["opt"], after, text, file, kernel, arguments, seconds)

    @server.tool()
    async def opt(
        text: str | None = None, file: str = "", kernel: str = "",
        arguments: dict[str, Any] | None = None, passes: str = "all", seconds: float = _SECONDS,
    ) -> Answer:  # fmt: skip
        """Run passes on a kernel, a script or textual IR, and print the IR.

        `passes` are names, separated by commas; `all` compiles as the script says; empty prints
        the kernel as it was traced.
        """
        return await of_kernel(["opt"], ["-p", passes], text, file, kernel, arguments, seconds)

    @server.tool()
    async def port(text: str | None = None, file: str = "", seconds: float = _SECONDS) -> Answer:
        """List, by line, what must change in a script written for GPUs, and what becomes of the
        rest. The script is read, not run."""
        words = ["port", SOURCE, "--json"]
        source = CommandSource(file, text, "kernel.py")
        return await _apart(lambda: command_answer(children, words, source, seconds))

    @server.tool()
    async def ops(name: str = "", seconds: float = _SECONDS) -> Answer:
        """List the operations of the language, or describe one: operands, memories, types."""
        words = ["ops", *([name] if name else [])]
        source = CommandSource("", None, "")
        return await _apart(lambda: command_answer(children, words, source, seconds))

    @server.tool()
    async def search_docs(query: str, most: int = _MOST_PAGES) -> Answer:
        """Search the documents for words, such as the kind of a finding: sections, best first."""
        return await _apart(lambda: {"ok": True, "sections": search_pages(query, most)})


async def _apart(answered: Callable[[], Answer]) -> Answer:
    """Call a function in a thread; an error becomes a finding."""
    try:
        return await asyncio.to_thread(answered)
    except TileError as error:
        return _refused(found_by(error))
    except OSError as error:
        return _refused([Found(Diagnostic("no-file", str(error)))])


def _refused(found: list[Found]) -> Answer:
    return {"ok": False, "findings": [finding_data(each) for each in found], "output": ""}
