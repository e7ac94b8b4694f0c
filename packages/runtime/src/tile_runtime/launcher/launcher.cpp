// Python module _tile_launcher: runs compiled kernels, on the simulator or on a device.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "kernel.h"
#include "remembered_call.h"

PYBIND11_MODULE(_tile_launcher, module)
{
    using namespace tile_launcher;
    module.doc() = "Runs compiled kernels, on the simulator or on a device.";
    module.attr("CHECKS_OFF") = static_cast<int>(TILE_CHECKS_OFF);
    module.attr("CHECKS_DEVICE") = static_cast<int>(TILE_CHECKS_DEVICE);
    module.attr("CHECKS_STRICT") = static_cast<int>(TILE_CHECKS_STRICT);
    module.attr("DELIVERY_SEED") = static_cast<int>(TILE_DELIVERY_SEED);
    module.attr("DELIVERY_PROMPT") = static_cast<int>(TILE_DELIVERY_PROMPT);
    module.attr("DELIVERY_LATE") = static_cast<int>(TILE_DELIVERY_LATE);
    module.def("load_simulator", &load_simulator, py::arg("path"));

    py::class_<LaunchError>(module, "LaunchError")
        .def_readonly("kind", &LaunchError::kind)
        .def_readonly("text", &LaunchError::text)
        .def_readonly("file", &LaunchError::file)
        .def_readonly("line", &LaunchError::line)
        .def_readonly("block", &LaunchError::block)
        .def_readonly("core", &LaunchError::core)
        .def_readonly("api", &LaunchError::api)
        .def_readonly("hint", &LaunchError::hint)
        .def_readonly("rank", &LaunchError::rank)
        .def("__repr__", &LaunchError::repr);

    py::class_<WordHistory>(module, "WordHistory").def(py::init<>()).def("forget", &WordHistory::forget);

    const auto unwritten = [](const Kernel&, uintptr_t base, uint64_t bytes) {
        const TileUnwritten found = Kernel::unwritten(reinterpret_cast<const void*>(base), bytes);
        return py::make_tuple(found.count, found.first, found.end);
    };
    py::class_<Kernel, std::shared_ptr<Kernel>>(module, "Kernel")
        .def(py::init<const std::string&, const std::string&, const std::vector<std::string>&,
                 std::vector<std::string>, bool>(),
            py::arg("path"), py::arg("entry_symbol"), py::arg("kinds"), py::arg("names") = std::vector<std::string>(),
            py::arg("simulated") = true)
        .def("set_options", &Kernel::set_options, py::kw_only(), py::arg("checks") = int(TILE_CHECKS_DEVICE),
            py::arg("threads") = 0, py::arg("seed") = 0, py::arg("starved") = 0, py::arg("cube_cores") = 24,
            py::arg("vector_cores") = 48, py::arg("timing") = py::none(), py::arg("timeout") = 0.0,
            py::arg("first") = false, py::arg("starved_rank") = 0, py::arg("delivery") = int(TILE_DELIVERY_SEED),
            py::arg("node_ranks") = 0)
        .def("timeline", &Kernel::timeline)
        .def("rank_times", [](const Kernel&) { return Kernel::rank_times(); })
        .def("others", [](const Kernel&) { return Kernel::others(); })
        .def("unwritten", unwritten, py::arg("base"), py::arg("element_bytes"))
        .def("run", &Kernel::run, py::arg("values"), py::arg("byte_sizes") = py::none(),
            py::arg("fresh") = py::tuple(), py::arg("stream") = 0)
        .def("run_ranks", &Kernel::run_ranks, py::arg("values"), py::arg("byte_sizes"),
            py::arg("fresh") = std::vector<py::tuple>(), py::arg("allocations") = std::vector<py::tuple>(),
            py::arg("timing") = py::none(), py::arg("process") = py::none(),
            py::arg("earlier") = static_cast<const WordHistory*>(nullptr));

    py::class_<Torch, std::shared_ptr<Torch>>(module, "Torch")
        .def(py::init<py::tuple, py::object, py::object, py::object, py::tuple, py::object>(), py::kw_only(), py::arg("types"),
            py::arg("empty"), py::arg("grad_enabled"), py::arg("wrapped"), py::arg("modes"), py::arg("wrote"))
        .def("tells", &Torch::tells);

    watch_environment();
    py::class_<Epoch>(module, "Epoch")
        .def(py::init<const py::list&>(), py::arg("variables"))
        .def("holds", &Epoch::holds);

    py::class_<RememberedCall>(module, "RememberedCall")
        .def(py::init<std::shared_ptr<Kernel>, std::shared_ptr<Torch>, Epoch, const py::tuple&,
                 const std::vector<py::tuple>&, const std::vector<py::tuple>&, const std::vector<py::tuple>&,
                 std::vector<size_t>, const std::vector<size_t>&, py::object, std::vector<uint64_t>, std::vector<int64_t>, py::object,
                 py::object>(),
            py::kw_only(), py::arg("kernel"), py::arg("torch"), py::arg("epoch"), py::arg("like"),
            py::arg("tensors"), py::arg("scalars"), py::arg("allocated"), py::arg("returned"), py::arg("written"), py::arg("device"),
            py::arg("sizes"), py::arg("constants"), py::arg("stream"), py::arg("finish"))
        .def("__call__", &RememberedCall::operator(), py::arg("arguments"));
}
