#include "kernel.h"

#include <pybind11/stl.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <exception>

namespace tile_launcher {
namespace {

std::unique_ptr<Simulator> simulator;

// What the simulator keeps of a run is of this kernel, by its number; 0 before the first.
thread_local uint64_t latest_run = 0;
std::atomic<uint64_t> kernels{0};

// Every byte of outputs and workspaces before the kernel writes it: NaN, or -1. What a call allocates holds anything on
// a device: here, no number anyone expects.
constexpr int unwritten_byte = 0xFF;

LaunchError as_value(const TileError& error)
{
    return {error.kind, error.text, error.file, error.line, error.block, error.core, error.api, error.hint, error.rank};
}

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

TileTiming constants_of(const py::dict& timing)
{
    TileTiming constants{};
#define TILE_TIMING_FIELD(name) constants.name = py::cast<double>(timing[#name]);
    TILE_TIMING_FIELDS(TILE_TIMING_FIELD)
#undef TILE_TIMING_FIELD
    return constants;
}

// The sums of a launch, or of one rank.
template <class Times>
py::dict totals_of(const Times& times)
{
    py::dict totals;
    totals["cycles"] = times.cycles;
    totals["start_cycles"] = times.start_cycles;
    totals["scalar_aic_cycles"] = times.scalar_cycles[0];
    totals["scalar_aiv_cycles"] = times.scalar_cycles[1];
    totals["launch_us"] = times.launch_us;
    totals["macs"] = times.macs;
    totals["read_bytes"] = times.read_bytes;
    totals["write_bytes"] = times.write_bytes;
    totals["hbm_bytes"] = times.hbm_bytes;
    totals["owed_bytes"] = times.owed_bytes;
    return totals;
}

// Symmetric memory from Python: (name, bytes, bases by rank) each.
class Symmetric {
public:
    Symmetric(size_t ranks, const std::vector<py::tuple>& allocations)
    {
        for (const py::tuple& allocation : allocations) {
            names_.push_back(py::cast<std::string>(allocation[0]));
            std::vector<const void*>& bases = bases_.emplace_back();
            for (const py::handle base : py::cast<py::tuple>(allocation[2])) {
                bases.push_back(reinterpret_cast<const void*>(py::cast<uintptr_t>(base)));
            }
            if (bases.size() != ranks) {
                throw std::invalid_argument("'" + names_.back() + "' must have one base per rank");
            }
            all_.push_back({bases.data(), py::cast<uint64_t>(allocation[1]), names_.back().c_str()});
        }
    }
    const std::vector<TileSymmetric>& all() const { return all_; }

private:
    std::deque<std::string> names_;
    std::deque<std::vector<const void*>> bases_;
    std::vector<TileSymmetric> all_;
};

}  // namespace

void load_simulator(const std::string& path)
{
    if (simulator == nullptr) {
        simulator = std::make_unique<Simulator>(path);
    }
}

std::string LaunchError::repr() const
{
    return "LaunchError(kind='" + kind + "', file='" + file + "', line=" + std::to_string(line) +
           ", block=" + std::to_string(block) + ", core='" + core + "', api='" + api + "', text='" + text + "')";
}

Cells::Cells(size_t count)
{
    if (count > small) {
        many_values_.resize(count);
        many_pointers_.resize(count);
        many_buffers_.resize(count);
        values_ = many_values_.data();
        pointers_ = many_pointers_.data();
        buffers_ = many_buffers_.data();
    }
    for (size_t i = 0; i < count; ++i) {
        pointers_[i] = &values_[i];
    }
}

Kernel::Kernel(const std::string& path, const std::string& symbol, const std::vector<std::string>& kinds,
    std::vector<std::string> names, bool simulated)
    : number_(++kernels), library_(path, RTLD_NOW | RTLD_LOCAL), entry_(library_.find<void(void**, void*)>(symbol)),
      names_(std::move(names)), simulated_(simulated)
{
    for (const std::string& kind : kinds) {
        kinds_.push_back(kind_of(kind));
    }
    names_.resize(kinds_.size(), "?");
    if (simulated_) {
        if (simulator == nullptr) {
            throw std::runtime_error("load_simulator must be called before a simulated kernel is opened");
        }
        simulator->default_options(&options_.values);
    }
}

void Kernel::set_options(uint32_t checks, uint32_t threads, uint64_t seed, uint32_t starved, uint32_t cube_cores,
    uint32_t vector_cores, const std::optional<py::dict>& timing, double timeout, bool first, uint32_t starved_rank,
    uint32_t delivery, uint32_t node_ranks)
{
    options_.values = TileOptions{checks, threads, seed, starved, cube_cores, vector_cores, nullptr, timeout, first,
        starved_rank, delivery, node_ranks};
    options_.timing.reset();
    if (timing) {
        options_.timing = constants_of(*timing);
    }
}

void Kernel::add_buffer(Cells& cells, size_t i, uint64_t bytes, bool fresh) const
{
    if (!simulated_) {
        return;
    }
    TileBuffer& buffer = cells.add_buffer();
    buffer = {cells[i].pointer, bytes, names_[i].c_str()};
    if (fresh && bytes > 0) {
        buffer.fresh = 1;
        std::memset(cells[i].pointer, unwritten_byte, bytes);
    }
}

void Kernel::fill(Cells& cells, const py::tuple& values, const py::tuple* byte_sizes, const py::tuple& fresh) const
{
    if (values.size() != count()) {
        throw std::invalid_argument(
            "the kernel takes " + std::to_string(count()) + " arguments, but got " + std::to_string(values.size()));
    }
    if (byte_sizes != nullptr && byte_sizes->size() != count()) {
        throw std::invalid_argument("byte_sizes must have one entry per argument");
    }
    for (size_t i = 0; i < count(); ++i) {
        cells[i] = value_of(kinds_[i], PyTuple_GET_ITEM(values.ptr(), static_cast<Py_ssize_t>(i)));
        if (kinds_[i] == Kind::pointer && byte_sizes != nullptr) {
            bool is_fresh = false;
            for (const py::handle position : fresh) {
                is_fresh = is_fresh || integer(position.ptr()) == static_cast<int64_t>(i);
            }
            const int64_t bytes = integer(PyTuple_GET_ITEM(byte_sizes->ptr(), static_cast<Py_ssize_t>(i)));
            add_buffer(cells, i, static_cast<uint64_t>(bytes), is_fresh);
        }
    }
}

Outcome Kernel::run(const py::tuple& values, const std::optional<py::tuple>& byte_sizes, const py::tuple& fresh,
    uintptr_t stream) const
{
    Cells cells(count());
    fill(cells, values, byte_sizes ? &*byte_sizes : nullptr, fresh);
    return enter(cells, reinterpret_cast<void*>(stream), RunOptions(options_));
}

void Kernel::call(Cells& cells, void* stream, Outcome& result) const
{
    try {
        entry_(cells.arguments(), stream);
    } catch (...) {
        result.first =
            LaunchError{"exception", "the host part of the kernel threw a C++ exception", "", 0, 0, "", "", ""};
    }
}

void Kernel::take_outcome(Outcome& result)
{
    if (const TileError* error = simulator->error()) {
        result.first = as_value(*error);
    }
    size_t length = 0;
    const char* text = simulator->output(&length);
    result.second.assign(text, length);
}

Outcome Kernel::enter(Cells& cells, void* stream, const RunOptions& options) const
{
    Outcome result;
    TileOptions values = options.values;
    values.timing = options.timing ? &*options.timing : nullptr;
    const py::gil_scoped_release release;
    if (simulated_) {
        latest_run = number_;
        simulator->clear();
        simulator->set_buffers(cells.buffers(), cells.buffer_count());
        simulator->set_options(&values);
    } else {
        device_errors_.take();  // what an earlier call of others has left
    }
    call(cells, stream, result);
    if (simulated_) {
        take_outcome(result);
    } else if (const int code = device_errors_.take()) {
        result.first = LaunchError{std::to_string(code), device_errors_.message(), "", 0, 0, "", "", ""};
    }
    return result;
}

WordHistory::WordHistory() : words_(simulator->new_words()) {}

WordHistory::~WordHistory()
{
    simulator->delete_words(words_);
}

void WordHistory::forget()
{
    simulator->forget_words(words_);
}

Outcome Kernel::run_ranks(const std::vector<py::tuple>& values, const py::tuple& byte_sizes,
    const std::vector<py::tuple>& fresh, const std::vector<py::tuple>& allocations,
    const std::optional<py::dict>& timing, const std::optional<Process>& process, const WordHistory* earlier) const
{
    if (!simulated_) {
        throw std::invalid_argument("ranks of one process are simulated");
    }
    TileProcesses others{};
    uint32_t ranks = static_cast<uint32_t>(values.size());
    if (process) {
        const auto& [all, rank, came, apart, given_up, lock, messages] = *process;
        ranks = all;
        others = {rank, reinterpret_cast<uint32_t*>(came), apart, reinterpret_cast<const uint32_t*>(given_up),
            reinterpret_cast<uint32_t*>(lock), reinterpret_cast<TileMessages*>(messages)};
    }
    const Symmetric symmetric(ranks, allocations);
    std::vector<std::unique_ptr<Cells>> cells;
    std::vector<TileBuffer> buffers;
    for (size_t rank = 0; rank < values.size(); ++rank) {
        Cells& own = *cells.emplace_back(std::make_unique<Cells>(count()));
        fill(own, values[rank], &byte_sizes, rank < fresh.size() ? fresh[rank] : py::tuple());
        for (size_t i = 0; i < own.buffer_count(); ++i) {
            buffers.push_back(own.buffers()[i]);
            buffers.back().rank = static_cast<int32_t>(process ? others.rank : rank);
        }
    }
    Outcome result;
    TileOptions options = options_.values;
    const std::optional<TileTiming> constants = timing ? std::optional(constants_of(*timing)) : std::nullopt;
    options.timing = constants ? &*constants : nullptr;
    options.processes = process ? &others : nullptr;
    options.words = earlier != nullptr && !process ? earlier->words() : nullptr;
    const py::gil_scoped_release release;
    latest_run = number_;
    simulator->clear();
    simulator->set_buffers(buffers.data(), buffers.size());
    simulator->set_options(&options);
    simulator->begin_ranks(ranks, symmetric.all().data(), symmetric.all().size());
    for (const std::unique_ptr<Cells>& own : cells) {
        simulator->next_rank();
        call(*own, nullptr, result);
    }
    simulator->end_ranks();
    if (!result.first) {
        take_outcome(result);
    }
    return result;
}

py::object Kernel::timeline() const
{
    const TileTimeline* line = latest_run == number_ ? simulator->timeline() : nullptr;
    if (line == nullptr) {
        return py::none();
    }
    const py::dict totals = totals_of(*line);
    py::list strings;
    for (size_t i = 0; i < line->string_count; ++i) {
        strings.append(line->strings[i]);
    }
    const py::bytes events(reinterpret_cast<const char*>(line->events), line->count * sizeof(TileTimeEvent));
    const py::bytes accesses(
        reinterpret_cast<const char*>(line->accesses), line->access_count * sizeof(TileTimeAccess));
    const py::bytes paddings(
        reinterpret_cast<const char*>(line->paddings), line->padding_count * sizeof(TileBankPadding));
    return py::make_tuple(totals, strings, events, accesses, paddings);
}

py::object Kernel::rank_times()
{
    const TileRankTimes* times = simulator->rank_times();
    if (times == nullptr) {
        return py::none();
    }
    py::list ranks;
    for (size_t i = 0; i < times->rank_count; ++i) {
        py::dict totals = totals_of(times->ranks[i]);
        ranks.append(py::make_tuple(times->ranks[i].first_event, times->ranks[i].first_access, totals));
    }
    py::list links;
    for (size_t i = 0; i < times->link_count; ++i) {
        const TileLinkTime& link = times->links[i];
        links.append(py::make_tuple(
            link.source, link.target, link.bytes, link.signals, link.busy_cycles, link.least_cycles));
    }
    return py::make_tuple(ranks, links, times->cycles_without_links, times->blocks);
}

std::vector<LaunchError> Kernel::others()
{
    size_t count = 0;
    const TileError* first = simulator->others(&count);
    std::vector<LaunchError> all;
    for (size_t i = 0; i < count; ++i) {
        all.push_back(as_value(first[i]));
    }
    return all;
}

bool Kernel::warned()
{
    size_t count = 0;
    simulator->others(&count);
    return count > 0;
}

TileUnwritten Kernel::unwritten(const void* base, uint64_t element_bytes)
{
    const py::gil_scoped_release release;
    return simulator->unwritten(base, element_bytes);
}

}  // namespace tile_launcher
