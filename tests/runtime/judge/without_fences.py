"""Judge a candidate where the platform offers no fence: `python without_fences.py` reads a request and
prints the answer, and how many processes are left of it."""

from __future__ import annotations

import ctypes
import errno
import json
import struct
import sys
import time
from pathlib import Path

from tile_runtime.child_processes.kernel_calls import (
    LANDLOCK_CREATE_RULESET,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_SECCOMP,
    control_process,
    machine,
)
from tile_runtime.tools.judge.jobs import judging_children
from tile_runtime.tools.judge.judge_file import judge_file
from tile_runtime.tools.judge.request import JudgeRequest

# unshare and prctl.
_NUMBERS = {"x86_64": (272, 157), "aarch64": (97, 167)}


def refuse_fences() -> None:
    """Have this process and its children refused namespaces, Landlock and further filters."""
    unshare, prctl = _NUMBERS[machine()]
    refuse = 0x50000 | errno.EPERM
    code = [(0x20, 0, 0, 0)]
    for number in (unshare, LANDLOCK_CREATE_RULESET):
        code += [(0x15, 0, 1, number), (0x06, 0, 0, refuse)]
    code += [
        (0x15, 0, 3, prctl),
        (0x20, 0, 0, 16),
        (0x15, 0, 1, PR_SET_SECCOMP),
        (0x06, 0, 0, refuse),
    ]
    code += [(0x06, 0, 0, 0x7FFF0000)]
    program = b"".join(struct.pack("<HBBI", *one) for one in code)
    kept = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(code), ctypes.addressof(kept))
    control_process(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    control_process(PR_SET_SECCOMP, 2, header, 0, 0)


def main() -> None:
    refuse_fences()
    request = JudgeRequest.from_text(sys.stdin.read())
    with judging_children() as server:
        answer = judge_file(request, server).to_json()
        process = server._process
        assert process is not None
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        # A process that has answered ends soon, on whatever machine.
        for _ in range(6000):
            if not (left := children.read_text().split()):
                break
            time.sleep(0.01)
    print(json.dumps({"answer": answer, "left": len(left)}))


if __name__ == "__main__":
    main()
