"""Run the judge: `python -m tile_runtime.tools.judge [--json] REQUEST`, a JSON text, or `--schema`,
or `--serve SOCKET|PORT`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from tile_ir import TileError
from tile_runtime.tools.judge.judge_file import judge_file
from tile_runtime.tools.judge.judgement import SCHEMA, Judgement
from tile_runtime.tools.judge.request import JudgeRequest


def main(arguments: list[str]) -> int:
    """The exit code of the verdict; 1 for a request that is none."""
    try:
        match arguments:
            case ["--schema"]:
                print(SCHEMA.read_text(), end="")
                return 0
            case ["--serve", address]:
                from tile_runtime.tools.judge.serve import serve

                return serve(address)
            case ["--json", request]:
                judgement = judge_file(JudgeRequest.from_text(request))
                print(json.dumps(judgement.to_json(), indent=2))
                return judgement.exit_code
            case [request]:
                judgement = judge_file(JudgeRequest.from_text(request))
                print("\n".join(told(judgement)))
                _tell_fence(judgement)
                return judgement.exit_code
    except (TileError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        print(error if isinstance(error, TileError) else f"error: {error}", file=sys.stderr)
        return 1
    print("error: expected one request", file=sys.stderr)
    return 1


def told(judgement: Judgement) -> Iterator[str]:
    """The judgement in lines for a person."""
    yield f"{judgement.verdict}: {judgement.reason}"
    for case in judgement.cases:
        sizes = " ".join(f"{name}={value}" for name, value in case.sizes.items())
        more = f": {case.message.splitlines()[0]}" if case.message else ""
        counts = "" if case.counts else " (does not count)"
        yield f"  {case.kind} {sizes or ', '.join(case.inputs)}  {case.verdict}{counts}{more}"
    for found in judgement.findings:
        place = f"{found['file']}:{found['line']}:{found['column']}: " if found["file"] else ""
        yield f"{place}{found['severity']}[{found['kind']}]: {found['message']}"
        if found["hint"]:
            yield f"hint: {found['hint']}"
    if judgement.time is not None:
        time = judgement.time
        yield f"modelled: {time.microseconds:.2f} us on the device, within {time.error:.0%}"
    if judgement.advice is not None:
        advice = judgement.advice
        yield ": ".join(filter(None, (advice.what, advice.evidence, advice.do)))


def _tell_fence(judgement: Judgement) -> None:
    """Say which fences this platform does not offer."""
    if judgement.fence.missing:
        missing = ", ".join(f"{name} ({why})" for name, why in judgement.fence.missing.items())
        print(f"fence: without {missing}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
