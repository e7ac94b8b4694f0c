"""Run the language server: `python -m tile_runtime.tools.language_server [SECONDS [SECONDS]]`, the
limit of time and the delay. It speaks over standard input and output."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main(arguments: list[str]) -> int:
    if find_spec("pygls") is None:
        print(
            "error: the language server needs pygls\nhint: pip install 'tile-runtime[lsp]'",
            file=sys.stderr,
        )
        return 1
    from tile_runtime.tools.language_server.server import make_server

    time_limit, delay = (*map(float, arguments), *(20.0, 0.3)[len(arguments) :])
    make_server(time_limit, delay).start_io()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
