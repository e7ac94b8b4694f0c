"""`tile-ascend run`: a script written for tilelang on Ascend, unmodified, where there is no NPU."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tile_ir import BuildError
from tile_ir.switches import SWITCHES, switch
from tile_runtime.scripts.child_imports import FOLDER
from tile_runtime.tools.command_line.kernel_argument import chip_named

_DESCRIPTION = """\
Run a script written for tilelang on Ascend, unmodified, in a process of its own. The modules it
imports are provided, and where there is no NPU so are torch.npu and torch_npu: kernels run on the
simulator and tensors stay in the memory of the host. The exit code is the script's. Options stand
before the script; what follows it is handed to it.
"""
TIMED_OUT = 124  # as timeout(1) has it
_INTERRUPTED = 130
_SECONDS_TO_END = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument(
        "--check",
        choices=SWITCHES["check"].choices,
        help=f"what the simulator checks (default: TILE_CHECK, else {SWITCHES['check'].default})",
    )
    parser.add_argument(
        "--time", action="store_true", help="print modelled times of all launches at the end"
    )
    parser.add_argument(
        "--soc", help=f"chip to simulate (default: TILE_SOC, else {SWITCHES['soc'].default})"
    )
    parser.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="end the script after so long"
    )
    parser.add_argument(
        "-m", dest="module", action="store_true",
        help="the script is a module of a package that can be imported from here, as for python -m",
    )  # fmt: skip
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")


def run(options: argparse.Namespace) -> int:
    if not options.module and not options.script.is_file():
        raise FileNotFoundError(f"no such file: {options.script}")
    command = [sys.executable, "-m", "tile_runtime.scripts.process", *["-m"] * options.module,
               str(options.script), *options.arguments]  # fmt: skip
    # A group of its own can be ended with all it started; without one, keys go to the script too.
    limited = options.timeout is not None
    environment = _environment(options)
    _tell_what_comes()
    process = subprocess.Popen(command, env=environment, start_new_session=limited)
    try:
        code = process.wait(options.timeout)
    except subprocess.TimeoutExpired:
        _end(process, limited)
        sys.stdout.flush()
        print(
            f"error[timeout]: {options.script} was ended after {options.timeout:g} s; "
            "--timeout gives it longer",
            file=sys.stderr,
        )
        return TIMED_OUT
    except KeyboardInterrupt:
        _interrupt(process, limited)
        return _INTERRUPTED
    if code < 0:
        print(f"error[script-died]: {options.script}: {_signal_name(-code)}", file=sys.stderr)
        return 128 - code
    return code


def _tell_what_comes() -> None:
    """Before the script has imported anything, which takes seconds: that its first kernel will take
    minutes, where the simulator is not built yet."""
    from tile_runtime.launcher.native import simulator_library

    if switch("target") == "npu" or (switch("target") == "auto" and find_spec("torch_npu")):
        return
    try:
        simulator_library(may_build=False)
    except BuildError as error:
        if error.slug == "not-built":
            print(
                "tile-ascend: the first kernel builds the simulator, once for this machine",
                file=sys.stderr,
                flush=True,
            )


def _environment(options: argparse.Namespace) -> dict[str, str]:
    """Switches for the script and for processes it starts."""
    if options.soc is not None:
        chip_named(options.soc)
    chosen = {
        "TILE_CHECK": options.check,
        "TILE_SOC": options.soc,
        "TILE_TIME": "1" if options.time else None,
    }
    # Such scripts rely on calls not being compared with the declaration. And where the time of the
    # script is limited, that of a kernel is not.
    defaults = {"TILE_LAX_CALLS": "1", **({"TILE_TIMEOUT": "0"} if options.timeout else {})}
    folders = filter(None, (FOLDER, os.environ.get("PYTHONPATH")))
    return {
        **defaults,
        **os.environ,
        "PYTHONPATH": os.pathsep.join(folders),
        **{k: v for k, v in chosen.items() if v is not None},
    }


def _interrupt(process: subprocess.Popen[bytes], group: bool) -> None:
    """Let the script end as an interrupt ends it, which may say something, or else end it."""
    try:
        if group:  # the others have got the signal themselves
            os.killpg(process.pid, signal.SIGINT)
        process.wait(_SECONDS_TO_END)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        _end(process, group)


def _end(process: subprocess.Popen[bytes], group: bool) -> None:
    if group:
        os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
    else:
        process.kill()
    process.wait()


def _signal_name(number: int) -> str:
    text = signal.strsignal(number) or "killed"
    return f"{text} ({signal.Signals(number).name})"


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of seconds above 0")
    return value
