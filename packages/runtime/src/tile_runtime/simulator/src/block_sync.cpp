// Order between blocks through words of GM (kernel_operator_block_sync_intf.h and its neighbours of CANN 9.0).
//
// The words are what they are on a device, and what a kernel leaves in them matters. Whoever sees a value gets the order
// that its store handed over; the accesses to the words themselves are no accesses of the kernel.
#include "ascend_c/block_sync.h"

#include <cstring>

#include "ascend_c/sync.h"
#include "instruction.h"
#include "launch.h"
#include "order_checks.h"
#include "sync_state.h"

namespace tile_simulator {
namespace {

constexpr uint64_t block_bytes = 32;        // of UB and of most words
constexpr uint64_t group_slot_bytes = 512;  // a counter for each AIV that reads it
constexpr uint64_t group_wait_offset = 64;  // the counters of those that wait stand behind those that arrive

int32_t load_word(uint64_t address)
{
    return __atomic_load_n(reinterpret_cast<const int32_t*>(address), __ATOMIC_ACQUIRE);
}

// Everything the core has done so far goes with the new value.
void hand_word(Core& core, uint64_t address, bool update)
{
    if (OrderChecks* order = core.block.order()) {
        order->hand_word(core, address, update);
    }
}

void store_word(Core& core, uint64_t address, int32_t value)
{
    hand_word(core, address, false);
    __atomic_store_n(reinterpret_cast<int32_t*>(address), value, __ATOMIC_RELEASE);
    core.stored_to_gm = true;
}

void add_to_word(Core& core, uint64_t address)
{
    hand_word(core, address, true);
    __atomic_fetch_add(reinterpret_cast<int32_t*>(address), 1, __ATOMIC_ACQ_REL);
    core.stored_to_gm = true;
}

// Waits until `ready` says so of the word, and takes over what was handed over with it.
template <class Ready>
void wait_for_word(Core& core, uint64_t address, Use use, const Ready& ready)
{
    tell_stores(core);
    while (!ready(load_word(address))) {
        wait_for_store(core, address, use);
    }
    if (OrderChecks* order = core.block.order()) {
        order->take_word(core, address);
    }
}

// The first of `bytes` bytes of a workspace, which must lie in its buffer.
void require_words(Core& core, const GlobalOperand& workspace, uint64_t bytes, const char* name, Use use)
{
    Operand operand = {};
    operand.name = name;
    operand.memory = Memory::gm;
    operand.write = true;
    operand.region = Region::bytes(workspace.address, bytes);
    operand.origin = workspace.origin;
    require_global(core, operand, use);
    if (workspace.address % sizeof(int32_t) != 0) {
        raise("misaligned", use, text_of("%s: %s must be aligned to 4 bytes", use.api, name));
    }
}

// The functions use UB as scratch: what the kernel had there is gone.
uint8_t* take_scratch(Core& core, const LocalOperand& local, uint64_t bytes, Use use)
{
    require_memory(local, Memory::ub, "ubWorkspace", use);
    Instruction instruction(core, Pipe::s, use);
    const int operand =
        instruction.local("ubWorkspace", true, local, Memory::ub, Region::bytes(local.address, bytes), block_bytes);
    instruction.issue();
    return instruction.data(operand);
}

// Blocks that wait for each other must all be on the device.
void require_resident(Core& core, Use use)
{
    const Launch& launch = core.block.launch();
    const uint32_t cores = launch.options().vector_cores;
    if (core.device_checks && launch.participants(CoreKind::aiv) > cores) {
        raise("deadlock", use,
            text_of("%s: blocks wait for each other, but the launch needs %u AIVs and the device runs %u at a time",
                use.api, launch.participants(CoreKind::aiv), cores));
    }
}

uint64_t event_word(
    Core& core, const SyncWorkspace& workspace, int64_t block, int64_t event, bool vector_cores_only, Use use)
{
    const int64_t cores = block_count() * (vector_cores_only ? 1 : 2);
    if (block < 0 || block >= cores) {
        raise("bad-argument", use,
            text_of("%s: blockIdx is %lld, but must be 0..%lld", use.api, static_cast<long long>(block),
                static_cast<long long>(cores - 1)));
    }
    if (event < 0) {
        raise("bad-argument", use, text_of("%s: eventID is %lld, but must be 0 or more", use.api,
            static_cast<long long>(event)));
    }
    const uint64_t offset = block_bytes * static_cast<uint64_t>(cores * event + block);
    require_words(core, workspace.global, offset + block_bytes, "gmWorkspace", use);
    require_resident(core, use);
    return workspace.global.address + offset;
}

// Changes a word from one value to another, when it has the first.
void exchange(Core& core, const SyncWorkspace& workspace, uint64_t word, int32_t from, int32_t to, Use use)
{
    pipe_barrier(PIPE_ALL, use);
    take_scratch(core, workspace.local, block_bytes, use);
    wait_for_word(core, word, use, [from](int32_t value) { return value == from; });
    pipe_barrier(PIPE_ALL, use);
    store_word(core, word, to);
}

uint64_t turn_word(const SyncWorkspace& workspace, int64_t block)
{
    return workspace.global.address + block_bytes * static_cast<uint64_t>(block);
}

// The number of the present turn stands behind the copy of all words in UB.
uint8_t* turn_number(Core& core, const SyncWorkspace& workspace, Use use)
{
    const uint64_t words = block_bytes * static_cast<uint64_t>(block_count());
    require_words(core, workspace.global, words, "gmWorkspace", use);
    if (block_index() >= block_count()) {
        raise("bad-argument", use, text_of("%s: a word per block is for kernels of one AIV per block", use.api));
    }
    require_resident(core, use);
    return take_scratch(core, workspace.local, words + block_bytes, use) + words;
}

// Calls f(core) on an AIV; on an AIC these calls do nothing.
template <class F>
void on_vector_core(Use use, const F& f)
{
    Core& core = core_of(use);
    enter(core, use);
    if (core.is_vector()) {
        f(core);
    }
}

// Calls f(core, turn) between what the AIV did before and what it does after, and keeps the turn that f returns.
template <class F>
void at_turn(const SyncWorkspace& workspace, Use use, const F& f)
{
    on_vector_core(use, [&](Core& core) {
        pipe_barrier(PIPE_ALL, use);
        uint8_t* const number = turn_number(core, workspace, use);
        int32_t turn = 0;
        std::memcpy(&turn, number, sizeof(turn));
        turn = f(core, turn);
        std::memcpy(number, &turn, sizeof(turn));
        pipe_barrier(PIPE_ALL, use);
    });
}

void clear_turns(Core& core, const SyncWorkspace& workspace)
{
    for (int64_t block = 0; block < block_count(); ++block) {
        store_word(core, turn_word(workspace, block), 0);
    }
}

uint64_t group_word(const GroupCounters& group, uint32_t index, bool waiters)
{
    return group.address + (waiters ? group_wait_offset : 0) + group_slot_bytes * index;
}

void require_member(const char* name, uint32_t index, uint32_t size, Use use)
{
    if (index >= size) {
        raise("bad-argument", use, text_of("%s: %s is %u, but must be 0..%u", use.api, name, index, size - 1));
    }
}

// Counts one more in the slots of all who may look.
void count_in_group(Core& core, const GroupCounters& group, bool waiters)
{
    const uint32_t slots = group.arrivers > group.waiters ? group.arrivers : group.waiters;
    for (uint32_t i = 0; i < slots; ++i) {
        add_to_word(core, group_word(group, i, waiters));
    }
    tell_stores(core);
}

}  // namespace

void OrderChecks::hand_word(Core& core, uint64_t address, bool update)
{
    const int agent = agent_of(core, Pipe::mte3);
    const GlobalFlags::Writer writer = writer_of(block_, agent, issued_[agent]);
    hand_word(core, address, update, writer, hand_over(core, completed(core, Pipe::mte3)));
}

void OrderChecks::hand_word(Core& core, uint64_t address, bool update, const GlobalFlags::Writer& writer,
    std::shared_ptr<const Handover> handover)
{
    core.block.launch().flags().store(address, sizeof(int32_t), nullptr, writer, std::move(handover), update,
        [](uint64_t, const GlobalFlags::Store&) { return true; });
}

void OrderChecks::take_word(Core& core, uint64_t address)
{
    GlobalFlags::Store store;
    if (core.block.launch().flags().find(address, store)) {
        for (const auto& handover : store.handed) {
            take_over(core, *handover);
        }
    }
}

void block_set(SyncWorkspace workspace, int64_t block, int64_t event, bool vector_cores_only, Use use)
{
    on_vector_core(use, [&](Core& core) {
        exchange(core, workspace, event_word(core, workspace, block, event, vector_cores_only, use), 0, 1, use);
    });
}

void block_wait(SyncWorkspace workspace, int64_t block, int64_t event, bool vector_cores_only, Use use)
{
    on_vector_core(use, [&](Core& core) {
        exchange(core, workspace, event_word(core, workspace, block, event, vector_cores_only, use), 1, 0, use);
    });
}

void sync_all_in_memory(SyncWorkspace workspace, int64_t used, Use use)
{
    on_vector_core(use, [&](Core& core) {
        const int64_t all = core.block.launch().participants(CoreKind::aiv);
        const int64_t cores = used == 0 ? all : used;
        if (used < 0 || used > all || block_index() >= cores) {
            raise("bad-argument", use,
                text_of("%s: usedCores is %lld, but this core is number %lld of %lld", use.api,
                    static_cast<long long>(used), static_cast<long long>(block_index()), static_cast<long long>(all)));
        }
        const uint64_t bytes = block_bytes * static_cast<uint64_t>(cores);
        require_words(core, workspace.global, bytes, "gmWorkspace", use);
        require_resident(core, use);
        pipe_barrier(PIPE_ALL, use);
        take_scratch(core, workspace.local, bytes, use);
        const uint64_t own = turn_word(workspace, block_index());
        const int32_t round = load_word(own) + 1;
        store_word(core, own, round);
        for (int64_t other = 0; other < cores; ++other) {
            wait_for_word(
                core, turn_word(workspace, other), use, [round](int32_t value) { return value >= round; });
        }
        pipe_barrier(PIPE_ALL, use);
    });
}

void init_turns(SyncWorkspace workspace, Use use)
{
    at_turn(workspace, use, [&](Core& core, int32_t) {
        if (block_index() == 0) {
            clear_turns(core, workspace);
        }
        return 1;
    });
}

void wait_for_turn(SyncWorkspace workspace, Use use)
{
    at_turn(workspace, use, [&](Core& core, int32_t turn) {
        // All before this block have had this turn; this one and those behind it have not.
        for (int64_t block = 0; block < block_count(); ++block) {
            const int32_t expected = block < block_index() ? turn : 0;
            wait_for_word(
                core, turn_word(workspace, block), use, [expected](int32_t value) { return value == expected; });
        }
        return turn;
    });
}

void pass_turn(SyncWorkspace workspace, Use use)
{
    at_turn(workspace, use, [&](Core& core, int32_t turn) {
        if (block_index() + 1 == block_count()) {
            clear_turns(core, workspace);
        } else {
            store_word(core, turn_word(workspace, block_index()), turn);
        }
        return static_cast<int32_t>(static_cast<uint32_t>(turn) + 1);
    });
}

void create_group(const GroupCounters& group, Use use)
{
    on_vector_core(use, [&](Core& core) {
        if (group.arrivers == 0 || group.waiters == 0) {
            raise("bad-argument", use, text_of("%s: a group of 0 AIVs", use.api));
        }
        const uint32_t slots = group.arrivers > group.waiters ? group.arrivers : group.waiters;
        const GlobalOperand workspace = {group.address, DataType::u8, group.address};
        require_words(core, workspace, group_slot_bytes * slots - group_slot_bytes + 2 * group_wait_offset,
            "groupWorkspace", use);
        require_resident(core, use);
    });
}

void group_arrive(GroupCounters& group, uint32_t index, Use use)
{
    on_vector_core(use, [&](Core& core) {
        require_member("arriveIndex", index, group.arrivers, use);
        // All have left the round before.
        const int32_t left = static_cast<int32_t>((group.round - 1) * group.waiters);
        wait_for_word(core, group_word(group, index, true), use, [left](int32_t value) { return value == left; });
        count_in_group(core, group, false);
        ++group.round;
        group.arrived = true;
    });
}

void group_wait(GroupCounters& group, uint32_t index, Use use)
{
    on_vector_core(use, [&](Core& core) {
        require_member("waitIndex", index, group.waiters, use);
        const uint32_t round = group.arrived ? group.round - 1 : group.round;
        const int32_t expected = static_cast<int32_t>(round * group.arrivers);
        wait_for_word(
            core, group_word(group, index, false), use, [expected](int32_t value) { return value >= expected; });
        count_in_group(core, group, true);
        group.round = round + 1;
        group.arrived = false;
    });
}

}  // namespace tile_simulator
