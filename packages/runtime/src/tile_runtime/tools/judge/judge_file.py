"""Judge a kernel of a file: trace it, compile and run it, run the reference, compare, decide."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tile_ir import CallError
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.child_processes.child_server import ChildServer, EndedChild, readable_folders
from tile_runtime.child_processes.fence import Fence
from tile_runtime.tools.judge.decide import decide
from tile_runtime.tools.judge.jobs import (
    ADVISE,
    INPUTS,
    REFERENCE,
    RUN,
    TRACE,
    compiling,
    fence_of_script,
    judging_children,
)
from tile_runtime.tools.judge.judgement import Judgement, UsedReference
from tile_runtime.tools.judge.observed import KernelRun, Observed, TracedText, advice_of
from tile_runtime.tools.judge.request import REFERENCES, JudgeRequest

# Of the limit of a process, the part that its simulated kernels may take.
_SIMULATED = 0.8
# The texts of all kernels of a candidate have at most so many bytes.
_MOST_TEXT_MB = 32
# Advice is for kernels that nothing is known to be wrong with.
_ADVISED = ("right", "no-reference")
# Cases of one kernel with the bytes of their inputs.
_Supplied = list[tuple[dict[str, Any], bytes]]
# What keeps a candidate in its place that may start programs.
_NEEDED_TO_ADVISE = {"files", "network", "processes"}
_SEED_BITS = 53  # a number that every reader of JSON keeps


def judge_file(request: JudgeRequest, server: ChildServer | None = None) -> Judgement:
    """Judge a kernel; without a server to fork children from, start one and end it.

    Raises FileNotFoundError for a file that is not there, CallError for a reference that is none,
    and BuildError if no child can be started. The answer has the faults of the candidate.
    """
    if server is None:
        with judging_children() as started:
            return judge_file(request, started)
    began = time.monotonic()
    judged = _JudgedFile.of(request, server)
    observed = judged.observe()
    if request.advise and decide(request, observed).verdict in _ADVISED:
        observed = judged.advise(observed)
    phases = {**observed.phases, "cpu": observed.cpu, "total": time.monotonic() - began}
    return decide(request, replace(observed, phases=phases))


@dataclass(frozen=True)
class _JudgedFile:
    """The constants of a judgement: texts, seed, and where the reference is."""

    request: JudgeRequest
    server: ChildServer
    text: str
    seed: int
    reference: UsedReference | None
    reference_file: str
    reference_text: str

    @staticmethod
    def of(request: JudgeRequest, server: ChildServer) -> _JudgedFile:
        text = _text_of(request.file) if request.text is None else request.text
        seed = secrets.randbits(_SEED_BITS) if request.seed is None else request.seed
        used, file, reference_text = _reference_of(request, text)
        for path in request.readable:
            if file and Path(file).resolve().is_relative_to(Path(path).resolve()):
                raise CallError(
                    "judge-request", f"the candidate may read {path}, which holds the reference"
                )
        return _JudgedFile(request, server, text, seed, used, file, reference_text)

    def _seed_of(self, what: str) -> int:
        """A seed that reveals no other one: a candidate learns only the seed of sizes."""
        digest = hashlib.sha256(f"{self.seed} {what}".encode()).digest()
        return int.from_bytes(digest[:4], "little") >> 1

    def observe(self) -> Observed:
        """Everything that is found out, without a verdict."""
        traced = self._trace()
        observed = Observed(
            traced,
            seed=self.seed,
            reference=self.reference,
            phases={"trace": traced.ended.seconds},
            cpu=traced.ended.cpu_seconds,
        )
        if traced.ended.how != "done" or not traced.kernels or traced.accusations:
            return observed
        supplied: dict[int, _Supplied] = {}
        if self.supplies_inputs:
            supplied, problem = self._supply(traced)
            if problem:
                return replace(observed, reference_problem=problem)
        numbers = range(len(traced.kernels))
        with ThreadPoolExecutor(len(numbers)) as pool:
            runs = tuple(
                pool.map(lambda n: self._run(n, traced.kernels[n], supplied.get(n, [])), numbers)
            )
        phases = {**observed.phases, "compile": runs[0].compile_seconds,
                  "run": sum(run.run_seconds for run in runs)}  # fmt: skip
        cpu = observed.cpu + sum(run.ended.cpu_seconds for run in runs)
        observed = replace(observed, runs=runs, phases=phases, cpu=cpu)
        if self.reference is None or not any(run.results for run in runs):
            return observed
        expected, problem, ended = self._expect(traced, runs)
        return replace(
            observed, expected=expected, reference_problem=problem,
            phases={**phases, "reference": ended.seconds}, cpu=cpu + ended.cpu_seconds,
        )  # fmt: skip

    def advise(self, observed: Observed) -> Observed:
        """Try changes of the candidate, and put what they give in place of the advice."""
        request, traced = self.request, observed.traced
        lacking = _NEEDED_TO_ADVISE - {*traced.fence.in_force}
        if lacking:
            said = f"no changes are tried without the fences {', '.join(sorted(lacking))}"
            return replace(observed, no_advice=said)
        asked = {
            "file": os.path.abspath(request.file), "text": self.text, "kernel": traced.name,
            "arguments": {**traced.arguments, **dict(request.arguments)}, "most": request.advise,
        }  # fmt: skip
        fence = compiling(self._fence_of_candidate())
        seconds = request.limits.seconds * (1 + request.advise)
        limits = replace(request.limits, seconds=seconds)
        ended = self.server.run(ADVISE, asked, limits, fence=fence)
        advice = advice_of(ended)
        problem = "" if advice else ended.problem or "no changes of it can be tried"
        return replace(
            observed, advice=advice, no_advice=problem, cpu=observed.cpu + ended.cpu_seconds,
            phases={**observed.phases, "advise": ended.seconds},
        )  # fmt: skip

    def _fence_of_candidate(self) -> Fence:
        """The candidate may import the Python files beside it, but for the reference."""
        return fence_of_script(self.request.file, self.reference_file, self.request.readable)

    def _fence_of_reference(self) -> Fence:
        if not self.reference_file:
            return self._fence_of_candidate()
        folder = str(Path(self.reference_file).resolve().parent)
        return Fence(readable=(*readable_folders(), folder))

    def _reference_file(self) -> dict[str, Any]:
        file = self.reference_file or self.request.file
        return {"file": os.path.abspath(file), "text": self.reference_text or self.text}

    def _trace(self) -> TracedText:
        request = self.request
        adds_sizes = not self.supplies_inputs
        asked = {
            "file": request.file, "text": self.text, "kernel": request.kernel,
            "arguments": dict(request.arguments), "sizes": [dict(s) for s in request.sizes],
            "edges": request.edges and adds_sizes, "random": request.random,
            "every_size": request.every_size and adds_sizes, "own_sizes": adds_sizes,
            "seed": self._seed_of("sizes"),
            "reference": self.reference.name if self.reference else "",
            "reference_file": self.reference_file,
        }  # fmt: skip
        fence = self._fence_of_candidate()
        limits = replace(request.limits, answer_mb=min(request.limits.answer_mb, _MOST_TEXT_MB))
        return TracedText.of(self.server.run(TRACE, asked, limits, fence=fence), request)

    @property
    def supplies_inputs(self) -> bool:
        """Whether the reference has a function for inputs, which then decides their sizes too."""
        return bool(self.reference_file) and "def inputs(" in self.reference_text

    def _supply(self, traced: TracedText) -> tuple[dict[int, _Supplied], str]:
        """The inputs of each kernel by the function of the reference, and what is wrong with it.
        Sizes are those of the request, whatever the candidate says."""
        known = [dict(sizes) for sizes in self.request.sizes]
        wanted: list[tuple[int, dict[str, Any]]] = [(0, {}), (0, {})]
        wanted += [(0, sizes) for sizes in traced.kernels[0]["symbols"] if sizes in known]
        for number, kernel in enumerate(traced.kernels[1:], 1):
            wanted += [(number, kernel["sizes"])] if kernel["sizes"] in known else []
        arguments = dict(self.request.arguments)
        cases = [
            {"seed": self._seed_of(f"supplied {n}"), "named": {**arguments, **sizes}}
            for n, (_, sizes) in enumerate(wanted)
        ]
        asked = {**self._reference_file(), "cases": cases}
        fence = self._fence_of_reference()
        ended = self.server.run(INPUTS, asked, self.request.limits, fence=fence)
        found: dict[int, _Supplied] = {}
        for message, data in ended.messages:
            match message:
                case {"event": "supplied", "number": int(n), "inputs": list(inputs)}:
                    number, sizes = wanted[n]
                    case = {**cases[n], "sizes": sizes, "inputs": inputs, "bytes": len(data)}
                    found.setdefault(number, []).append((case, data))
        return found, _problem(ended)

    def _run(self, number: int, printed: Mapping[str, Any], supplied: _Supplied) -> KernelRun:
        request = self.request
        asked = {
            "kernel": printed["kernel"], "kind": printed["kind"], "sizes": printed["sizes"],
            "symbols": printed["symbols"], "edges": request.edges and number == 0,
            "random": request.random if number == 0 else 0, "seed": self._seed_of("symbols"),
            "input_seed": self._seed_of(f"inputs {number}"), "first": number == 0, "threads": 1,
            "simulator_seconds": _SIMULATED * request.limits.seconds,
        }  # fmt: skip
        if self.supplies_inputs:
            asked["supplied"] = [case for case, _ in supplied]
        data = b"".join(data for _, data in supplied)
        fence = compiling(Fence(readable=readable_folders()))
        ended = self.server.run(RUN, asked, request.limits, fence=fence, data=data)
        return KernelRun.of(number, ended)

    def _expect(
        self, traced: TracedText, runs: tuple[KernelRun, ...]
    ) -> tuple[dict[tuple[int, int], Any], str, EndedChild]:
        """The results of the reference by kernel and case, and what is wrong with it."""
        assert self.reference is not None, "there is one"
        cases = [
            {
                **{n: v for n, v in run.inputs[case].items() if n in ("recipe", "seed", "named")},
                "number": [run.number, case],
                "returned": run.outcomes[case]["returned"],
            }
            for run in runs
            for case in run.results
        ]
        own = self.reference.given_by == "candidate"
        arguments = {**(traced.arguments if own else {}), **dict(self.request.arguments)}
        asked = {
            **self._reference_file(), "function": self.reference.name, "cases": cases,
            "arguments": arguments,
        }  # fmt: skip
        fence = self._fence_of_reference()
        ended = self.server.run(REFERENCE, asked, self.request.limits, fence=fence)
        found: dict[tuple[int, int], Any] = {}
        for message, data in ended.messages:
            match message:
                case {"event": "expected", "number": [int(kernel), int(case)]}:
                    found[kernel, case] = (message.get("outputs"), data)
        return found, _problem(ended), ended


def _text_of(file: str) -> str:
    if not Path(file).is_file():
        raise FileNotFoundError(f"no such file: {file}")
    return Path(file).read_text()


def _problem(ended: EndedChild) -> str:
    """The problem of a reference that has run; "" for none."""
    failed = ended.event("reference-failed")
    if failed is not None:
        return str(failed.get("problem"))
    return "" if ended.how == "done" else ended.problem


def _reference_of(request: JudgeRequest, text: str) -> tuple[UsedReference | None, str, str]:
    """The reference, its file and its text; the last two are empty for one of the candidate."""
    file, colon, function = request.reference.rpartition(":")
    if colon and file.endswith(".py"):
        return UsedReference(function, "request"), file, _text_of(file)
    if request.reference.endswith(".py"):
        file, text = request.reference, _text_of(request.reference)
        name = next((n for n in REFERENCES if f"def {n}(" in text), None)
        if name is None:
            raise CallError("judge-reference", f"{file} has no function `reference`",
                            hint=f"name one: {file}:function")  # fmt: skip
        return UsedReference(name, "request"), file, text
    if request.reference:
        return UsedReference(request.reference, "candidate"), "", ""
    own = next((n for n in REFERENCES if f"def {n}(" in text), None)
    return (UsedReference(own, "candidate") if own else None), "", ""
