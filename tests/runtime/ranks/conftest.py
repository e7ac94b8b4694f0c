"""Makes the helpers of the tests of the simulator importable here."""

import sys
from pathlib import Path

for _folder in (Path(__file__).resolve().parent, Path(__file__).resolve().parents[1] / "simulator"):
    sys.path.insert(0, str(_folder))
