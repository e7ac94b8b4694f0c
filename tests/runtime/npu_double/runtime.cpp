// A test double of CANN's runtime library: the rt* and acl* functions that a kernel's host part, the launcher and the
// double of torch_npu call, with CANN's names and error codes. It notes every call. Kernels wait in their stream until
// somebody synchronises, and then run on the simulator. Nothing here is how the vendor's library works inside.
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "npu_double.h"
#include "runtime/rt_ffts.h"

namespace {

constexpr int stream_captured = 107030;  // ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT
constexpr uint64_t cross_core_address = 0xC2C000;

using Work = std::function<void()>;

struct Event {
    bool done = false;
    double milliseconds = 0;
};

struct Stream {
    std::vector<Work> waiting;
    std::vector<Work>* captured = nullptr;
    double milliseconds = 0;  // of all kernels that have run
};

std::vector<std::unique_ptr<Stream>> streams;
std::ostringstream calls;
std::string text;
std::map<std::string, int> failing;
thread_local int last_error = 0;
std::string last_message;

// The outcome of a call: noted, and as the test wants it.
int outcome(const std::string& name, int code = 0)
{
    const auto wanted = failing.find(name);
    if (wanted != failing.end()) {
        code = wanted->second;
        failing.erase(wanted);
    }
    if (code != 0) {
        last_error = code;
        last_message = name + " failed in the double";
    }
    return code;
}

int noted(const std::string& name, int code = 0)
{
    calls << name << '\n';
    return outcome(name, code);
}

Stream& of(void* stream)
{
    return *static_cast<Stream*>(stream);
}

void put(void* stream, Work work)
{
    Stream& queue = of(stream);
    (queue.captured != nullptr ? *queue.captured : queue.waiting).push_back(std::move(work));
}

void drain(Stream& stream)
{
    const std::vector<Work> work = std::move(stream.waiting);
    stream.waiting.clear();
    for (const Work& one : work) {
        one();
    }
}

bool captures()
{
    for (const auto& stream : streams) {
        if (stream->captured != nullptr) {
            return true;
        }
    }
    return false;
}

}  // namespace

void npu_double_queue(
    const char* kernel, uint32_t blocks, void* stream, const uint64_t* words, size_t count, Work work)
{
    calls << "launch " << kernel << ' ' << blocks << ' ' << stream;
    for (size_t i = 0; i < count; ++i) {
        calls << ' ' << words[i];
    }
    calls << '\n';
    if (outcome("launch") != 0) {
        return;
    }
    put(stream, [stream, work] {
        TileOptions options;
        tile_simulator_default_options(&options);
        tile_simulator_clear();
        // What is no tensor's is not looked at: memory is one buffer.
        static const TileBuffer memory{nullptr, uint64_t{1} << 47, "memory"};
        tile_simulator_set_buffers(&memory, 1);
        options.checks = TILE_CHECKS_OFF;
        tile_simulator_set_options(&options);
        work();
        if (const TileError* error = tile_simulator_error()) {
            last_error = 507015;  // ACL_ERROR_RT_AICORE_EXCEPTION
            last_message = error->text;
        }
        of(stream).milliseconds += 1;  // every kernel of the double takes that long
    });
}

extern "C" {

// The double's own: what was called since the last time, a line each; and a call that shall fail once.
const char* npu_double_calls()
{
    text = calls.str();
    calls.str("");
    return text.c_str();
}

void npu_double_fail(const char* call, int code)
{
    failing[call] = code;
}

int32_t rtGetC2cCtrlAddr(uint64_t* address, uint32_t* length)
{
    *address = cross_core_address;
    *length = 8;
    return noted("rtGetC2cCtrlAddr");
}

int aclrtGetLastError(aclrtLastErrLevel)
{
    const int code = last_error;
    last_error = 0;
    return code;
}

const char* aclGetRecentErrMsg()
{
    return last_message.c_str();
}

int aclrtCreateStream(void** stream)
{
    streams.push_back(std::make_unique<Stream>());
    *stream = streams.back().get();
    return noted("aclrtCreateStream");
}

int aclrtSynchronizeStream(void* stream)
{
    if (of(stream).captured != nullptr) {
        return noted("aclrtSynchronizeStream", stream_captured);
    }
    drain(of(stream));
    return noted("aclrtSynchronizeStream", last_error);
}

int aclrtSynchronizeDevice()
{
    if (captures()) {
        return noted("aclrtSynchronizeDevice", stream_captured);
    }
    for (const auto& stream : streams) {
        drain(*stream);
    }
    return noted("aclrtSynchronizeDevice", last_error);
}

int aclrtCreateEvent(void** event)
{
    *event = new Event;
    return noted("aclrtCreateEvent");
}

int aclrtDestroyEvent(void* event)
{
    delete static_cast<Event*>(event);
    return noted("aclrtDestroyEvent");
}

int aclrtRecordEvent(void* event, void* stream)
{
    put(stream, [=] { *static_cast<Event*>(event) = {true, of(stream).milliseconds}; });
    return noted("aclrtRecordEvent");
}

int aclrtEventElapsedTime(float* milliseconds, void* start, void* end)
{
    const Event& first = *static_cast<Event*>(start);
    const Event& last = *static_cast<Event*>(end);
    *milliseconds = static_cast<float>(last.milliseconds - first.milliseconds);
    return noted("aclrtEventElapsedTime", first.done && last.done ? 0 : 507006);
}

int aclmdlRICaptureBegin(void* stream, aclmdlRICaptureMode)
{
    of(stream).captured = new std::vector<Work>;
    return noted("aclmdlRICaptureBegin");
}

int aclmdlRICaptureEnd(void* stream, void** graph)
{
    *graph = of(stream).captured;
    of(stream).captured = nullptr;
    return noted("aclmdlRICaptureEnd");
}

int aclmdlRIExecuteAsync(void* graph, void* stream)
{
    for (const Work& work : *static_cast<std::vector<Work>*>(graph)) {
        put(stream, work);
    }
    return noted("aclmdlRIExecuteAsync");
}

int aclmdlRIDestroy(void* graph)
{
    delete static_cast<std::vector<Work>*>(graph);
    return noted("aclmdlRIDestroy");
}

}  // extern "C"
