"""Python processes for tests that begin with torch and our packages imported.

Starting Python with torch takes three seconds of a processor, with the passes half a second, a fork
of a process that has them some milliseconds. `run_python` does what
`subprocess.run([sys.executable, ...])` does, by a server that ends with the process that started it.
Tests of what an import itself does start Python as users do.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

_PRELOADED = (
    "numpy", "torch", "tile_frontend", "tile_passes.explain.explanations",
    "tile_codegen_ascendc.emit", "tile_runtime.jit_kernels",
)  # fmt: skip
_PATH = "PYTHONPATH"
# Threads that ask at once have one server.
_STARTING = threading.Lock()


def run_python(
    arguments: Sequence[str],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    given: str = "",
    seconds: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run `python arguments` to its end: a script, -c with its code, or -m with a module. It reads
    what is given. Raises TimeoutError where that takes longer than some seconds."""
    with (
        tempfile.TemporaryFile() as standard_input,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        socket.socket(socket.AF_UNIX) as connection,
    ):
        standard_input.write(given.encode())
        standard_input.seek(0)
        connection.settimeout(seconds)
        files = [file.fileno() for file in (standard_input, output, errors)]
        _ask(connection, arguments, files, cwd, env)
        _, status = connection.makefile().read().split()
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess([sys.executable, *arguments], int(status), *texts)


class StartedPython:
    """A process of `start_python`; it stands for one of `subprocess.Popen`."""

    def __init__(self, connection: socket.socket) -> None:
        self._answers = connection.makefile()
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        ready, _, _ = select.select([self._answers], [], [], 0)
        return self.wait() if ready else self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = int(self._answers.read())
        return self.returncode

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def tile_ascend(
    *arguments: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run `tile-ascend arguments` to its end; the Python that it starts is forked too."""
    program = (
        f"import sys; sys.executable = {forking_python()!r}; "
        "from tile_runtime.tools.command_line import main; sys.exit(main())"
    )
    return run_python(["-c", program, *arguments], cwd, env, seconds=seconds)


@functools.cache
def forking_python() -> str:
    """An executable that takes the place of Python where another program starts it."""
    path = Path(_server()).with_name("python")
    path.write_text(
        f"#!{sys.executable} -SE\nimport sys\nsys.path[0] = {str(Path(__file__).parent)!r}\n"
        "from forked_python import stand_for\n"
        f"sys.exit(stand_for({_server()!r}, sys.argv[1:]))\n"
    )
    path.chmod(0o755)
    return str(path)


def stand_for(address: str, arguments: Sequence[str]) -> int:
    """Be the process of `python arguments` to who has started this one, and end as it ends."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        _send(connection, arguments, (0, 1, 2))
        answers = connection.makefile()
        process = int(answers.readline())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda sent, _: os.kill(process, sent))
        status = int(answers.read())
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def start_python(arguments: Sequence[str], standard_input: int) -> StartedPython:
    """Start `python arguments` with a descriptor as its standard input; its output is dropped."""
    connection = socket.socket(socket.AF_UNIX)
    with open(os.devnull, "w") as nothing:
        _ask(connection, arguments, [standard_input, nothing.fileno(), 2])
    return StartedPython(connection)


def _ask(
    connection: socket.socket,
    arguments: Sequence[str],
    files: Sequence[int],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Have the server start a process with these descriptors as its standard ones."""
    with _STARTING:
        address = _server()
    connection.connect(address)
    _send(connection, arguments, files, cwd, env)


def _send(
    connection: socket.socket,
    arguments: Sequence[str],
    files: Sequence[int],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    request = {
        "arguments": list(arguments),
        "cwd": str(cwd or Path.cwd()),
        "environment": dict(os.environ if env is None else env),
    }
    socket.send_fds(connection, [b"*"], list(files))
    connection.sendall(json.dumps(request).encode())
    connection.shutdown(socket.SHUT_WR)


@functools.cache
def _server() -> str:
    """Address of the server of this process."""
    folder = tempfile.TemporaryDirectory(prefix="forked-python-")
    address = f"{folder.name}/server"
    server = subprocess.Popen(
        [sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin and server.stdout
    server.stdout.read()

    def end() -> None:
        server.kill()
        server.wait()
        folder.cleanup()

    atexit.register(end)
    return address


def _serve(address: str) -> socket.socket:
    """Wait for requests; returns in a fork, with its connection."""
    for name in _PRELOADED:
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)  # which tells that the server is ready
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            os._exit(0)
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            return connection
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _begin(connection: socket.socket) -> list[str]:
    """Take the place of the program of a request; its arguments. A process above waits for it."""
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(connection.makefile().read())
    if child := os.fork():
        with suppress(OSError):
            connection.sendall(b"%d\n" % child)
        for file in files:
            os.close(file)
        status = os.waitpid(child, 0)[1]
        with suppress(OSError):
            connection.sendall(b"%d" % os.waitstatus_to_exitcode(status))
        os._exit(0)
    connection.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["cwd"])
    before = os.environ.get(_PATH, "").split(os.pathsep)
    os.environ.clear()
    os.environ.update(request["environment"])
    after = os.environ.get(_PATH, "").split(os.pathsep)
    rest = [folder for folder in sys.path[1:] if folder not in before]
    sys.path[1:] = [*(os.path.abspath(f) for f in after if f), *rest]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments: list[str] = request["arguments"]
    return arguments


def _run(arguments: list[str]) -> None:
    match arguments:
        case ["-u", *rest]:
            sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
            _run(rest)
        case ["-c", code, *rest]:
            sys.argv, sys.path[0] = ["-c", *rest], ""
            main = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(code, "<string>", "exec", dont_inherit=True), vars(main))
        case ["-m", name, *rest]:
            sys.argv, sys.path[0] = ["-m", *rest], os.getcwd()
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        case [script, *rest]:
            sys.argv, sys.path[0] = [script, *rest], os.path.dirname(os.path.abspath(script))
            main = sys.modules["__main__"] = ModuleType("__main__")
            main.__file__ = path = os.path.join(os.getcwd(), script)
            exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), vars(main))


def _status(arguments: list[str]) -> int:
    """Run a program; what it ends with."""
    try:
        _run(arguments)
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        print(leaving.code, file=sys.stderr)
        return 1
    except BaseException as error:
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1
    return 0


if __name__ == "__main__":
    status = _status(_begin(_serve(sys.argv[1])))
    # As Python ends, but for taking modules apart, which takes longer than most programs.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)
