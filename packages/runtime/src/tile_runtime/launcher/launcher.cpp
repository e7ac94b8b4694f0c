// Python module _tile_launcher: runs compiled kernels on the simulator.
//
// A kernel library exports `extern "C" void tile_entry(void** args, void* stream)`; args[i] points at the value of the
// i-th argument. The signature is given once, so that a call only stores values and enters the library.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "library.h"

namespace py = pybind11;

namespace tile_launcher {
namespace {

std::unique_ptr<Simulator> simulator;

void load_simulator(const std::string& path)
{
    if (simulator == nullptr) {
        simulator = std::make_unique<Simulator>(path);
    }
}

struct LaunchError {
    std::string kind;
    std::string text;
    std::string file;
    uint32_t line = 0;
    uint32_t block = 0;
    std::string core;
    std::string api;
    std::string hint;

    std::string repr() const
    {
        return "LaunchError(kind='" + kind + "', file='" + file + "', line=" + std::to_string(line) +
               ", block=" + std::to_string(block) + ", core='" + core + "', api='" + api + "', text='" + text + "')";
    }
};

LaunchError as_value(const TileError& error)
{
    return {error.kind, error.text, error.file, error.line, error.block, error.core, error.api, error.hint};
}

enum class Kind { pointer, i32, i64, f32, f64, boolean };

Kind kind_of(const std::string& name)
{
    static const std::pair<const char*, Kind> kinds[] = {{"ptr", Kind::pointer}, {"i32", Kind::i32}, {"i64", Kind::i64},
        {"f32", Kind::f32}, {"f64", Kind::f64}, {"bool", Kind::boolean}};
    for (const auto& entry : kinds) {
        if (name == entry.first) {
            return entry.second;
        }
    }
    throw std::invalid_argument("argument kind '" + name + "' is none of ptr, i32, i64, f32, f64, bool");
}

// Room for one argument value of any kind.
union Value {
    void* pointer;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
    bool boolean;
};

int64_t integer(PyObject* object)
{
    const long long value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred() != nullptr) {
        throw py::error_already_set();
    }
    return value;
}

double real(PyObject* object)
{
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred() != nullptr) {
        throw py::error_already_set();
    }
    return value;
}

Value value_of(Kind kind, PyObject* object)
{
    Value value{};
    switch (kind) {
        case Kind::pointer:
            value.pointer = reinterpret_cast<void*>(static_cast<uintptr_t>(PyLong_AsUnsignedLongLong(object)));
            if (PyErr_Occurred() != nullptr) {
                throw py::error_already_set();
            }
            break;
        case Kind::i32: {
            const int64_t wide = integer(object);
            if (wide < INT32_MIN || wide > INT32_MAX) {
                throw std::out_of_range("value " + std::to_string(wide) + " does not fit into a 32-bit argument");
            }
            value.i32 = static_cast<int32_t>(wide);
            break;
        }
        case Kind::i64:
            value.i64 = integer(object);
            break;
        case Kind::f32:
            value.f32 = static_cast<float>(real(object));
            break;
        case Kind::f64:
            value.f64 = real(object);
            break;
        case Kind::boolean: {
            const int truth = PyObject_IsTrue(object);
            if (truth < 0) {
                throw py::error_already_set();
            }
            value.boolean = truth != 0;
            break;
        }
    }
    return value;
}

class Kernel {
public:
    using Entry = void(void**, void*);

    Kernel(const std::string& path, const std::string& symbol, const std::vector<std::string>& kinds,
        std::vector<std::string> names)
        : library_(path, RTLD_NOW | RTLD_LOCAL), entry_(library_.find<Entry>(symbol)), names_(std::move(names))
    {
        if (simulator == nullptr) {
            throw std::runtime_error("load_simulator must be called before a kernel is opened");
        }
        for (const std::string& kind : kinds) {
            kinds_.push_back(kind_of(kind));
        }
        names_.resize(kinds_.size(), "?");
        simulator->default_options(&options_);
    }

    void set_options(uint32_t checks, uint32_t threads, uint64_t seed, uint32_t starved, uint32_t cube_cores,
        uint32_t vector_cores,
        const std::optional<py::dict>& timing, double timeout)
    {
        if (timing) {
#define TILE_TIMING_FIELD(name) timing_.name = py::cast<double>((*timing)[#name]);
            TILE_TIMING_FIELDS(TILE_TIMING_FIELD)
#undef TILE_TIMING_FIELD
        }
        options_ = TileOptions{checks, threads, seed, starved, cube_cores, vector_cores, timing ? &timing_ : nullptr, timeout};
    }

    // (totals, strings, events and accesses as bytes of their structs) of the latest run on this thread, or None.
    py::object timeline() const
    {
        const TileTimeline* line = simulator->timeline();
        if (line == nullptr) {
            return py::none();
        }
        py::dict totals;
        totals["cycles"] = line->cycles;
        totals["start_cycles"] = line->start_cycles;
        totals["scalar_aic_cycles"] = line->scalar_cycles[0];
        totals["scalar_aiv_cycles"] = line->scalar_cycles[1];
        totals["launch_us"] = line->launch_us;
        totals["macs"] = line->macs;
        totals["read_bytes"] = line->read_bytes;
        totals["write_bytes"] = line->write_bytes;
        totals["hbm_bytes"] = line->hbm_bytes;
        totals["owed_bytes"] = line->owed_bytes;
        py::list strings;
        for (size_t i = 0; i < line->string_count; ++i) {
            strings.append(line->strings[i]);
        }
        const py::bytes events(reinterpret_cast<const char*>(line->events), line->count * sizeof(TileTimeEvent));
        const py::bytes accesses(
            reinterpret_cast<const char*>(line->accesses), line->access_count * sizeof(TileTimeAccess));
        return py::make_tuple(totals, strings, events, accesses);
    }

    // What the latest run on this thread did that works on a device, but is waste or no document says it.
    static std::vector<LaunchError> warnings()
    {
        size_t count = 0;
        const TileError* first = simulator->warnings(&count);
        std::vector<LaunchError> all;
        for (size_t i = 0; i < count; ++i) {
            all.push_back(as_value(first[i]));
        }
        return all;
    }

    // (how many elements of a fresh buffer the latest run left unwritten, and the first run of them).
    static py::tuple unwritten(uintptr_t base, uint64_t element_bytes)
    {
        TileUnwritten found{};
        {
            const py::gil_scoped_release release;
            found = simulator->unwritten(reinterpret_cast<const void*>(base), element_bytes);
        }
        return py::make_tuple(found.count, found.first, found.end);
    }

    // Runs the kernel; returns (error or None, printed text). `fresh`: the arguments whose memory nothing has written.
    std::pair<std::optional<LaunchError>, std::string> run(
        const py::tuple& values, const std::optional<py::tuple>& byte_sizes, const py::tuple& fresh)
    {
        const size_t count = kinds_.size();
        if (values.size() != count) {
            throw std::invalid_argument(
                "the kernel takes " + std::to_string(count) + " arguments, but got " + std::to_string(values.size()));
        }
        if (byte_sizes && byte_sizes->size() != count) {
            throw std::invalid_argument("byte_sizes must have one entry per argument");
        }
        constexpr size_t small = 32;
        Value small_values[small];
        void* small_pointers[small];
        TileBuffer small_buffers[small];
        std::vector<Value> many_values(count > small ? count : 0);
        std::vector<void*> many_pointers(count > small ? count : 0);
        std::vector<TileBuffer> many_buffers(count > small ? count : 0);
        Value* stored = count > small ? many_values.data() : small_values;
        void** arguments = count > small ? many_pointers.data() : small_pointers;
        TileBuffer* buffers = count > small ? many_buffers.data() : small_buffers;
        size_t buffer_count = 0;
        for (size_t i = 0; i < count; ++i) {
            stored[i] = value_of(kinds_[i], PyTuple_GET_ITEM(values.ptr(), static_cast<Py_ssize_t>(i)));
            arguments[i] = &stored[i];
            if (kinds_[i] == Kind::pointer && byte_sizes) {
                const int64_t bytes = integer(PyTuple_GET_ITEM(byte_sizes->ptr(), static_cast<Py_ssize_t>(i)));
                buffers[buffer_count++] = {stored[i].pointer, static_cast<uint64_t>(bytes), names_[i].c_str()};
                for (const py::handle position : fresh) {
                    if (integer(position.ptr()) == static_cast<int64_t>(i)) {
                        buffers[buffer_count - 1].fresh = 1;
                    }
                }
            }
        }
        return call(arguments, buffers, buffer_count);
    }

private:
    std::pair<std::optional<LaunchError>, std::string> call(void** arguments, const TileBuffer* buffers, size_t count)
    {
        std::pair<std::optional<LaunchError>, std::string> result;
        const py::gil_scoped_release release;
        simulator->clear();
        simulator->set_buffers(buffers, count);
        simulator->set_options(&options_);
        try {
            entry_(arguments, nullptr);
        } catch (...) {
            result.first =
                LaunchError{"exception", "the host part of the kernel threw a C++ exception", "", 0, 0, "", "", ""};
        }
        if (const TileError* error = simulator->error()) {
            result.first = as_value(*error);
        }
        size_t length = 0;
        const char* text = simulator->output(&length);
        result.second.assign(text, length);
        return result;
    }

    Library library_;
    Entry* entry_;
    std::vector<Kind> kinds_;
    std::vector<std::string> names_;
    TileOptions options_;
    TileTiming timing_{};
};

}  // namespace
}  // namespace tile_launcher

PYBIND11_MODULE(_tile_launcher, module)
{
    using namespace tile_launcher;
    module.doc() = "Runs compiled kernels on the simulator.";
    module.attr("CHECKS_OFF") = static_cast<int>(TILE_CHECKS_OFF);
    module.attr("CHECKS_DEVICE") = static_cast<int>(TILE_CHECKS_DEVICE);
    module.attr("CHECKS_STRICT") = static_cast<int>(TILE_CHECKS_STRICT);
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
        .def("__repr__", &LaunchError::repr);

    py::class_<Kernel>(module, "Kernel")
        .def(py::init<const std::string&, const std::string&, const std::vector<std::string>&,
                 std::vector<std::string>>(),
            py::arg("path"), py::arg("entry_symbol"), py::arg("kinds"), py::arg("names") = std::vector<std::string>())
        .def("set_options", &Kernel::set_options, py::kw_only(), py::arg("checks") = int(TILE_CHECKS_DEVICE),
            py::arg("threads") = 0, py::arg("seed") = 0, py::arg("starved") = 0, py::arg("cube_cores") = 24, py::arg("vector_cores") = 48, py::arg("timing") = py::none(), py::arg("timeout") = 0.0)
        .def("timeline", &Kernel::timeline)
        .def("warnings", [](const Kernel&) { return Kernel::warnings(); })
        .def("unwritten", [](const Kernel&, uintptr_t base, uint64_t bytes) { return Kernel::unwritten(base, bytes); },
            py::arg("base"), py::arg("element_bytes"))
        .def("run", &Kernel::run, py::arg("values"), py::arg("byte_sizes") = py::none(), py::arg("fresh") = py::tuple());
}
