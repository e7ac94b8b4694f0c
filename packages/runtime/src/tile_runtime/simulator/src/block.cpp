// The cores of one block as co-routines.
#include <cstring>
#include <exception>

#include "launch.h"
#include "order_checks.h"
#include "sync_state.h"

namespace tile_simulator {

Block::Block()
{
    cores_[0] = std::make_unique<Core>(*this, CoreKind::aic, 0);
    cores_[1] = std::make_unique<Core>(*this, CoreKind::aiv, 0);
    cores_[2] = std::make_unique<Core>(*this, CoreKind::aiv, 1);
}

void Block::begin(Launch& launch, uint32_t index)
{
    launch_ = &launch;
    index_ = index;
    for (auto& mode : pair_sets) {
        for (auto& flag : mode) {
            flag[0].clear();
            flag[1].clear();
        }
    }
    checked_ = launch.options().checks >= TILE_CHECKS_DEVICE;
    if (checked_) {
        order_ = order_ != nullptr ? std::move(order_) : std::make_unique<OrderChecks>();
        order_->begin(launch, launch.options().checks >= TILE_CHECKS_STRICT);
    }
    const KernelShape shape = launch.shape();
    for (auto& core : cores_) {
        const bool part = !shape.known || (core->is_vector() ? core->sub < shape.aiv : shape.aic > 0);
        if (part) {
            core->begin();
            core->coroutine.start(&Block::core_main, core.get());
        } else {
            core->takes_part = false;
            core->waiting_id = -1;
            core->output.clear();
        }
    }
}

void Block::core_main(void* pointer)
{
    Core& core = *static_cast<Core*>(pointer);
    Launch& launch = core.block.launch();
    try {
        launch.run_entry();
        if (core.takes_part) {
            if (core.has_pending) {
                throw FaultError{core.pending};
            }
            check_flags_at_exit(core);
            check_cache_at_exit(core);
        }
    } catch (FaultError& error) {
        launch.report(core, std::move(error.fault));
    } catch (const Stopped&) {
    } catch (const NotTakingPart&) {
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
    core.waiting_id = -1;
}

bool Block::can_run(Core& core)
{
    if (core.coroutine.finished()) {
        return false;
    }
    return core.waiting_id < 0 || launch_->stopped() || cross_flag_ready(core, core.waiting_id);
}

bool Block::step()
{
    bool any = false;
    const uint64_t seed = launch_->options().seed;
    const uint32_t first = seed == 0 ? 0 : static_cast<uint32_t>((seed * 0x9e3779b97f4a7c15ull + index_) >> 33) % 3;
    for (uint32_t i = 0; i < core_count; ++i) {
        Core& core = *cores_[(first + i) % core_count];
        if (can_run(core)) {
            current_core = &core;
            core.coroutine.resume();
            current_core = nullptr;
            any = true;
        }
    }
    return any;
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

// A wait can only be satisfied from outside the block by a grid-wide round that this core has itself joined.
bool Block::grid_wait_possible() const
{
    for (const auto& core : cores_) {
        if (!core->coroutine.finished() && core->waiting_id >= 0) {
            const CrossFlag& flag = core->cross[core->waiting_id];
            if (flag.rounds_set > launch_->rounds(core->kind, core->waiting_id)) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace tile_simulator
