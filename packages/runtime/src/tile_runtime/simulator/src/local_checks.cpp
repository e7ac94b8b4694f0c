// Accesses to the local memories of a core: order, bytes that nobody wrote, and what becomes of both.
#include <algorithm>
#include <cstring>

#include "launch.h"
#include "order_checks.h"
#include "race_report.h"

namespace tile_simulator {

FaultPointer OrderChecks::read_local(
    const Instruction& instruction, const Operand& operand, Present& now, uint32_t index)
{
    const Shadow& shadow = shadow_of(instruction.core, operand.memory);
    FaultPointer taint = check_written(instruction, operand, shadow);
    if (taint != nullptr && operand.memory == Memory::bias) {
        constexpr uint64_t block = 64;  // bytes of the bias of 16 columns
        for (uint64_t at = operand.region.start; at < operand.region.end(); at += block) {
            const uint64_t end = std::min(at + block, operand.region.end());
            columns_.push_back(shadow.written_bytes(at, end) != end - at);
        }
    }
    for (Conflict conflict; (conflict = touch_local(instruction, operand, now, index)).access != 0;) {
        tell_race(instruction, operand, AccessKind::read, conflict, now);
    }
    const Taints& taints = taints_[core_index(instruction.core)][int(operand.memory)];
    if (!taints.empty() && taint == nullptr) {
        operand.region.compact().for_runs([&](uint64_t begin, uint64_t end) {
            taint = taints.find(begin, end);
            return taint == nullptr;
        });
    }
    return taint;
}

void OrderChecks::write_local(
    const Instruction& instruction, const Operand& operand, Present& now, uint32_t index, const FaultPointer& taint)
{
    Shadow& shadow = shadow_of(instruction.core, operand.memory);
    Taints& taints = taints_[core_index(instruction.core)][int(operand.memory)];
    const bool by_column = taint != nullptr && columns_.size() == operand.region.inner && operand.memory == Memory::l0c;
    if (by_column) {
        for (uint64_t column = 0; column < columns_.size(); ++column) {
            const uint64_t begin = operand.region.start + column * operand.region.inner_stride;
            const uint64_t end = begin + operand.region.run;
            columns_[column] ? taints.set(begin, end, taint) : taints.clear(begin, end);
        }
    } else if (!taints.empty() || taint != nullptr) {
        operand.region.compact().for_runs([&](uint64_t begin, uint64_t end) {
            if (taint != nullptr && taints.full()) {
                throw FaultError{*taint};
            }
            taint != nullptr ? taints.set(begin, end, taint) : taints.clear(begin, end);
        });
    }
    for (Conflict conflict; (conflict = touch_local(instruction, operand, now, index)).access != 0;) {
        tell_race(instruction, operand, AccessKind::write, conflict, now);
    }
    operand.region.compact().for_runs([&](uint64_t begin, uint64_t end) { shadow.mark_written(begin, end); });
}

// The first conflict. Two writes in no order are none until somebody reads what they left.
Conflict OrderChecks::touch_local(
    const Instruction& instruction, const Operand& operand, Present& now, uint32_t index)
{
    Shadow& shadow = shadow_of(instruction.core, operand.memory);
    Taints& taints = taints_[core_index(instruction.core)][int(operand.memory)];
    Conflict conflict;
    operand.region.compact().for_runs([&](uint64_t begin, uint64_t end) {
        while (begin < end) {
            conflict = shadow.touch(begin, end, index, log_, now);
            if (conflict.access == 0) {
                return true;
            }
            if (strict_ || !operand.write || log_[conflict.access].kind == AccessKind::read || taints.full()) {
                return false;
            }
            const FaultPointer fault = without_effect(instruction.core,
                race_report(instruction, operand, AccessKind::write, log_[conflict.access], conflict));
            const uint64_t past = (conflict.end + Shadow::granule - 1) / Shadow::granule * Shadow::granule;
            const uint64_t stop = std::min(end, std::max(past, begin + 1));
            const uint64_t first = std::max(begin, conflict.begin);
            const uint64_t last = std::min(end, conflict.end);
            const uint8_t* const bytes = instruction.core.memory(operand.memory).data();
            rewrites_.push_back(
                {core_index(instruction.core), operand.memory, first, {bytes + first, bytes + last}});
            taints.set(first, last, fault);
            Present after_all = now;
            std::fill(after_all.clock.at, after_all.clock.at + agent_count, ~uint32_t(0));
            shadow.touch(begin, stop, index, log_, after_all);
            conflict = Conflict{};
            begin = stop;
        }
        return true;
    });
    return conflict;
}

void OrderChecks::require_defined(const Core& core, Memory memory, uint64_t begin, uint64_t end) const
{
    const Taints& taints = taints_[core_index(core)][int(memory)];
    if (const FaultPointer fault = taints.empty() ? nullptr : taints.find(begin, end); fault != nullptr) {
        throw FaultError{*fault};
    }
}

void OrderChecks::settle_rewrites(const Core& core)
{
    for (const Rewrite& rewrite : rewrites_) {
        const uint8_t* const now = core.block.core(rewrite.core).memory(rewrite.memory).data() + rewrite.begin;
        if (std::memcmp(now, rewrite.before.data(), rewrite.before.size()) == 0) {
            taints_[rewrite.core][int(rewrite.memory)].clear(rewrite.begin, rewrite.begin + rewrite.before.size());
        }
    }
    rewrites_.clear();
}

FaultPointer OrderChecks::without_effect(const Core& core, Fault fault)
{
    auto pointer = std::make_shared<Fault>(fault);
    Launch& launch = core.block.launch();
    if (!launch.warned(fault.kind.c_str(), fault.file.c_str(), fault.line, core.block.index())) {
        fault.text += "; nothing that leaves the core depended on it";
        launch.warn(core, std::move(fault));
    }
    return pointer;
}

// A copy to GM moves whole 32 B blocks, of which a kernel may want the first elements only: at device level a block
// with a written byte counts as written. Loads into L0 move whole fractals and vector instructions whole tiles, of which
// a tail may be filler that nobody uses: at device level those are wrong only if nothing of what they read was ever
// written.
FaultPointer OrderChecks::check_written(const Instruction& instruction, const Operand& operand, const Shadow& shadow)
{
    uint64_t total = 0;
    uint64_t written = 0;
    uint64_t first = 0;
    const bool blocks = instruction.pipe == Pipe::mte3 && !strict_;
    operand.region.compact().for_runs([&](uint64_t begin, uint64_t end) {
        const uint64_t found = shadow.written_bytes(begin, end, blocks);
        if (found != end - begin && total == written) {
            first = begin;
            while (shadow.written_bytes(first, first + 1, blocks) != 0) {
                ++first;
            }
        }
        total += end - begin;
        written += found;
    });
    const bool filler = instruction.pipe == Pipe::mte1 || (instruction.pipe == Pipe::v && !strict_);
    if (written == total || (filler && written != 0)) {
        return nullptr;
    }
    Fault fault = fault_of("uninitialised-read", instruction.use,
        text_of("%s: %s reads %llu bytes of %s that nothing has written, the first of them byte %llu",
            instruction.use.api, operand.name, static_cast<unsigned long long>(total - written),
            buffer_text(operand.memory, operand.buffer).c_str(),
            static_cast<unsigned long long>(first - (operand.buffer.end != 0 ? operand.buffer.begin : 0))));
    const bool leaves = instruction.pipe == Pipe::mte3 || instruction.pipe == Pipe::s || instruction.pipe == Pipe::fix;
    if (strict_ || leaves) {
        tell(instruction.core, std::move(fault));
        return nullptr;
    }
    return without_effect(instruction.core, std::move(fault));
}

}  // namespace tile_simulator
