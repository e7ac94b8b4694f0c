"""Builds the simulator and the launcher into wheels and regular installations, when a compiler is
there; such a wheel is for the platform it was built on.

Without one, and for an editable installation, they are built at first use.
"""

import shutil
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
# The builder needs the standard library only, so it runs before anything is installed.
sys.path.insert(0, str(HERE / "src" / "tile_runtime" / "simulator"))
import build_simulator  # noqa: E402


class ForThisPlatform(Distribution):
    def has_ext_modules(self) -> bool:
        try:
            build_simulator.find_compiler()
        except build_simulator.CompilerMissing:
            return False
        return True


class BuildWithNative(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self._prebuild(Path(self.build_lib) / "tile_runtime" / "prebuilt")

    def _prebuild(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu").write_text(build_simulator.instruction_set()[0])
        builds = (
            build_simulator.build_simulator,
            build_simulator.build_launcher,
            build_simulator.build_runner,
        )
        for build in builds:
            try:
                path = build()
            except (RuntimeError, OSError) as error:
                self.announce(f"not prebuilt, will be built at first use: {error}", level=3)
                continue
            shutil.copy(path, folder / path.name)


setup(distclass=ForThisPlatform, cmdclass={"build_py": BuildWithNative})
