"""The server for agents, asked by the protocol's own client: in memory, and over standard input and
output. And its skill file: the kernel in it is right, and the tools and kinds it names exist."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is not installed: pip install 'tile-runtime[mcp]'")

from kept_cases import kept_number
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tile_ir.switches import override
from tile_runtime.child_processes.child_server import ChildServer
from tile_runtime.tools.command_line.kernel_argument import parse_arguments
from tile_runtime.tools.judge.judgement import VERDICTS, Judgement
from tile_runtime.tools.judge.request import JudgeRequest
from tile_runtime.tools.mcp_server import server
from tile_runtime.tools.mcp_server.kernel_words import kernel_words
from tile_runtime.tools.mcp_server.run_command import WARM_UP
from tile_runtime.tools.mcp_server.search_pages import _of_tables, search_pages
from tile_runtime.tools.mcp_server.server import SKILL, make_server

Asked = Callable[[Client], Coroutine[Any, Any, None]]
InMemory = Callable[[Asked], None]

SKILL_TEXT = SKILL.read_text()
KERNEL = re.findall(r"```python\n(.*?)```", SKILL_TEXT, re.S)[0]
SIZES = {"M": 64, "N": 128}
FENCES = {"memory", "time", "files", "calls", "network", "processes", "disk"}
TOOLS = {"compile", "judge", "report", "explain", "port", "opt", "ops", "search_docs"}


@pytest.fixture(scope="module")
def children() -> Iterator[ChildServer]:
    """Those of all servers in memory; they compile as a user's do, with the compiler of this machine."""
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("TILE_CXX", raising=False)
        with ChildServer(WARM_UP) as started:
            started.start()
            yield started


@pytest.fixture(autouse=True)
def quick_kernels(fresh_switches: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("TILE_CXX", raising=False)
    with override(prove=False, verify_each=False):
        yield


@pytest.fixture
def in_memory(children: ChildServer) -> InMemory:
    """Calls a function with a client of a server in this process."""

    def run(asked: Asked) -> None:
        async def session() -> None:
            async with Client(make_server(children)) as client:
                await asked(client)

        asyncio.run(session())

    return run


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The object that a tool answers with."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def test_what_it_offers(in_memory: InMemory) -> None:
    async def asked(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        assert all(tool.description and tool.input_schema["properties"] for tool in tools)
        assert all(tool.output_schema is not None for tool in tools)
        (prompt,) = (await client.list_prompts()).prompts
        assert prompt.name == "skill"
        (resource,) = (await client.list_resources()).resources
        (page,) = (await client.read_resource(str(resource.uri))).contents
        assert getattr(page, "text", "") == SKILL_TEXT

    in_memory(asked)


def test_commands_on_the_kernel_of_the_skill(in_memory: InMemory) -> None:
    """Its source is compiled; with a mistake it is refused."""

    async def asked(client: Client) -> None:
        given: dict[str, Any] = {"text": KERNEL, "arguments": SIZES}
        compiled = await answer(client, "compile", **given)
        assert compiled["ok"] and compiled["findings"] == compiled["proof"] == []
        assert "AscendC::Add(" in compiled["output"]
        assert "add_relu[M=64, N=128] for Ascend910B2" in compiled["messages"]
        wrong = KERNEL.replace("T.copy(A[bx", "T.copy(D[bx")
        refused = await answer(client, "compile", text=wrong, arguments=SIZES)
        (finding,) = refused["findings"]
        assert not refused["ok"] and finding["kind"] == "unknown-name"
        assert finding["line"] == 1 + KERNEL[: KERNEL.index("T.copy(A")].count("\n")

    in_memory(asked)


@pytest.mark.exhaustive
def test_passes_on_the_kernel_of_the_skill(in_memory: InMemory) -> None:
    async def asked(client: Client) -> None:
        given: dict[str, Any] = {"text": KERNEL, "arguments": SIZES}
        opened = await answer(client, "opt", **given, passes="")
        assert 'func "kernel" phase built' in opened["output"]
        again = await answer(client, "opt", text=opened["output"], passes="infer_memory")
        assert again["ok"] and "phase typed" in again["output"], again
        told = await answer(client, "explain", **given, passes="infer_memory")
        assert told["ok"] and "ub" in told["output"]

    in_memory(asked)


def test_a_report(in_memory: InMemory) -> None:
    async def asked(client: Client) -> None:
        report = await answer(client, "report", text=KERNEL, arguments=SIZES)
        assert report["ok"], report
        assert "us" in report["output"] and "add_relu[M=64, N=128]" in report["output"]

    in_memory(asked)


@pytest.mark.exhaustive
def test_a_verdict(in_memory: InMemory) -> None:
    async def asked(client: Client) -> None:
        judged = await answer(client, "judge", text=KERNEL, arguments=SIZES, seconds=300)
        assert judged["verdict"] == "right", judged
        assert judged["right"] and judged["time"]["microseconds"] > 0

    in_memory(asked)


def test_what_the_judge_is_asked(in_memory: InMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[JudgeRequest] = []

    def judged(request: JudgeRequest, children: ChildServer) -> Judgement:
        seen.append(request)
        return Judgement("right", "as asked", request.file, request.kernel)

    monkeypatch.setattr(server, "judge_file", judged)

    async def asked(client: Client) -> None:
        given = {"text": KERNEL, "arguments": SIZES, "sizes": [{"M": 7}], "seconds": 5}
        answered = await answer(client, "judge", **given)
        assert answered["verdict"] == "right" and answered["exit_code"] == 0
        wrong = await answer(client, "judge", text=KERNEL, random=-1)
        assert wrong["findings"][0]["kind"] == "judge-request"

    in_memory(asked)
    (request,) = seen
    assert request.text == KERNEL and dict(request.arguments) == SIZES
    assert request.sizes == ((("M", 7),),) and request.limits.seconds == 5


def test_what_goes_wrong_is_an_answer(in_memory: InMemory, tmp_path: Path) -> None:
    async def asked(client: Client) -> None:
        assert (await answer(client, "compile"))["findings"][0]["kind"] == "no-source"
        several = KERNEL + KERNEL.replace("add_relu", "again")
        kinds = (await answer(client, "compile", text=several))["findings"][0]
        assert kinds["kind"] == "kernel-name" and "add_relu, again" in kinds["message"]
        missing = str(tmp_path / "missing.py")
        assert (await answer(client, "compile", file=missing))["findings"][0]["kind"] == "no-file"
        looping = KERNEL.replace("import torch\n", "import time\n\ntime.sleep(1e6)\n")
        late = await answer(client, "compile", text=looping, arguments=SIZES, seconds=1)
        assert late["findings"][0]["kind"] == "time-limit"
        dead = KERNEL.replace("import torch\n", "import os\n\nos._exit(3)\n")
        ended = await answer(client, "compile", text=dead, arguments=SIZES)
        assert ended["findings"][0]["kind"] == "run-failed"
        # The server is as before.
        assert (await answer(client, "ops", name="add"))["ok"]

    in_memory(asked)


# What a script does that is not to be trusted, and the kinds of findings that tell.
ATTACKS = {
    "writes": ("open({outside!r}, 'w').write('x')", {"python-error", "run-failed"}),
    "connects": ("import socket\nsocket.socket()", {"python-error", "run-failed"}),
    "reads": ("print(open({secret!r}).read())", {"python-error", "run-failed"}),
    "loops": ("while True: pass", {"time-limit"}),
    "eats memory": ("x = bytearray(1 << 40)", {"memory-limit"}),
}
OF_KERNELS = ("compile", "report", "explain", "opt", "port")


@pytest.mark.parametrize("tool", OF_KERNELS[: max(1, kept_number(len(OF_KERNELS)))])
def test_a_script_that_is_not_to_be_trusted(tool: str, in_memory: InMemory, tmp_path: Path) -> None:
    """Each tool runs it behind the fence, in a process that ends; or names the fences it lacks."""
    outside, secret = tmp_path / "outside", tmp_path / "secret"
    secret.write_text("a secret")
    names = {"outside": str(outside), "secret": str(secret)}

    async def asked(client: Client) -> None:
        for number, (code, kinds) in enumerate(ATTACKS.values()):
            given: dict[str, Any] = {"text": f"{code.format(**names)}\n{KERNEL}"}
            if tool != "port":
                given["arguments"] = SIZES
            seconds = 3 if "time-limit" in kinds else 300
            told = await answer(client, tool, **given, seconds=seconds)
            assert {*told["fence"]["in_force"], *told["fence"]["missing"]} >= FENCES
            if tool == "port":  # which reads a script and does not run it
                assert told["ok"] or "time-limit" in kinds, told
            elif number >= 3 or {"files", "calls"} <= {*told["fence"]["in_force"]}:
                assert not told["ok"] and {f["kind"] for f in told["findings"]} <= kinds, told
            assert "a secret" not in str(told["output"])

    in_memory(asked)
    assert not outside.exists()


def test_what_needs_no_kernel(in_memory: InMemory, tmp_path: Path) -> None:
    async def asked(client: Client) -> None:
        assert "T.tile.add" in (await answer(client, "ops"))["output"]
        assert (await answer(client, "ops", name="T.tile.ad"))["findings"][0][
            "kind"
        ] == "unknown-op"
        script = tmp_path / "gpu.py"
        script.write_text("import tilelang.language as T\nT.tma_load(a, b)\n")
        ported = await answer(client, "port", file=str(script))
        assert ported["output"]["names"][0]["line"] == 2
        found = await answer(client, "search_docs", query="modelled time error published")
        assert found["sections"] and all(s["page"] and s["text"] for s in found["sections"])

    in_memory(asked)


def test_over_standard_input_and_output() -> None:
    """As an agent starts it."""
    words = [
        "-c",
        f"import sys; from tile_runtime.tools.command_line import main; main({['mcp']!r})",
    ]
    path = [p for p in sys.path if p]
    program = StdioServerParameters(
        command=sys.executable, args=words, env={"PYTHONPATH": ":".join(path)}
    )

    async def session() -> None:
        async with Client(program) as client:
            assert client.server_info.name == "tile-ascend"
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            found = await answer(client, "search_docs", query="T.Parallel")
            assert found["sections"]

    asyncio.run(session())


def test_the_skill_names_what_there_is() -> None:
    named = set(re.findall(r"`(\w+)`", SKILL_TEXT))
    assert named >= TOOLS
    table = SKILL_TEXT[SKILL_TEXT.index("| kind |") :]
    kinds = {
        kind
        for row in re.findall(r"^\| (`.*?) \|", table, re.M)
        for kind in re.findall(r"`([^`]+)`", row)
    }
    pages = "".join(page.read_text() for page in Path(__file__).parents[2].glob("docs/**/*.md"))
    assert [kind for kind in kinds if kind not in VERDICTS and f"`{kind}`" not in pages] == []
    assert len(SKILL_TEXT.splitlines()) <= 100
    # Its description stands in front, as agents read it.
    assert re.match(r"---\nname: [a-z-]+\ndescription: .+\n---\n", SKILL_TEXT)


def test_sections_without_pages() -> None:
    """What an installation without the pages is searched in."""
    pages = {section.page for section in _of_tables()}
    assert pages == {"operations", "passes", "switches"}
    best = search_pages("insert_sync flags", 3)
    assert len(best) == 3 and best[0]["score"] >= best[-1]["score"]
    assert search_pages("qqqqzz", 3) == []


def test_words_of_a_kernel() -> None:
    found = kernel_words(KERNEL, "", "", {"M": 7, "dtype": "float16"})
    assert found.words == ("{source}:add_relu", "-a", "M=7", "-a", "dtype='float16'")
    assert parse_arguments([found.words[4]]) == {"dtype": "float16"}
    assert kernel_words('file 0 "a.py"\nfunc "k"', "", "", None).words == ("{source}",)
