"""Builds the simulator and the launcher into a regular installation, when a compiler is there.

Without one, and for an editable installation, they are built at first use.
"""

import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
PREBUILD = """
import sys
sys.path.insert(0, sys.argv[1])
import build_simulator
print(build_simulator.build_simulator())
print(build_simulator.build_launcher())
"""


class BuildWithNative(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self._prebuild(Path(self.build_lib) / "tile_runtime" / "prebuilt")

    def _prebuild(self, folder: Path) -> None:
        # The builder needs the standard library only, so it runs before anything is installed.
        source = HERE / "src" / "tile_runtime"
        done = subprocess.run(
            [sys.executable, "-c", PREBUILD, str(source)], capture_output=True, text=True
        )
        if done.returncode != 0:
            self.announce(f"simulator not prebuilt:\n{done.stderr}", level=3)
            return
        folder.mkdir(parents=True, exist_ok=True)
        for line in done.stdout.splitlines():
            path = Path(line)
            (folder / path.name).write_bytes(path.read_bytes())
        sys.path.insert(0, str(source))
        import fingerprint

        (folder / "cpu").write_text(fingerprint.cpu_digest())


setup(cmdclass={"build_py": BuildWithNative})
