"""Candidates for the judge with the verdict that each deserves, made by rule: 200 of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from judge.candidate_parts import (
    CALL,
    EAGER,
    NEARLY_CONSTANT,
    SEVERAL,
    SUM,
    binary,
    reference,
    symbolic,
)

# Candidates that never end have this much time; the others have enough on any machine.
_SHORT = {"limits": {"seconds": 3.0, "memory_mb": 512}}
_QUICK: dict[str, Any] = {"edges": False, "random": 0}
_OPERATIONS = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "max": "torch.maximum(a, b)",
    "min": "torch.minimum(a, b)",
}  # fmt: skip
_FUNCTIONS = {
    "exp": "torch.exp(x)", "abs": "torch.abs(x)", "relu": "torch.relu(x)",
    "sqrt": "torch.sqrt(x)", "rsqrt": "torch.rsqrt(x)",
}  # fmt: skip


@dataclass(frozen=True)
class JudgeCandidate:
    """A script, what else its request says, and the verdict."""

    name: str
    text: str
    verdict: str
    request: Mapping[str, Any] = field(default_factory=dict)


def candidates() -> list[JudgeCandidate]:
    """All of them, in an order by kind."""
    kinds = (_right, _forms, _harmless, _wrong, _wrong_at_an_edge, _tails, _racing, _hanging, _refused, _crashing,
             _hogging, _endless, _forbidden, _cheating)  # fmt: skip
    found = [candidate for kind in kinds for candidate in kind()]
    names = [candidate.name for candidate in found]
    assert len(set(names)) == len(names), "a name stands for one candidate"
    return found


def kept_candidates() -> list[JudgeCandidate]:
    """The first of each verdict."""
    first: dict[str, JudgeCandidate] = {}
    for candidate in candidates():
        first.setdefault(candidate.verdict, candidate)
    return list(first.values())


def _call(M: int, N: int, dtype: str = "float32") -> str:
    return f"\n# tile-ascend: kernel(M={M}, N={N}, dtype={dtype!r})\n"


def _right() -> Iterator[JudgeCandidate]:
    for op, body in _OPERATIONS.items():
        for M, N, dtype in (
            (64, 64, "float32"), (100, 24, "float16"), (33, 8, "float32"), (1, 128, "float32"),
            (7, 200, "float16"), (65, 16, "float32"),
        ):  # fmt: skip
            name = f"right-{op}-{M}-{N}-{dtype}"
            own = reference(f"({body})")
            yield JudgeCandidate(name, binary(op) + own + _call(M, N, dtype), "right", _QUICK)
    for op, body in _FUNCTIONS.items():
        yield JudgeCandidate(f"right-any-{op}", symbolic(op) + reference(body, "x"), "right")
    for count in (2, 3):
        edges = {"edges": True, "random": count, "every_size": True}
        yield JudgeCandidate(f"right-edges-{count}", binary() + SUM + CALL, "right", edges)
    compared = "\nk = kernel(64, 64)\nx = torch.randn(64, 64)\nassert k(x, x).equal(x + x)\n"
    yield JudgeCandidate(
        "right-script", binary() + SUM + compared, "right", {**_QUICK, "kernel": "k"}
    )
    in_text = "assert M % 32 == 0 and N % 8 == 0"
    text = binary().replace("    @T.prim_func", f"    {in_text}\n    @T.prim_func")
    yield JudgeCandidate("right-where-it-runs", text + SUM + CALL, "right")


def _forms() -> Iterator[JudgeCandidate]:
    """Eager kernels, several launches, results that are written in place."""
    sized = EAGER + "\n# tile-ascend: scaled(N=48, factor=3)\n"
    yield JudgeCandidate("eager", sized, "right")
    given = {**_QUICK, "arguments": {"N": 64}}
    yield JudgeCandidate("eager-given", EAGER, "right", given)
    yield JudgeCandidate("several-launches", SEVERAL, "right", _QUICK)
    in_place = binary().replace("@T.jit(out_idx=[-1])", "@T.jit")
    yield JudgeCandidate("in-place", in_place + SUM + CALL, "right", _QUICK)
    for sign, verdict in (("+", "right"), ("-", "wrong")):
        writes = f"\ndef reference(a, b, c):\n    c.copy_(a {sign} b)\n"
        name = f"in-place-{verdict}"
        yield JudgeCandidate(name, in_place + writes + CALL, verdict, _QUICK)


def _harmless() -> Iterator[JudgeCandidate]:
    """What is refused without a word, or does no harm, decides nothing: the kernel is right."""
    codes = (
        "import ctypes\nassert ctypes.CDLL(None).fork() < 0",
        "import ctypes\nctypes.CDLL(None).kill(-1, 9)",
        "import ctypes\nassert ctypes.CDLL(None).socket(2, 1, 0) < 0",
        "import ctypes\nassert ctypes.CDLL(None).open(b'/tmp/a-file', 0x41, 0o600) < 0",
        "import ctypes\nassert ctypes.CDLL(None).open(b'/etc/passwd', 0) < 0",
        "for _ in range(300): print('x' * 10_000)",
        "import threading\ndef f():\n    while True: pass\n"
        "threading.Thread(target=f, daemon=True).start()",
        "import gc\nassert not [x for x in gc.get_objects() if type(x) is dict and 'input_seed' in x]",
        "import atexit, os; atexit.register(os.abort)",
        "import os; os.environ.update(TILE_CHECK='off', TILE_SKIP='insert_sync', TILE_CXX='false')",
        "import sys; sys.setrecursionlimit(60_000); sys.settrace(None); sys.stdout = None",
        "import random; random.seed(0); import torch; torch.manual_seed(0)",
        # Memory that no limit of a process counts, and rights that a child had before.
        "import ctypes\nassert ctypes.CDLL(None).shmget(0, 1 << 28, 0o1600) < 0",
        "import ctypes\nc = ctypes.CDLL(None)\nc.prctl(1, 0, 0, 0, 0)\nassert c.syscall(57) < 0",
        "import ctypes\nctypes.CDLL(None).kill(1, 9)",
        "import resource\ntry:\n    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))\n"
        "    raise AssertionError\nexcept ValueError:\n    pass",
        "import gc\nassert not [x for x in gc.get_objects() if type(x) is dict and 'reference_text' in x]",
        "import os\nfor _ in range(300): os.write(1, b'x' * 100_000)",
        "import atexit, os\natexit.register(lambda: os.write(3, b'no frame'))",
        "import tile_runtime.scripts.compare_results as c\nc.compare_results = None",
    )
    for number, code in enumerate(codes):
        yield JudgeCandidate(f"harmless-{number}", _before(code), "right", _QUICK)


def _wrong() -> Iterator[JudgeCandidate]:
    for op in _OPERATIONS:
        for other, body in _OPERATIONS.items():
            if op != other and (op, other) != ("min", "max"):
                text = binary(op) + reference(f"({body})") + CALL
                yield JudgeCandidate(f"wrong-{op}-for-{other}", text, "wrong", _QUICK)
    for result, verdict in (("a + b", "wrong"), ("a.add_(b)", "right")):
        # Right results, and an input that the kernel overwrites.
        text = binary().replace("C[row, 0])", "C[row, 0])\n                T.copy(a, A[row, 0])")
        name = f"overwritten-input-{verdict}"
        yield JudgeCandidate(name, text + reference(result) + CALL, verdict, _QUICK)


def _wrong_at_an_edge() -> Iterator[JudgeCandidate]:
    """Rows behind the last whole tile hold what was written before: copies of the first ones."""
    for op, body in _FUNCTIONS.items():
        for rest in ("n % 32 == 1", "n > 256", "n == 33", "n % 2 == 1"):
            text = symbolic(op).replace(
                "            T.barrier_all()\n            T.copy(x, Y[row, 0])",
                f"            if {rest}:\n                T.tile.fill(x, 3.0)\n"
                "            T.barrier_all()\n            T.copy(x, Y[row, 0])",
            )
            # What fills does not wait for what calculates.
            text = text.replace(
                f"            if {rest}", f"            T.barrier_all()\n            if {rest}"
            )
            yield JudgeCandidate(f"edge-{op}-{rest}", text + reference(body, "x"), "wrong")


def _tails() -> Iterator[JudgeCandidate]:
    """Kernels of a factory that leave the last rows out, where such sizes count."""
    for op, body in _OPERATIONS.items():
        text = binary(op, rows="M // 32") + reference(f"({body})") + CALL
        every = {"random": 0, "every_size": True}
        yield JudgeCandidate(f"tail-{op}", text, "finding", every)
        given = {**_QUICK, "sizes": [{"M": 40, "N": 64}]}
        yield JudgeCandidate(f"tail-given-{op}", text, "finding", given)
        yield JudgeCandidate(f"tail-not-asked-{op}", text, "right")


def _racing() -> Iterator[JudgeCandidate]:
    for op, body in _OPERATIONS.items():
        for M, N in ((64, 64), (32, 128), (96, 8)):
            text = binary(op, barrier=False) + reference(f"({body})") + _call(M, N)
            yield JudgeCandidate(f"race-{op}-{M}-{N}", text, "finding", _QUICK)


def _hanging() -> Iterator[JudgeCandidate]:
    waits = [
        f"T.wait_flag({source!r}, {target!r}, {event})"
        for source, target in (("mte2", "v"), ("v", "mte3"), ("mte3", "mte2"), ("v", "mte2"))
        for event in (0, 1, 3)
    ]
    for wait in waits:
        text = binary().replace("T.tile.add", f"{wait}\n                T.tile.add") + SUM + CALL
        yield JudgeCandidate(f"hang-{wait}", text, "hang", _QUICK)


def _before(code: str) -> str:
    """A right candidate that does something when it is executed."""
    return code + "\n" + binary() + SUM + CALL


def _refused() -> Iterator[JudgeCandidate]:
    texts = {
        "syntax": "def kernel(:\n",
        "name": _before("undefined_name"),
        "raises": _before("raise ValueError('no')"),
        "no-kernel": "import torch\n" + SUM,
        "recursion": _before("def f():\n    return f()\nf()"),
        "too-large": binary().replace("(16, N)", "(16, 1 << 20)") + SUM + CALL,
        "no-such-op": binary("no_such_operation") + SUM + CALL,
        "import": _before("import a_module_that_is_not_there"),
        "secret": _before("open('/etc/passwd').read()"),
        "memfd": _before("import os\nos.memfd_create('x')"),
        "surrogate": _before("raise ValueError('\\ud800')"),
        "forged": _before(
            _FORGE
            + "say({'event': 'traced', 'name': 'k', 'arguments': {}, 'refused': [], 'kernels': "
            "[{'kind': 'given', 'sizes': {}, 'symbols': [], 'kernel': {'name': 'a', 'texts': ['x'], "
            "'sources': [], 'chip': 'Ascend910B2', 'passes': {}, 'outputs': [], 'workspaces': [], "
            "'declared': 0}}]})\nos._exit(0)"
        ),
        "forged-finding": _before(
            _FORGE + "say({'event': 'refused', 'slug': 'x', 'findings': [{'kind': 'a', "
            "'severity': 'error', 'file': None, 'line': None, 'column': None, 'message': 'm', "
            "'hint': None, 'places': [], 'more': 1}]})\nos._exit(0)"
        ),
        "huge-shape": binary() + SUM + _call(1 << 40, 64),
    }
    for name, text in texts.items():
        yield JudgeCandidate(f"refused-{name}", text, "refused", _QUICK)


# Writes messages into the channel of the child.
_FORGE = """import os, json, struct
def say(message):
    text = json.dumps(message).encode()
    os.write(3, struct.pack('<QQ', len(text), 0) + text)
"""


def _crashing() -> Iterator[JudgeCandidate]:
    codes = (
        "import ctypes; ctypes.string_at(0)",
        "import os; os.abort()",
        "import os; os._exit(0)",
        "import os; os._exit(7)",
        "import ctypes; ctypes.CDLL(None).abort()",
        "import ctypes; ctypes.memset(0, 1, 1)",
        "import os; os.close(3)",
        "import os; os.write(3, b'\\xff' * 64)",
        "import os, struct; os.write(3, struct.pack('<QQ', 9, 0) + b'[' * 9)",
        "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(s): return repr(s)\nrepr(A())",
        "import faulthandler; faulthandler._sigsegv()",
        "import os; os.closerange(0, 100)",
        "import ctypes; ctypes.CDLL(None).exit(0)",
        "import ctypes, os; ctypes.CDLL(None).kill(os.getppid(), 9)",
        "import ctypes; ctypes.CDLL(None).kill(0, 9)",
        _FORGE + "say({'event': 'end', 'status': 0, 'cpu_seconds': 'x'})",
        _FORGE + "say({'event': 'end', 'status': 0, 'cpu_seconds': None})",
        _FORGE + "say({'event': 'end', 'status': 0, 'cpu_seconds': float('nan')})",
        _FORGE + "say({'event': 'end', 'status': -10 ** 6, 'cpu_seconds': 0})",
        "import os, struct; t = b'{\"a\":' * 200_000; os.write(3, struct.pack('<QQ', len(t), 0) + t)",
    )  # fmt: skip
    for number, code in enumerate(codes):
        yield JudgeCandidate(f"crash-{number}", _before(code), "crash", _QUICK)


def _hogging() -> Iterator[JudgeCandidate]:
    codes = (
        "x = bytearray(1 << 40)",
        "x = []\nwhile True: x.append(bytearray(1 << 23))",
        "import torch; x = torch.empty(1 << 38)",
        "import torch\nx = []\nwhile True: x.append(torch.zeros(1 << 22))",
        "import numpy; x = numpy.zeros(1 << 38)",
        "x = 'x' * (1 << 38)",
        "x = list(range(1 << 34))",
        "x = [0] * (1 << 36)",
        "x = b'x'\nwhile True: x = x + x",
        "x = {}\nwhile True: x[len(x)] = bytes(1 << 20)",
        "x = bytes(1 << 36)",
        "import numpy\nx = [numpy.ones(1 << 24) for _ in range(64)]",
        "import os, struct; os.write(3, struct.pack('<QQ', 1 << 40, 1 << 40))",
        "import os, struct\nwhile True: os.write(3, struct.pack('<QQ', 8, 0) + b'{\"a\": 1}')",
    )
    for number, code in enumerate(codes):
        limits = {"limits": {"seconds": 60.0, "memory_mb": 256}}
        yield JudgeCandidate(
            f"memory-{number}", _before(code), "memory-limit", {**_QUICK, **limits}
        )


def _endless() -> Iterator[JudgeCandidate]:
    codes = (
        "import time; time.sleep(1000)",
        "while True: pass",
        "import threading; threading.Event().wait()",
        "import signal\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: pass",
        "import itertools\nfor _ in itertools.count(): pass",
        "def f():\n    while True: yield\nfor _ in f(): pass",
        "x = 9 ** 9 ** 9",
        "import re; re.match('(a+)+$', 'a' * 64 + 'b')",
        "while True:\n    try: raise ValueError\n    except ValueError: pass",
        "import os; os.read(os.pipe()[0], 1)",
        "import ctypes, os; ctypes.CDLL(None).kill(os.getpid(), 19)",
        "import signal\nsignal.signal(6, signal.SIG_IGN)\nwhile True: pass",
    )
    for number, code in enumerate(codes):
        yield JudgeCandidate(f"endless-{number}", _before(code), "time-limit", {**_QUICK, **_SHORT})
    for number, loop in enumerate(("T.serial(10 ** 10)", "T.serial(1 << 40)")):
        text = binary().replace(
            "T.tile.add(a, a, b)",
            f"for i in {loop}:\n                    T.tile.add(b, b, b)\n"
            "                    T.barrier_all()",
        )
        yield JudgeCandidate(
            f"endless-kernel-{number}", text + SUM + CALL, "time-limit", {**_QUICK, **_SHORT}
        )


def _forbidden() -> Iterator[JudgeCandidate]:
    codes = (
        "import os; os.system('true')",
        "import subprocess; subprocess.run(['true'])",
        "import subprocess\ntry: subprocess.check_output('true', shell=True)\nexcept Exception: pass",
        "import os; os.fork()",
        "import os\nwhile True: os.fork()",
        "import os; os.execv('/bin/true', ['true'])",
        "import os; os.popen('true').read()",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "import socket; socket.create_connection(('127.0.0.1', 80))",
        "import socket; socket.socket()",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1')",
        "import os; os.kill(1, 9)",
        "open('/tmp/a-file-of-a-candidate', 'w')",
        "import pathlib; pathlib.Path.home().parent.joinpath('a-file').write_text('x')",
        "import os; os.remove('/etc/hostname')",
        "import shutil; shutil.rmtree('/usr')",
        "import os; os.rename('/etc/hostname', '/etc/other')",
        "open('/proc/self/mem', 'rb')",
        "import ctypes; ctypes.CDLL(None).ptrace(16, 1, 0, 0)",
        "import ctypes; ctypes.CDLL(None).unshare(0x10000000)",
        "import os; os.symlink('/etc/passwd', os.environ['TMPDIR'] + '/link')",
        "\uff4f\uff53 = __import__('os'); \uff4f\uff53.system('true')",
        "import multiprocessing; multiprocessing.get_context('fork').Process(target=print).start()",
    )  # fmt: skip
    for number, code in enumerate(codes):
        yield JudgeCandidate(f"forbidden-{number}", _before(code), "forbidden", _QUICK)


def _cheating() -> Iterator[JudgeCandidate]:
    for value in (0.0, 1.0, -2.5):
        for op, body in _OPERATIONS.items():
            text = binary().replace("T.tile.add(a, a, b)", f"T.tile.fill(a, {value})")
            yield JudgeCandidate(
                f"constant-{value}-{op}", text + reference(f"({body})") + CALL, "cheating", _QUICK
            )
    patches = (
        "torch.allclose = lambda *a, **k: True",
        "torch.testing.assert_close = lambda *a, **k: None",
        "torch.Tensor.__eq__ = lambda a, b: True",
        "torch.randn = lambda *a, **k: torch.zeros(*a)",
        "import numpy; numpy.allclose = lambda *a, **k: True",
        "import random; random.random = lambda: 0.0",
        "import builtins; builtins.abs = lambda x: 0",
        "import tile_runtime.jit_kernels.kernel as k; k.JITKernel.__call__ = lambda *a: a[1]",
        "import tile_runtime.scripts.compare_results as c; c.compare_results = lambda *a: None",
        "import tile_checkers; tile_checkers.check_sync = lambda *a: []",
    )
    for number, patch in enumerate(patches):
        text = "import torch\n" + _before(patch)
        yield JudgeCandidate(f"patch-{number}", text, "cheating", _QUICK)
    for number, body in enumerate(("torch.ones(64, 64)", "reference(torch.ones(8), 1)")):
        text = f"import torch\n{SUM}\ndef kernel(M: int = 64):\n    return {body}\n"
        yield JudgeCandidate(
            f"without-kernel-{number}", text, "cheating", {**_QUICK, "kernel": "kernel"}
        )
    for value in (0.9999, 1.0001):
        yield JudgeCandidate(
            f"nearly-constant-{value}", NEARLY_CONSTANT.format(value), "cheating", _QUICK
        )
    calls = binary().replace("    @T.prim_func", "    reference(1, 2)\n    @T.prim_func")
    yield JudgeCandidate("calls-reference", calls + SUM + CALL, "cheating", _QUICK)
