"""Makes the modules of this folder, and those that launch the simulator, importable by its tests."""

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
for _folder in (_HERE, _HERE.parent / "runtime" / "simulator"):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))
