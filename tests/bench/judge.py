"""How long a warm judge takes to answer about a small kernel, alone and eight at once."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.row import RUNS, Examples, Measurement, Row, exactly, summary
from tile_runtime.tools.judge.request import JudgeRequest
from tile_runtime.tools.judge.serve import JudgeServer, ask_server

_AT_ONCE = 8
# What one agent waits for, on two cores.
_SECONDS = 1.5
_REFERENCE = "def reference(a, b):\n    return a + b\n"
_ARGUMENTS = (("M", 256), ("N", 256), ("block_M", 64))


def warm_judge(examples: Examples) -> list[Row]:
    """Seconds from a request to its answer, those of cores that its processes take, which other
    work on the machine changes less, and wrong verdicts among eight asked for at once: half of the
    candidates are wrong."""
    example = (examples.folder / "01_vector_add.py").read_text()
    with tempfile.TemporaryDirectory(prefix="tile-bench-") as folder:
        reference = Path(folder) / "expected.py"
        reference.write_text(_REFERENCE)

        def request(text: str) -> JudgeRequest:
            # Beside the examples, whose module it imports.
            file = str(examples.folder / "judged.py")
            return JudgeRequest(file, "vector_add", text, _ARGUMENTS, f"{reference}:reference")

        def ask(text: str) -> tuple[float, float, str]:
            began = time.perf_counter()
            answer = ask_server(server.address, request(text))
            return time.perf_counter() - began, answer["phases"]["cpu"], answer["verdict"]

        wrong = example.replace("T.tile.add(a, a, b)", "T.tile.sub(a, a, b)")
        with JudgeServer(f"{folder}/socket") as server:
            server.start()
            ask(example)
            alone = [ask(example) for _ in range(RUNS)]
            asked = [(example, "right"), (wrong, "wrong")] * (_AT_ONCE // 2)
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                together = list(pool.map(lambda one: ask(one[0]), asked))
    verdicts = [*zip(alone, ["right"] * RUNS, strict=True)]
    verdicts += zip(together, (verdict for _, verdict in asked), strict=True)
    missed = sum(found != verdict for (*_, found), verdict in verdicts)
    return [
        summary("judge, warm: vector add", [s for s, *_ in alone], "s", _SECONDS),
        summary("judge, warm: seconds of cores", [cpu for _, cpu, _ in alone], "s"),
        summary(f"judge, {_AT_ONCE} at once", [s for s, *_ in together], "s"),
        exactly("judge: wrong verdicts", missed, "", 0),
    ]


JUDGE: dict[str, Measurement] = {"judge": warm_judge}
