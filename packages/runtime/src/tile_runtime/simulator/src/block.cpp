// The cores of one block as co-routines.
#include <cstring>
#include <exception>
#include <new>

#include "instruction.h"
#include "launch.h"
#include "order_checks.h"
#include "scramble.h"
#include "sync_state.h"

namespace tile_simulator {

Block::Block()
{
    cores_[0] = std::make_unique<Core>(*this, CoreKind::aic, 0);
    cores_[1] = std::make_unique<Core>(*this, CoreKind::aiv, 0);
    cores_[2] = std::make_unique<Core>(*this, CoreKind::aiv, 1);
}

void Block::begin(Launch& launch, uint32_t index, uint32_t order)
{
    launch_ = &launch;
    index_ = index;
    rank_ = launch.rank_of(index);
    index_in_rank_ = index - rank_ * launch.blocks();
    order_of_start_ = order;
    turns_ = 0;
    failed_ = false;
    errors = 0;
    cross_sets.clear();
    checked_ = launch.options().checks >= TILE_CHECKS_DEVICE;
    if (checked_) {
        if (order_ == nullptr) {
            order_ = std::make_unique<OrderChecks>();
        }
        order_->begin(launch, index, launch.options().timing != nullptr);
    }
    const KernelShape shape = launch.shape();
    for (auto& core : cores_) {
        const bool part = !shape.known || (core->is_vector() ? core->sub < shape.aiv : shape.aic > 0);
        if (part) {
            core->begin();
            core->coroutine.start(&Block::core_main, core.get());
        } else {
            core->takes_part = false;
            core->waiting_id = core->full_id = -1;
            core->output.clear();
        }
    }
}

// What a core leaves, however it ends: dirty lines reach gm, and no one waits for it.
void Block::end(Core& core)
{
    core.cache.clean_all();
    core.remote.deliver();
    core.engine.finish();
    core.waiting_id = core.full_id = -1;
    core.polling.waiting = false;
    core.awaited.waiting = false;
    tell_stores(core);
}

void Block::core_main(void* pointer)
{
    Core& core = *static_cast<Core*>(pointer);
    Launch& launch = core.block.launch();
    try {
        launch.run_entry(core.block.rank());
        if (core.takes_part) {
            if (core.has_pending) {
                throw FaultError{core.pending};
            }
            if (!core.stopped()) {
                settle_stores(core);
                if (core.block.order() != nullptr) {
                    core.block.order()->settle_polls(core);
                }
            }
            check_flags_at_exit(core);
            check_engine_at_exit(core);
            check_cache_at_exit(core);
            check_registers_at_exit(core);
        }
    } catch (FaultError& error) {
        launch.report(core, std::move(error.fault));
    } catch (const Stopped&) {
    } catch (const NotTakingPart&) {
    } catch (const std::bad_alloc&) {
        Fault fault;
        fault.kind = "out-of-memory";
        fault.text = "the kernel and its simulation took more memory than the run may";
        launch.end(core, std::move(fault));
    } catch (const std::exception& error) {
        Fault fault;
        fault.kind = "exception";
        fault.text = std::string("the kernel threw a C++ exception: ") + error.what();
        launch.report(core, std::move(fault));
    } catch (...) {
        Fault fault;
        fault.kind = "exception";
        fault.text = "the kernel threw a C++ exception";
        launch.report(core, std::move(fault));
    }
    end(core);
}

void Block::abandon(Core& core, Fault fault)
{
    core.block.launch().end(core, std::move(fault));
    core.site = Where{};
    end(core);
    core.coroutine.abandon();
}

bool Block::can_run(Core& core)
{
    if (core.coroutine.finished()) {
        return false;
    }
    if (stopped()) {
        return true;
    }
    if (core.full_id >= 0) {
        return cross_flag_has_room(core, core.full_id, core.full_mode);
    }
    if (core.awaited.waiting) {
        return core.awaited.ready.load(std::memory_order_acquire);
    }
    if (core.polling.waiting) {
        return launch_->stores_told() != core.polling.stores_told;
    }
    return core.waiting_id < 0 || cross_flag_ready(core, core.waiting_id);
}

bool Block::stopped() const
{
    return failed_ || launch_->stopped(order_of_start_);
}

bool Block::run(Core& core)
{
    if (!can_run(core)) {
        return false;
    }
    current_core = &core;
    core.coroutine.resume();
    current_core = nullptr;
    return true;
}

bool Block::gives_way()
{
    const uint64_t seed = launch_->options().seed;
    return seed != 0 && (scrambled(seed + (uint64_t(index_) << 32) + ++turns_) & 1) != 0;
}

bool Block::step()
{
    const TileOptions& options = launch_->options();
    const uint64_t drawn = options.seed == 0 ? 0 : scrambled(options.seed + (uint64_t(index_) << 32) + ++turns_);
    const uint32_t first = static_cast<uint32_t>(drawn % core_count);
    bool any = false;
    for (uint32_t i = 0; i < core_count; ++i) {
        const uint32_t at = (first + i) % core_count;
        any = (at + 1 != options.starved && run(*cores_[at])) || any;
    }
    // The starved core runs only when no other can.
    return any || (options.starved != 0 && options.starved <= core_count && run(*cores_[options.starved - 1]));
}

bool Block::finished() const
{
    for (const auto& core : cores_) {
        if (!core->coroutine.finished()) {
            return false;
        }
    }
    return true;
}

// A wait can only be satisfied from outside the block by a grid-wide round that this core has itself joined, or by a
// store to GM.
bool Block::outside_wait_possible() const
{
    for (const auto& core : cores_) {
        if (!core->coroutine.finished() && (core->polling.waiting || core->awaited.waiting)) {
            return true;
        }
        if (!core->coroutine.finished() && core->waiting_id >= 0) {
            const CrossFlag& flag = core->cross[core->waiting_id];
            if (flag.rounds_set > launch_->rounds(rank_, core->kind, core->waiting_id)) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace tile_simulator
