"""Run the server over standard input and output: `python -m tile_runtime.tools.mcp_server`. With
`--skill`, print the skill file."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def main(arguments: list[str]) -> int:
    if arguments == ["--skill"]:
        print(Path(__file__).with_name("SKILL.md").read_text(encoding="utf-8"), end="")
        return 0
    if find_spec("mcp") is None:
        print("error: the server needs mcp\nhint: pip install 'tile-runtime[mcp]'", file=sys.stderr)
        return 1
    from tile_runtime.tools.mcp_server.server import make_server

    make_server().run("stdio")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
