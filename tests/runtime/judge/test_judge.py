"""The judge gives each candidate its verdict, ends what it starts, and answers by its schema."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import PART

from judge.candidate_parts import CALL, SUM, binary, symbolic
from judge.candidates import JudgeCandidate, candidates, kept_candidates
from tile_ir import CallError
from tile_runtime.scripts.compare_results import follows
from tile_runtime.tools.judge.judgement import SCHEMA, VERDICTS
from tile_runtime.tools.judge.request import JudgeRequest
from tile_runtime.tools.judge.serve import JudgeServer, ask_server

QUICK: dict[str, Any] = {"edges": False, "random": 0}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeServer]:
    """A warm server that compiles as a user's does: with the compiler of this machine."""
    address = str(tmp_path_factory.mktemp("judge") / "socket")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("TILE_CXX", raising=False)
        with JudgeServer(address) as started:
            started.start()
            yield started


def judged(server: JudgeServer, text: str, **more: Any) -> dict[str, Any]:
    request = {"file": str(Path(server.address).parent / "candidate.py"), "text": text, **more}
    return ask_server(server.address, JudgeRequest.from_json(request))


def test_each_candidate_has_its_verdict(server: JudgeServer) -> None:
    """Several at a time; the answers hold to the schema, and no process is left."""
    wanted = kept_candidates() if os.environ.get(PART) else candidates()
    validate = _validator()

    def problem(candidate: JudgeCandidate) -> str:
        answer = judged(server, candidate.text, **candidate.request)
        validate(answer)
        if answer["verdict"] == candidate.verdict:
            return ""
        return f"{candidate.name}: {answer['verdict']}, expected {candidate.verdict}: {answer['reason']}"

    with ThreadPoolExecutor(3) as pool:
        problems = [said for said in pool.map(problem, wanted) if said]
    assert not problems, "\n".join(problems)
    _wait_until(lambda: not _keepers_of(server))


def test_a_reference_of_the_request(server: JudgeServer, tmp_path: Path) -> None:
    """The candidate neither sees its file nor its sizes; what it refuses of given sizes counts."""
    reference = tmp_path / "expected.py"
    reference.write_text("def total(a, b):\n    return a + b\n")
    given = {**QUICK, "reference": f"{reference}:total"}
    sizes = [{"M": 7, "N": 65}]
    answer = judged(server, binary() + CALL, **given, sizes=sizes)
    assert (answer["verdict"], answer["reference"]["given_by"]) == ("right", "request")
    assert [c["sizes"] for c in answer["cases"]] == [{}, {}, *sizes]
    looks = f"print(open({str(reference)!r}).read())\n" + binary() + CALL
    assert judged(server, looks, **given)["verdict"] == "cheating"
    # Under another name beside the candidate it is the same file.
    beside = Path(server.address).parent / "helpful.py"
    os.link(reference, beside)
    quiet = f"import ctypes\nassert ctypes.CDLL(None).open(b'{beside}', 0) < 0\n"
    linked = judged(server, quiet + binary() + CALL, **given)
    if "files" in linked["fence"]["in_force"]:
        assert linked["verdict"] == "right", linked["reason"]
    refusing = binary().replace("    @T.prim_func", "    assert M == 64\n    @T.prim_func")
    assert judged(server, refusing + CALL, **given, sizes=sizes)["verdict"] == "refused"
    unknown = judged(server, binary() + CALL, **given, sizes=[{"M": 7, "Z": 65}])
    assert unknown["verdict"] == "refused" and "no argument or symbol `Z`" in unknown["reason"]
    missing = {**QUICK, "reference": f"{reference}:other"}
    assert judged(server, binary() + CALL, **missing)["verdict"] == "reference-failed"


def test_inputs_of_the_reference(server: JudgeServer, tmp_path: Path) -> None:
    """They decide values and sizes: a kernel of other sizes is refused."""
    reference = tmp_path / "expected.py"
    reference.write_text(
        "import torch\n\ndef inputs(seed, M=64, N=64):\n"
        "    numbers = torch.Generator().manual_seed(seed)\n"
        "    return [torch.rand(M, N, generator=numbers) for _ in range(2)]\n\n"
        "def reference(a, b):\n    return a + b\n"
    )
    given = {"reference": str(reference), "sizes": [{"M": 40}]}
    answer = judged(server, binary() + CALL, **given)
    assert (answer["verdict"], len(answer["cases"])) == ("right", 3)
    other = binary() + CALL.replace("64", "32")
    assert judged(server, other, **given)["verdict"] == "refused"


def test_what_an_answer_holds(server: JudgeServer) -> None:
    answer = judged(server, symbolic() + "\ndef reference(x):\n    return x.exp()\n", seed=3)
    assert all(case["counts"] for case in answer["cases"])
    assert answer["right"] and answer["traced"] and answer["compiled"]
    assert {case["kind"] for case in answer["cases"]} == {"given", "edge", "random"}
    assert answer["time"]["microseconds"] > 0 and answer["time"]["error"] > 0
    assert answer["roofline"]["share"] > 0 and answer["advice"]["do"]
    assert {"trace", "compile", "run", "reference", "total"} <= answer["phases"].keys()
    assert answer["seed"] == 3
    assert {*answer["fence"]["in_force"], *answer["fence"]["missing"]} >= {
        "memory", "time", "files", "calls", "network", "processes",
    }  # fmt: skip


def test_a_finding_is_told_at_its_line(server: JudgeServer) -> None:
    text = binary(barrier=False) + SUM + CALL
    (found, *_) = judged(server, text, **QUICK)["findings"]
    line = 1 + text[: text.index("T.tile.add")].count("\n")
    assert found["kind"] == "race" and found["hint"]
    assert line in {found["line"], *(place["line"] for place in found["places"])} or (
        f"candidate.py:{line}" in found["message"]
    )


@pytest.mark.exhaustive
def test_the_reason_of_a_hang_is_the_wait(server: JudgeServer) -> None:
    """A race comes before it in the text and in the findings."""
    copy = "T.copy(a, C[row, 0])"
    waits = f'{copy}\n                T.wait_flag("v", "mte3", 3)'
    answer = judged(server, binary(barrier=False).replace(copy, waits) + SUM + CALL, **QUICK)
    assert answer["verdict"] == "hang" and answer["findings"][0]["kind"] == "race"
    assert answer["reason"].startswith("given case: flag-wait-without-set: ")


@pytest.mark.exhaustive
def test_seeds_make_the_same_case_again(server: JudgeServer) -> None:
    wrong = binary("sub") + SUM + CALL
    first, second, other = (judged(server, wrong, **QUICK, seed=seed) for seed in (5, 5, 6))
    assert first["cases"] == second["cases"] != other["cases"]


@pytest.mark.exhaustive
def test_a_platform_without_fences() -> None:
    """The answer says so, the audit hook still refuses, and processes that leave their group end."""
    escapes = (
        "import ctypes, time\nlibrary = ctypes.CDLL(None)\nfor _ in range(5):\n"
        "    if library.fork() == 0:\n        library.setsid()\n        library.fork()\n"
        "        while True: time.sleep(1)\n"
    )
    for code, verdict in ((escapes, "right"), ("import os; os.system('true')\n", "forbidden")):
        request = {"file": "candidate.py", "text": code + binary() + SUM + CALL, **QUICK}
        found = subprocess.run(
            [sys.executable, str(Path(__file__).parent / "without_fences.py")],
            input=json.dumps(request), capture_output=True, text=True, check=True,
            env={k: v for k, v in os.environ.items() if k != "TILE_CXX"},
        )  # fmt: skip
        told = json.loads(found.stdout)
        assert told["answer"]["verdict"] == verdict and told["left"] == 0
        assert told["answer"]["fence"]["missing"].keys() >= {"files", "network", "processes"}


@pytest.mark.exhaustive
def test_changes_are_tried(server: JudgeServer) -> None:
    text = binary() + SUM + CALL.replace("64", "256")
    answer = judged(server, text, **QUICK, advise=2)
    assert answer["verdict"] == "right" and answer["phases"]["advise"] > 0
    if {"files", "network", "processes"} <= {*answer["fence"]["in_force"]}:
        assert answer["advice"]["tried"]


@pytest.mark.exhaustive
def test_a_server_outlives_its_forked_process(server: JudgeServer) -> None:
    process = server.children._process
    assert process is not None
    process.kill()
    process.wait()
    assert judged(server, "def f(:\n", **QUICK)["verdict"] == "refused"


@pytest.mark.parametrize(
    "request_", ["{}", "[1]", "no JSON", '{"file": 3}', '{"file": "a", "nothing": 1}',
                 '{"file": "a", "limits": {"seconds": -1}}', '{"file": "a", "random": 1000}']
)  # fmt: skip
def test_what_is_no_request(request_: str) -> None:
    with pytest.raises(CallError, match="judge-request") as caught:
        JudgeRequest.from_text(request_)
    assert str(caught.value).count("judge-request") == 1


def test_a_server_answers_what_is_no_request(server: JudgeServer) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server.address)
        connection.sendall(b'{"file": 1}\n{"file": "a-file-that-is-not-there.py"}\n')
        answers = connection.makefile("rb")
        kinds = [json.loads(answers.readline())["error"]["kind"] for _ in range(2)]
    assert kinds == ["judge-request", "judge-file"]


def test_the_schema_names_all_verdicts() -> None:
    schema = json.loads(SCHEMA.read_text())
    assert schema["properties"]["verdict"]["enum"] == list(VERDICTS)
    codes = [code for code, _ in VERDICTS.values()]
    assert len(set(codes)) == len(codes) and {1, 2}.isdisjoint(codes)


def test_an_answer_holds_to_the_schema(server: JudgeServer) -> None:
    pytest.importorskip("jsonschema", reason="pip install jsonschema")
    validate = _validator()
    answer = judged(server, "def kernel(:\n")
    validate(answer)
    with pytest.raises(Exception, match="verdict"):
        validate({name: value for name, value in answer.items() if name != "verdict"})


def test_results_that_follow_their_inputs() -> None:
    """What is nearly constant is told from what is rounded, however little it varies."""
    numbers = np.random.default_rng(0)

    def varied(kind: type, size: int, spread: float) -> list[list[tuple[str, Any]]]:
        results = [1 + spread * numbers.standard_normal(size) for _ in range(2)]
        return [[(np.dtype(kind).name, one.astype(kind))] for one in results]

    def near(results: list[tuple[str, Any]], part: float) -> list[tuple[str, Any]]:
        return [
            (n, (a + part * a * numbers.standard_normal(a.size)).astype(a.dtype))
            for n, a in results
        ]

    for kind, spread in ((np.float32, 1e-3), (np.float16, 0.1), (np.float32, 1.0)):
        for size in (1, 7, 1000):
            one, other = varied(kind, size, spread)
            assert follows(one, other, one, other)
            assert follows(near(one, spread / 16), near(other, spread / 16), one, other)
            assert not follows(one, one, one, other)
            assert not follows(near(one, 1e-7), one, one, other)
    one, other = varied(np.float16, 100, 1e-4)  # less than roundings
    assert follows(one, one, one, other)
    assert follows([], [], [], [])


def test_there_are_200_candidates() -> None:
    assert len(candidates()) >= 200
    assert {c.verdict for c in kept_candidates()} >= VERDICTS.keys() - {
        "failed", "no-reference", "reference-failed",
    }  # fmt: skip


def _validator() -> Any:
    if find_spec("jsonschema") is None:
        return lambda answer: None
    import jsonschema

    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate


def _wait_until(holds: Callable[[], bool]) -> None:
    """A process that has answered ends soon, on whatever machine."""
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("processes are left")


def _keepers_of(server: JudgeServer) -> list[str]:
    """The processes that the forking process has started and that are still there."""
    process = server.children._process
    assert process is not None
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
