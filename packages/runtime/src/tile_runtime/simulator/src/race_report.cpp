#include "race_report.h"

#include <cstring>

#include "launch.h"

namespace tile_simulator {
namespace {

const char* verb_of(AccessKind kind)
{
    switch (kind) {
        case AccessKind::read:
            return "reads";
        case AccessKind::write:
            return "writes";
        case AccessKind::signal:
            return "signals";
        case AccessKind::line:
            return "writes back, in the line of its data cache,";
        default:
            return "updates";
    }
}

bool stored_by_scalar(int agent)
{
    return is_cache(agent) || is_bypass(agent);
}

const char* name_of_pipe(int agent)
{
    return is_engine(agent) ? "SDMA" : pipe_names[stored_by_scalar(agent) ? int(Pipe::s) : agent % agents_per_core];
}

const char* core_name(int agent)
{
    return core_names[agent / agents_per_core];
}

// The bytes of a conflict in a local memory: relative to the buffer where one is known.
std::string local_bytes(Memory memory, const Buffer& buffer, const Conflict& conflict)
{
    const uint64_t base = buffer.end != 0 ? buffer.begin : 0;
    return text_of("bytes [%llu, %llu) of %s", static_cast<unsigned long long>(conflict.begin - base),
        static_cast<unsigned long long>(conflict.end - base), buffer_text(memory, buffer).c_str());
}

// The bytes as those of the buffer that was accessed first.
std::string bytes_text(
    const Instruction& instruction, const Operand& operand, const Buffer& first, const Conflict& conflict)
{
    if (operand.memory != Memory::gm) {
        return local_bytes(operand.memory, first, conflict);
    }
    const GlobalBuffer* buffer = instruction.core.block.launch().buffers().find(operand.region.start);
    return text_of("bytes [%llu, %llu) of GM buffer %s", static_cast<unsigned long long>(conflict.begin),
        static_cast<unsigned long long>(conflict.end), buffer != nullptr ? buffer->shown().c_str() : "'?'");
}

// Whether two local operands were cut from buffers with names of their own.
bool other_buffer(const Buffer& one, const Buffer& two)
{
    return one.end != 0 && two.end != 0 && one.made.file != nullptr && two.made.file != nullptr &&
           (one.made.line != two.made.line || one.made.column != two.made.column ||
               std::strcmp(one.made.file, two.made.file) != 0);
}

std::string agent_text(int agent, bool with_core)
{
    const char* pipe = name_of_pipe(agent);
    return with_core ? text_of("%s %s", core_name(agent), pipe) : std::string(pipe);
}

// For one statement that both vector cores run. What they need is not order.
constexpr const char* one_program_hint =
    "index by GetSubBlockIdx(), or guard with `if (GetSubBlockIdx() == 0)`, so that each vector core has its own part";

bool vector_cores(int a, int b)
{
    return a / agents_per_core != 0 && b / agents_per_core != 0 && a / agents_per_core != b / agents_per_core;
}

const char* store_completion(int agent)
{
    return is_engine(agent)   ? "call aclshmemx_sdma_quiet after the transfer, then "
           : is_cache(agent)  ? "call DataCacheCleanAndInvalid after the store, then "
           : is_bypass(agent) ? "call DataSyncBarrier after the store, then "
                              : "";
}

// What lets one core go before another one. A counter of a cube core rises once all vector cores of the block have set
// it, and each of them has one of its own to take down.
std::string handover(int first, int second)
{
    const auto cores = [](int agent) { return agent / agents_per_core == 0 ? "aic" : "every vector core"; };
    const bool same_kind = first / agents_per_core != 0 && second / agents_per_core != 0;
    // The scalar unit sets no flag of its own: any pipe does, as what it has done is behind it.
    const bool scalar = stored_by_scalar(first) || is_engine(first) || first % agents_per_core == int(Pipe::s);
    const char* pipe = !scalar ? name_of_pipe(first) : first / agents_per_core == 0 ? "FIX" : "MTE3";
    return text_of(
        "if %s has to come first, %sadd CrossCoreSetFlag<%d, PIPE_%s>(id) on %s after its access and "
        "CrossCoreWaitFlag(id) on %s before the other one",
        core_name(first), store_completion(first), same_kind ? 1 : 2, pipe, cores(first), cores(second));
}

// What would put one access before the other. In a core that is the order of its program; which of two cores is meant to
// come first nobody can see: the order of this run is one of many.
std::string missing_order(int earlier, int later)
{
    const char* from = name_of_pipe(earlier);
    const char* to = name_of_pipe(later);
    if (earlier / agents_per_core != later / agents_per_core) {
        return handover(earlier, later) + "; " + handover(later, earlier);
    }
    if (is_engine(earlier)) {
        return "call aclshmemx_sdma_quiet between them";
    }
    if (earlier == later) {
        return text_of("add PipeBarrier<PIPE_%s>() between them", from);
    }
    return text_of(
        "%sadd SetFlag<HardEvent::%s_%s>(id) after the first and WaitFlag<HardEvent::%s_%s>(id) before the second",
        store_completion(earlier), from, to, from, to);
}

}  // namespace

std::string buffer_text(Memory memory, const Buffer& buffer)
{
    if (buffer.end == 0 || buffer.made.file == nullptr || buffer.made.line == 0) {
        return name_of(memory);
    }
    const std::string column = buffer.made.column != 0 ? text_of(":%u", buffer.made.column) : std::string();
    return text_of(
        "the %s buffer made at %s:%u%s", name_of(memory), buffer.made.file, buffer.made.line, column.c_str());
}

std::string bytes_of(const GlobalBuffer& buffer, uint64_t begin, uint64_t end)
{
    return text_of("bytes [%llu, %llu) of GM buffer %s", static_cast<unsigned long long>(begin - buffer.begin),
        static_cast<unsigned long long>(end - buffer.begin), buffer.shown().c_str());
}

Fault race_report(
    const Instruction& instruction, const Operand& operand, AccessKind kind, const Access& earlier,
    const Conflict& conflict)
{
    const int agent = instruction.by_engine ? engine_of(core_index(instruction.core))
                                            : agent_of(instruction.core, instruction.pipe);
    const bool cores = agent / agents_per_core != earlier.agent / agents_per_core;
    Fault fault;
    fault.kind = "race";
    fault.api = instruction.use.api;
    const Where at = instruction.core.site.file != nullptr ? instruction.core.site : instruction.use.at;
    fault.file = at.file != nullptr ? at.file : "";
    fault.line = at.line;
    fault.other = {earlier.file, earlier.line};
    // Where two buffers share the bytes, each access is told by the one that it names.
    const bool shared = operand.memory != Memory::gm && other_buffer(earlier.buffer, operand.buffer);
    const std::string as =
        shared ? " as " + local_bytes(operand.memory, operand.buffer, conflict) + ", which shares them" : "";
    fault.text = text_of("%s %s %s (%s at %s:%u), %s %s them%s (%s at %s:%u), and nothing orders the two",
        agent_text(earlier.agent, cores).c_str(), verb_of(earlier.kind),
        bytes_text(instruction, operand, shared ? earlier.buffer : operand.buffer, conflict).c_str(), earlier.api,
        earlier.file, earlier.line, agent_text(agent, cores).c_str(), verb_of(kind), as.c_str(), instruction.use.api,
        fault.file.c_str(), fault.line);
    const bool same_line = fault.line == earlier.line && fault.file == earlier.file;
    fault.hint = vector_cores(earlier.agent, agent) && same_line ? one_program_hint
                                                                 : missing_order(earlier.agent, agent);
    const GlobalBuffer* buffer =
        operand.memory == Memory::gm ? instruction.core.block.launch().buffers().find(operand.region.start) : nullptr;
    if (is_engine(earlier.agent) && earlier.kind == AccessKind::read) {
        fault.hint = "source reused: the engine reads until its core has waited for it; " + fault.hint;
    } else if (cores && buffer != nullptr && buffer->symmetric) {
        fault.hint += "; where a signal follows the store, let the other core wait for its word "
                      "(aclshmem_signal_wait_until)";
    }
    return fault;
}

namespace {

// A fault at the second of two accesses to GM.
Fault fault_at(const char* kind, const Access& access)
{
    Fault fault;
    fault.kind = kind;
    fault.api = access.api;
    fault.file = access.file != nullptr ? access.file : "";
    fault.line = access.line;
    fault.core = core_name(access.agent);
    return fault;
}

// Whose store stands where.
std::string line_store(const Access& access)
{
    return text_of("%s S stores (%s at %s:%u)", core_name(access.agent), access.api, access.file, access.line);
}

// Where the other store stands, if it is another line.
std::string other_place(const Access& first, const Access& second)
{
    const bool same = first.line == second.line && std::strcmp(first.file, second.file) == 0;
    return same ? std::string() : text_of(", the other one at %s:%u", first.file, first.line);
}

}  // namespace

Fault store_race_report(const Access& earlier, const Access& later, const std::string& bytes)
{
    Fault fault = fault_at("race", later);
    fault.other = {earlier.file, earlier.line};
    fault.text = text_of("%s %s %s (%s at %s:%u), %s %s them (%s at %s:%u), and nothing orders the two",
        agent_text(earlier.agent, true).c_str(), verb_of(earlier.kind), bytes.c_str(), earlier.api, earlier.file,
        earlier.line, agent_text(later.agent, true).c_str(), verb_of(later.kind), later.api, fault.file.c_str(),
        fault.line);
    const bool same_line = earlier.line == later.line && std::strcmp(earlier.file, later.file) == 0;
    fault.hint = vector_cores(earlier.agent, later.agent) && same_line ? one_program_hint
                                                                       : missing_order(earlier.agent, later.agent);
    return fault;
}

Fault line_race_report(const Access& first, const Access& second, const std::string& bytes)
{
    Fault fault = fault_at("race", second);
    fault.text = text_of("%s and %s to %s: a data cache writes back lines of 64 bytes, and one brings back what the "
                         "other one stored over",
        line_store(first).c_str(), line_store(second).c_str(), bytes.c_str());
    fault.hint = "give each core lines of its own, or let it store by DataCopyPad from UB";
    return fault;
}

Fault redundant_store_report(const Access& earlier, const Access& later, const std::string& bytes)
{
    Fault fault = fault_at("redundant-store", later);
    fault.other = {earlier.file, earlier.line};
    fault.text = vector_cores(earlier.agent, later.agent)
                     ? "both vector cores do the same work and store it twice; index by GetSubBlockIdx(): twice as fast"
                     : "the cube core and a vector core store the same values twice; let one of them store";
    fault.text += " (" + bytes + other_place(earlier, later) + ")";
    return fault;
}

namespace {

// "rank 1, block 0 aiv0 MTE3 writes bytes … (DataCopy at k.cpp:12)"
std::string act_of(const BlockAccess& party, const std::string& bytes)
{
    const Access& access = party.access;
    return text_of("%s %s %s %s (%s at %s:%u)", party.block.c_str(), agent_text(access.agent, true).c_str(),
        verb_of(access.kind), bytes.c_str(), access.api, access.file, access.line);
}

Fault race_of(const BlockAccess& first, const BlockAccess& second, const std::string& bytes)
{
    Fault fault = fault_at("race", second.access);
    fault.text = text_of(
        "%s, %s, and nothing orders the two", act_of(first, bytes).c_str(), act_of(second, "them").c_str());
    return fault;
}

// What brings one access of a rank before one of another.
std::string missing_edge(const BlockAccess& earlier, const BlockAccess& later)
{
    const char* done = is_engine(earlier.access.agent) ? "call aclshmemx_sdma_quiet after it, then "
                       : earlier.access.kind == AccessKind::read ? ""
                       : earlier.put                           ? "call aclshmem_quiet() after it, then "
                                                               : "complete it (SetFlag and WaitFlag to S), then ";
    return text_of("if rank %d has to come first, %ssignal rank %d (aclshmemx_signal_op) and let it wait for that "
                   "before its access (aclshmem_signal_wait_until)",
        earlier.rank, done, later.rank);
}

}  // namespace

Fault grid_race_report(const BlockAccess& first, const BlockAccess& second, const std::string& bytes)
{
    Fault fault = race_of(first, second, bytes);
    fault.hint = is_engine(first.access.agent) || is_engine(second.access.agent)
                     ? "call aclshmemx_sdma_quiet after the transfer and put SyncAll() between"
                 : first.put || second.put
                     ? "call aclshmem_quiet() after the store to the other rank and put SyncAll() between"
                     : "give each block its own bytes, use atomics, or put SyncAll() between";
    return fault;
}

Fault rank_race_report(
    const BlockAccess& first, const BlockAccess& second, bool one_line_only, const std::string& bytes)
{
    Fault fault = race_of(first, second, bytes);
    const bool signals = first.access.kind == AccessKind::signal || second.access.kind == AccessKind::signal;
    const BlockAccess& plain = first.access.kind == AccessKind::signal ? second : first;
    if (signals && plain.access.kind != AccessKind::read) {
        const bool resets = plain.rank == plain.owner && !one_line_only;
        fault.kind = resets ? "signal-reset" : "signal-lost";
        fault.hint = resets ? "let the word count up over all rounds, or use two words by parity: a signal of the next "
                              "round may arrive before the reset"
                            : "signal by aclshmemx_signal_op alone, and keep data and words in lines of 64 bytes apart";
        fault.text += one_line_only ? ": a SET stores the line of 64 bytes of its word as a whole" : "";
        return fault;
    }
    fault.hint = missing_edge(first, second) + "; " + missing_edge(second, first) +
                 "; aclshmem_barrier_all() between them does both";
    return fault;
}

Fault grid_redundant_store_report(const BlockAccess& first, const BlockAccess& second, const std::string& bytes)
{
    Fault fault = fault_at("redundant-store", second.access);
    const std::string blocks = first.rank < 0 ? "blocks " + first.block.substr(6) + " and " + second.block.substr(6)
                                              : first.block + " and " + second.block;
    fault.text = text_of("%s do the same work and store it twice; give each block its own part by GetBlockIdx() (%s%s)",
        blocks.c_str(), bytes.c_str(), other_place(first.access, second.access).c_str());
    return fault;
}

}  // namespace tile_simulator
