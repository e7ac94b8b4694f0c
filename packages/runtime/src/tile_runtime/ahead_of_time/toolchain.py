"""Compile the source of a variant into an object, by the device compiler or, for the simulator, by
the host's. `kernel_spec` names the variants, and `build_kernels` starts their compilation."""

from __future__ import annotations

from pathlib import Path

from tile_ir import TARGETS, BuildError, Target
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import switch
from tile_runtime.cache.fingerprint import compiler_identity
from tile_runtime.devices.cann import cann_home, find_device_compiler
from tile_runtime.devices.compile_device import FLAGS, device_command
from tile_runtime.devices.compile_host import OBJECT_FLAGS, find_compiler, run_compiler
from tile_runtime.devices.shmem_library import shmem_identity
from tile_runtime.jit_kernels.refused_source import refused_source
from tile_runtime.options.code_generators import code_generator
from tile_runtime.simulator.build_simulator import cpu_features, include_directory

TOOLCHAINS = ("ascend", "sim", "none")
DEVICES = ("a2", "a3", "a5")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """How variants are compiled: for the NPU (`ascend`), for this machine (`sim`), or not at all
    (`none`); `device` is the family of chips."""

    name: str
    device: str

    @property
    def chip(self) -> Target:
        """The chip of the switch `soc` if it is of the family, else the family's first."""
        family = self.device.upper()
        chosen = TARGETS.get(switch("soc"))
        if chosen is not None and chosen.architecture == family:
            return chosen
        return next(t for t in TARGETS.values() if t.architecture == family)

    def options(self) -> dict[str, str]:
        """The toolchain's entries of the manifest."""
        return {"bisheng_arch": f"dav-{self.chip.npu_arch}", "device": self.device}

    def fingerprint(self) -> dict[str, str]:
        """Return the inputs of an object besides its source. BuildError without the compiler."""
        chip = self.chip
        known = {
            "target": self.name,
            "chip": chip.name,
            "cube_cores": str(chip.cube_cores),
            "vector_cores": str(chip.vector_cores),
        }
        if self.name == "ascend":
            known["compiler"] = compiler_identity(find_device_compiler())
            known["cann"] = str(cann_home())
            known["flags"] = " ".join(FLAGS)
            known["shmem"] = shmem_identity()
        elif self.name == "sim":
            words = find_compiler()
            known["compiler"] = " ".join((compiler_identity(words[0]), *words[1:]))
            known["flags"] = " ".join(OBJECT_FLAGS)
            known["cpu"] = cpu_features()
        return known

    def compile(
        self, source: Path, output: Path, variant: str, definitions: list[str], kept: Path
    ) -> None:
        """Compile a source to an object. Faults of the simulator name `kept`, the place where the
        source will be kept. BuildError with the compiler's message if it fails."""
        defined = [f"-D{definition}" for definition in definitions]
        headers = code_generator().headers
        if self.name == "ascend":
            # The tiling key is a global of every object: many of them are linked together.
            defined.append(f"-Dg_tilingKey=g_tilingKey__{variant}")
            command = device_command(
                find_device_compiler(), [source], output, [headers], cann_home(), self.chip,
                defined, shared=False,
            )  # fmt: skip
        else:
            includes = (f"-I{include_directory()}", f"-I{headers}")
            command = [
                *find_compiler(), *OBJECT_FLAGS, *includes, *defined,
                f"-ffile-prefix-map={source.parent}={kept.parent}", "-c", str(source), "-o",
                str(output),
            ]  # fmt: skip
        try:
            run_compiler(command, source.name)
        except BuildError as error:
            raise refused_source(error, source.stem) from None


def toolchain(target: str, device: str | None) -> Toolchain:
    """The toolchain of two options of the command. BuildError for what there is none of."""
    if target not in TOOLCHAINS:
        known = ", ".join(TOOLCHAINS)
        raise BuildError("aot-target", f"target {target!r} is none of {known}")
    if device is None:
        if target == "ascend":
            what = "target ascend needs the family of chips"
            raise BuildError("aot-device", what, hint="--device a2")
        device = "a2"
    if device not in DEVICES:
        raise BuildError("aot-device", f"device {device!r} is none of {', '.join(DEVICES)}")
    return Toolchain(target, device)
