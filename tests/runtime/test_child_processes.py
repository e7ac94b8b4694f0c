"""Functions in child processes: what they return and print, how they end, and what ends with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tile_ir import BuildError
from tile_ir.switches import override
from tile_runtime.child_processes import child_server
from tile_runtime.child_processes.answers import answer_apart
from tile_runtime.child_processes.child_server import ChildServer, EndedChild, Ending
from tile_runtime.child_processes.fence import Fence
from tile_runtime.child_processes.limits import ChildLimits
from tile_runtime.child_processes.surroundings import Surroundings

LIMIT = 300.0
# What a server imports for these tests: nothing.
NOTHING = "gc:collect"
EVALUATE = "test_child_processes:evaluate"


@pytest.fixture(scope="module")
def server() -> Iterator[ChildServer]:
    with ChildServer(NOTHING) as started:
        yield started


def evaluate(request, data, send):
    """A job: what an expression gives is an event, with the data doubled."""
    names = {"send": send, "request": request}
    send({"event": "value", "value": eval(request["text"], names)}, data + data)


def value_of(server: ChildServer, text: str, seconds: float = LIMIT) -> object:
    return answer_apart(server, partial(eval, text), seconds)


def ended(server: ChildServer, text: str, seconds: float = LIMIT) -> EndedChild:
    found = value_of(server, text, seconds)
    assert isinstance(found, EndedChild)
    return found


def test_a_child_has_the_surroundings_of_its_owner(
    server: ChildServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("A_VARIABLE", "its value")
    with override(check="strict"):
        found = value_of(
            server,
            "(__import__('os').getcwd(), __import__('os').environ['A_VARIABLE'],"
            "__import__('tile_ir.switches').switches.switch('check'), __import__('sys').stdin.read())",
        )
    assert found == (str(tmp_path), "its value", "strict", "")


def test_messages_and_output_of_a_job(server: ChildServer, tmp_path: Path) -> None:
    place = Surroundings.here(str(tmp_path), {"time": True})
    text = "(print('said'), __import__('os').environ['TILE_TIME'], __import__('os').getcwd())[1:]"
    found = server.run(
        EVALUATE, {"text": text}, ChildLimits.of_time(LIMIT), place=place, data=b"ab"
    )
    assert (found.how, found.problem, found.printed) == ("done", "", "said\n")
    assert found.messages == (({"event": "value", "value": ["1", str(tmp_path)]}, b"abab"),)
    assert found.cpu_seconds > 0


@pytest.mark.parametrize(
    ("text", "how", "problem", "printed"),
    [
        ("__import__('os')._exit(0)", "done", "", ""),
        ("__import__('os')._exit(3)", "crash", "exit code 3", ""),
        ("1 / 0", "crash", "exit code 1", "ZeroDivisionError"),
        ("__import__('os').kill(__import__('os').getpid(), 11)", "crash", "Segmentation fault", "Fatal"),
        ("__import__('os').kill(__import__('os').getpid(), 9)", "crash", "Killed", ""),
    ],
)  # fmt: skip
def test_a_child_that_ends_without_an_answer(
    server: ChildServer, text: str, how: str, problem: str, printed: str
) -> None:
    found = ended(server, text)
    assert found.how == how and problem in found.problem and printed in found.printed


def test_limits(server: ChildServer) -> None:
    """A child says where it was when its time is up, also if signals do not end it."""
    late = ended(server, "__import__('time').sleep(1e6)", 0.5)
    assert late.how == "time-limit" and "send_answer" in late.printed
    deaf = "__import__('faulthandler').disable(), __import__('signal').signal(6, lambda *_: None)"
    assert ended(server, f"({deaf}, [0 for _ in iter(int, 1)])", 0.5).how == "time-limit"
    limits = ChildLimits(LIMIT, memory_mb=64, answer_mb=1)
    for text in (
        "bytearray(1 << 30)",
        "[send({'event': 'x'}, bytes(1 << 16)) for _ in range(100)]",
    ):
        found = server.run(EVALUATE, {"text": text}, limits, place=Surroundings.here())
        assert found.how == "memory-limit"


def test_all_that_a_child_has_started_ends_with_it(server: ChildServer, tmp_path: Path) -> None:
    started = tmp_path / "started"
    starts = (
        f"__import__('subprocess').Popen(['sh', '-c', 'echo $$ > {started}; sleep 1000000'],"
        "start_new_session=True)"
    )
    waits = (
        f"[None for _ in iter(lambda: not __import__('os').path.exists({str(started)!r}), False)]"
    )
    for rest in ("__import__('os').getpid()", "__import__('os')._exit(1)"):
        value_of(server, f"({starts}, {waits}, {rest})[-1]")
        _wait_for_end(started.read_text().strip())
        started.unlink()


def test_a_child_that_its_owner_gives_up(server: ChildServer, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    text = f"(open({str(begun)!r}, 'w').close(), __import__('time').sleep(1e6))"
    ending = Ending()

    def give_up() -> None:
        while not begun.exists():
            time.sleep(0.01)
        ending.end()

    threading.Thread(target=give_up).start()
    limits = ChildLimits.of_time(LIMIT)
    here = Surroundings.here()
    for _ in range(2):  # what begins later ends at once
        found = server.run(EVALUATE, {"text": text}, limits, place=here, ending=ending)
        assert found.how == "given-up"


def test_an_owner_that_is_killed(tmp_path: Path) -> None:
    """Its children end, and so does what they are forked from; this one is started as users do."""
    script = tmp_path / "owner.py"
    numbers = tmp_path / "numbers"
    script.write_text(f"""
from functools import partial
from tile_runtime.child_processes.answers import answer_apart
from tile_runtime.child_processes.child_server import ChildServer
job = '''import os, time
with open("{numbers}.part", "w") as file:
    file.write("%d %d" % (os.getppid(), os.getpid()))
os.rename(file.name, "{numbers}")
time.sleep(1e6)'''
with ChildServer({NOTHING!r}) as server:
    answer_apart(server, partial(exec, job), 1e6)
""")
    with subprocess.Popen([sys.executable, str(script)]) as owner:
        while not numbers.exists():
            assert owner.poll() is None
            time.sleep(0.01)
        owner.send_signal(signal.SIGKILL)
    for number in numbers.read_text().split():
        _wait_for_end(number)


def test_a_server_that_leaves_or_dies_is_started_anew() -> None:
    with ChildServer(NOTHING, idle_seconds=0.05) as server:
        pids = set()
        for _ in range(3):
            assert value_of(server, "6 * 7") == 42
            assert server._process is not None
            pids.add(server._process.pid)
            server._process.wait()
        server.start()
        server._process.kill()
        server._process.wait()
        assert value_of(server, "6 * 7") == 42
    assert len(pids) == 3
    with pytest.raises(BuildError, match="children-closed"):
        server.start()


def test_a_server_that_does_not_start() -> None:
    server = ChildServer("no_such_module:function")
    with pytest.raises(BuildError, match="children-start"):
        server.start()


def test_folders_of_scripts_are_not_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = child_server.readable_folders()
    monkeypatch.syspath_prepend(tmp_path)
    assert child_server.readable_folders() == before
    (tmp_path / "tile_ir").mkdir()
    (tmp_path / "tile_ir" / "__init__.py").touch()
    assert os.path.realpath(tmp_path) in child_server.readable_folders()


def test_what_a_fence_keeps_out(server: ChildServer, tmp_path: Path) -> None:
    """Or the child says that this platform has no such fence."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    folders = (*child_server.readable_folders(), str(Path(__file__).parent))
    fence = Fence(readable=folders)
    texts = {
        "files": (f"open({str(secret)!r})", f"open({str(tmp_path / 'new')!r}, 'w')"),
        "calls": ("__import__('socket').socket()", "__import__('os').fork()"),
    }
    for name, tried in texts.items():
        for text in tried:
            found = server.run(
                EVALUATE, {"text": text}, ChildLimits(LIMIT), fence=fence, place=Surroundings.here()
            )
            told = found.event("fence")
            assert told is not None and {*told["in_force"], *told["missing"]} >= texts.keys()
            if name in told["in_force"]:
                assert found.event("value") is None and found.how == "crash", text
    written = "(open(request['scratch'] + '/new', 'w').write('x'))"
    found = server.run(
        EVALUATE, {"text": written}, ChildLimits(LIMIT), fence=fence, place=Surroundings.here()
    )
    assert found.event("value") == {"event": "value", "value": 1}


def _wait_for_end(number: str) -> None:
    until = time.monotonic() + LIMIT
    while _lives(number):
        assert time.monotonic() < until
        time.sleep(0.01)


def _lives(number: str) -> bool:
    """Whether a process runs; one that has ended has no command line."""
    try:
        return bool(Path(f"/proc/{number}/cmdline").read_bytes())
    except OSError:
        return False
