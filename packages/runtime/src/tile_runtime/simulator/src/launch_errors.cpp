// The errors and warnings of a launch, and which of them are told.
#include <algorithm>
#include <tuple>
#include <utility>

#include "launch.h"
#include "order_checks.h"

namespace tile_simulator {
namespace {

// Errors a launch tells.
constexpr size_t most_errors = 20;

}  // namespace

void Launch::report(const Core& core, Fault fault)
{
    if (options_.first != 0 || past_deadline()) {
        return end(core, std::move(fault));
    }
    keep(core, std::move(fault));
    stop_block(core);
}

void Launch::stop_block(const Core& core)
{
    core.block.fail();
    const std::lock_guard<std::mutex> lock(mutex_);
    block_failed_ = true;
}

void Launch::end(const Core& core, Fault fault)
{
    place(fault, core.block.index());
    fault.core = core.name();
    fail(core.block.order_of_start(), std::move(fault));
}

void Launch::keep(const Core& core, Fault fault)
{
    place(fault, core.block.index());
    fault.core = core.name();
    const uint32_t order = core.block.order_of_start();
    const uint64_t number = ++core.block.errors;
    const char* other = fault.other.file != nullptr ? fault.other.file : "";
    const auto key = std::make_tuple(fault.kind, fault.file, fault.line, std::string(other), fault.other.line);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [entry, fresh] = kept_.try_emplace(key, Kept{order, number, fault});
    // Blocks run in any order; what is told must not depend on it.
    Kept& told = entry->second;
    if (!fresh && std::tie(order, number) < std::tie(told.order, told.number)) {
        told = {order, number, std::move(fault)};
    }
}

bool Launch::warned(const char* kind, const char* file, uint32_t line, uint32_t block)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = warnings_.find({kind, file != nullptr ? file : "", line});
    return found != warnings_.end() && found->second.block + uint32_t(std::max(found->second.rank, 0)) * blocks_ <= block;
}

void Launch::warn(const Core& core, Fault fault)
{
    place(fault, core.block.index());
    fault.core = core.name();
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [entry, fresh] = warnings_.try_emplace({fault.kind, fault.file, fault.line}, fault);
    Fault& told = entry->second;
    // Blocks run in any order; what is told must not depend on it.
    if (!fresh && std::tie(fault.rank, fault.block, fault.core, fault.text) <
                      std::tie(told.rank, told.block, told.core, told.text)) {
        told = std::move(fault);
    }
}

void Launch::read_too_early(const Core& core, Fault fault)
{
    place(fault, core.block.index());
    fault.core = core.name();
    const std::lock_guard<std::mutex> lock(mutex_);
    read_too_early_.try_emplace(core.block.order_of_start(), std::move(fault));
}

std::vector<Fault> Launch::take_others()
{
    if (failed_) {
        others_.resize(std::min(others_.size(), most_errors - 1));
        return std::move(others_);
    }
    std::vector<Fault> all;
    for (auto& [place, fault] : warnings_) {
        all.push_back(std::move(fault));
    }
    const auto place_of = [](const Fault& fault) { return std::tie(fault.file, fault.line, fault.kind); };
    std::sort(all.begin(), all.end(), [&](const Fault& a, const Fault& b) { return place_of(a) < place_of(b); });
    return all;
}

void Launch::fail(uint32_t order, Fault fault)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failed_ || order < fault_order_) {
        failed_ = true;
        fault_order_ = order;
        // Values that are none may be what a block goes wrong by later; but a race may be why there were none.
        const auto cause = read_too_early_.find(order);
        fault_ = cause != read_too_early_.end() && fault.kind != "race" ? cause->second : std::move(fault);
    }
    first_stopped_.store(fault_order_);
    version_.fetch_add(1, std::memory_order_release);
    idle_ = 0;
    changed_.notify_all();
}

// Blocks before the one that failed wait for it in vain.
void Launch::stop_all()
{
    const std::lock_guard<std::mutex> lock(mutex_);
    first_stopped_.store(0);
    version_.fetch_add(1, std::memory_order_release);
    deadlock_ = false;
    idle_ = 0;
    changed_.notify_all();
}

// Puts the errors that ended no block before the one that did, if any, in the order of blocks.
void Launch::choose_first()
{
    std::vector<Kept> kept;
    for (auto& [key, each] : kept_) {
        if (!failed_ || each.order <= fault_order_) {
            kept.push_back(std::move(each));
        }
    }
    std::sort(kept.begin(), kept.end(),
        [](const Kept& a, const Kept& b) { return std::tie(a.order, a.number) < std::tie(b.order, b.number); });
    for (Kept& each : kept) {
        others_.push_back(std::move(each.fault));
    }
    if (failed_) {
        others_.push_back(std::move(fault_));
    }
    if (!failed_ && !kept.empty()) {
        // As in `fail`.
        const auto cause = read_too_early_.find(kept.front().order);
        if (cause != read_too_early_.end() && others_.front().kind != "race") {
            others_.insert(others_.begin(), std::move(cause->second));
        }
    }
    if (!others_.empty()) {
        failed_ = true;
        fault_ = std::move(others_.front());
        others_.erase(others_.begin());
    }
}

void Launch::finish()
{
    const bool ended = failed_;
    judge_left_sets();
    choose_first();
    add_signal_faults();
    if (ended || (failed_ && options_.first != 0)) {
        return;
    }
    const auto add_error = [this](Fault fault) {
        (failed_ ? others_.emplace_back() : fault_) = std::move(fault);
        failed_ = true;
    };
    std::vector<ForeignPointer> ends;
    for (uint32_t rank = 0; options_.words != nullptr && rank < ranks(); ++rank) {
        ends.push_back(grid_races_.known_by(rank * blocks_, (rank + 1) * blocks_));
    }
    grid_races_.compare(*this);
    const std::vector<Fault> redundant = grid_races_.take_redundant();
    std::vector<Fault> races = grid_races_.take_races();
    if (races.empty() && !failed_ && !read_too_early_.empty()) {
        races.push_back(std::move(read_too_early_.begin()->second));
    }
    for (Fault& race : races) {
        add_error(std::move(race));
    }
    for (const Fault& fault : redundant) {
        if (options_.checks >= TILE_CHECKS_STRICT) {
            add_error(fault);
        } else {
            warnings_.try_emplace({fault.kind, fault.file, fault.line}, fault);
        }
    }
    if (!failed_) {
        signals_.leave(*this, ends);
    }
}

size_t Launch::most_races() const
{
    return options_.first != 0 ? 1 : most_errors;
}

}  // namespace tile_simulator
