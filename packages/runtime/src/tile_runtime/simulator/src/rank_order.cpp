// What of one rank another one sees, and when: aclshmem_quiet, aclshmem_fence and barriers (vendor: shmem,
// src/device/gm2gm/shmem_device_mo.hpp and shmemi_device_cc.h).
#include "shmem/order.h"

#include <algorithm>

#include "ascend_c/cross_core.h"
#include "ascend_c/sync.h"
#include "instruction.h"
#include "launch.h"
#include "order_checks.h"
#include "rank_waits.h"
#include "time_log.h"

namespace tile_simulator {
namespace {

// Waits until another core lets this one go on.
void wait_in_rank(Core& core)
{
    tell_stores(core);
    while (!core.awaited.ready.load(std::memory_order_acquire)) {
        core.coroutine.suspend();
        if (core.stopped()) {
            core.awaited.waiting = false;
            throw Stopped{};
        }
    }
    core.awaited.waiting = false;
}

void come_to(Core& core, Collective kind, Use use)
{
    Launch& launch = core.block.launch();
    const uint32_t vectors = launch.participants(CoreKind::aiv);
    const uint32_t cubes = kind == Collective::vector ? 0 : launch.participants(CoreKind::aic);
    require_rank_resident(core, use);
    if (core.time_log != nullptr) {
        core.time_log->rank_barrier(core, kind == Collective::vector, use);
    }
    OrderChecks* const order = core.block.order();
    ForeignPointer knowledge;
    if (order != nullptr) {
        order->settle_polls(core);
        knowledge = all_of(*order->all_done(core));
    }
    core.awaited.begin();
    core.awaited.address = 0;
    core.awaited.barrier = core.collectives;
    core.awaited.use = {use.api, core.site.file != nullptr ? core.site : use.at};
    RankBarriers& barriers = launch.barriers();
    const uint32_t number = barriers.number_of(core, kind);
    core.awaited.waiting = true;
    const uint32_t place = core.collectives++;
    bool last = false;
    ForeignPointer known;
    if (!barriers.arrive(
            core, kind, place, (vectors + cubes) * launch.ranks_here(), knowledge, core.awaited.use, last, known)) {
        launch.stop_block(core);
        throw Stopped{};
    }
    if (last) {
        if (kind != Collective::vector || launch.participants(CoreKind::aic) == 0) {
            launch.settle_before_meeting(known);
        }
        if (launch.options().processes != nullptr) {
            launch.come_with_processes(kind, number);
        } else {
            barriers.release(kind, number);
            launch.wake();
        }
    }
    wait_in_rank(core);
}

}  // namespace

void require_rank_resident(Core& core, Use use)
{
    const Launch& launch = core.block.launch();
    const TileOptions& options = launch.options();
    const bool cubes = launch.participants(CoreKind::aic) > options.cube_cores;
    if (core.device_checks && launch.ranks() > 1 &&
        (cubes || launch.participants(CoreKind::aiv) > options.vector_cores)) {
        const CoreKind kind = cubes ? CoreKind::aic : CoreKind::aiv;
        Fault fault = fault_of("deadlock", use,
            text_of("%s: residency: ranks wait for each other, but a rank of the launch needs %u %s and its device runs "
                    "%u at a time",
                use.api, launch.participants(kind), cubes ? "AICs" : "AIVs",
                cubes ? options.cube_cores : options.vector_cores));
        fault.hint = "launch no more blocks than the device has cores, and loop over the rest in each";
        throw FaultError{std::move(fault)};
    }
}

void rank_quiet(Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    core.stored_to_gm = core.stored_to_gm || core.remote.any();
    core.remote.close();
    if (OrderChecks* order = core.block.order()) {
        order->remote_complete(core);
    }
    pipe_barrier(PIPE_ALL, use);
    clean_data_cache(0, true, use);
}

void rank_fence(Use use)
{
    Core& core = core_of(use);
    OrderChecks* const order = core.block.order();
    if (core.block.launch().options().checks < TILE_CHECKS_STRICT || order == nullptr) {
        return rank_quiet(use);
    }
    // As the interface says it: what follows to a rank comes after what went before to that rank.
    enter(core, use);
    pipe_barrier(PIPE_ALL, use);
    clean_data_cache(0, true, use);
    core.remote.fence(order->fence_remote(core));
}

namespace {

void meet(Collective kind, Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    if (kind == Collective::vector && !core.is_vector()) {
        return;
    }
    if (kind == Collective::sync) {
        pipe_barrier(PIPE_ALL, use);
    } else {
        rank_quiet(use);
    }
    come_to(core, kind, use);
}

}  // namespace

void barrier_of_ranks(Use use)
{
    meet(Collective::barrier, use);
}

void sync_of_ranks(Use use)
{
    meet(Collective::sync, use);
}

void vector_barrier_of_ranks(Use use)
{
    meet(Collective::vector, use);
}

void Launch::settle_before_meeting(const ForeignPointer& known)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto complete = [&](const Block* block) {
        return block->order() == nullptr || block->order()->all_complete(*known);
    };
    if (!std::all_of(all_live_.begin(), all_live_.end(), complete)) {
        return;
    }
    for (Block* block : all_live_) {
        if (block->order() != nullptr) {
            block->order()->keep_stored();
            grid_races_.add(block->index(), *block->order(), blocks_ * ranks() == 1);
        }
    }
    grid_races_.compare(*this);
    for (Block* block : all_live_) {
        if (block->order() != nullptr) {
            block->order()->forget_accesses();
        }
    }
    signals_.forget();
}

bool OrderChecks::all_complete(const Foreign& known) const
{
    const VectorClock* own = known.of(block_);
    const auto complete = [&](const GlobalAccess& access) {
        return complete_by(*own, log_[access.access], access.waits);
    };
    return own != nullptr && std::all_of(global_.all().begin(), global_.all().end(), complete);
}

void OrderChecks::forget_accesses()
{
    global_.clear();
    for (StoredBytes& stored : stored_) {
        stored.clear();
    }
    rounds_known_.assign(1, VectorClock{});
    for (TakenOver& taken : taken_) {
        taken.forget();
    }
}

std::shared_ptr<const Handover> OrderChecks::all_done(Core& core)
{
    VectorClock all;
    for (int pipe = 0; pipe < pipe_count; ++pipe) {
        all.join(completed(core, Pipe(pipe)));
    }
    const std::shared_ptr<const Handover> handover = hand_over(core, all);
    // Who learns of this learns that the core knows what comes next: all that is brought together.
    const auto done = std::make_shared<Handover>(*handover);
    const int self = core_index(core);
    done->clock.at[handovers_of(self)] = taken_[self].latest() + 1;
    return done;
}

void OrderChecks::know_all(Core& core, const ForeignPointer& knowledge)
{
    if (needs_ != nullptr) {
        needs_->give_up();
    }
    know_taken(core, knowledge, knowledge, VectorClock{});
}

void OrderChecks::know_of_ranks(Core& core, const ForeignPointer& knowledge)
{
    if (needs_ != nullptr) {
        needs_->give_up();
    }
    know(core, knowledge, VectorClock{});
}

}  // namespace tile_simulator
