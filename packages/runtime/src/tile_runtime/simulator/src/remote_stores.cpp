#include "remote_stores.h"

#include "atomic_write.h"
#include "launch.h"
#include "rank_messages.h"
#include "scramble.h"

namespace tile_simulator {

void RemoteStores::access(Core& core, int32_t rank, bool write, bool scalar, Use use)
{
    if (rank < 0) {
        target_ = write ? -1 : target_;
        return;
    }
    if (!write || scalar) {
        target_ = write ? -1 : target_;
        // The cores of a block are ordered by what completes a pipe, as for the memory of their own rank.
        for (int i = 0; i < Block::core_count; ++i) {
            core.block.core(i).remote.deliver();
        }
        return;
    }
    const TileOptions& options = core.block.launch().options();
    processes_ = options.processes;
    target_ = rank;
    open_[uint32_t(rank)] = {use, 0};
    const uint64_t drawn = scrambled(options.seed * 31 + core.block.index() * 4ull + core.sub + ++draws_ * 0x10001ull);
    late_ = options.delivery == TILE_DELIVERY_LATE ||
            (options.delivery == TILE_DELIVERY_SEED && options.seed != 0 && (drawn & 1) != 0);
}

bool RemoteStores::hold(const Core& core, uint8_t* target, const uint8_t* source, uint64_t bytes)
{
    if (!late_) {
        deliver();  // none of the same pipe overtakes another
        if (messages_of(core) == nullptr) {
            return false;
        }
        store(target, source, bytes, core.atomic, core.atomic_type, core.saturation.floats);
        return true;
    }
    held_.push_back({target, {source, source + bytes}, core.atomic, core.atomic_type, core.saturation.floats});
    return true;
}

void RemoteStores::deliver()
{
    for (const Held& held : held_) {
        store(held.target, held.bytes.data(), held.bytes.size(), held.atomic, held.type, held.saturates);
    }
    held_.clear();
}

void RemoteStores::store(
    uint8_t* target, const uint8_t* source, uint64_t bytes, AtomicKind atomic, DataType type, bool saturates)
{
    if (processes_ != nullptr && processes_->messages != nullptr) {
        processes_->messages->put(target, source, bytes, atomic, type, saturates);
    } else {
        update_global(atomic, type, saturates, target, source, bytes, processes_);
    }
}

const RemoteStores::Open* RemoteStores::open_to(uint32_t rank) const
{
    const auto found = open_.find(rank);
    return found != open_.end() ? &found->second : nullptr;
}

void RemoteStores::fence(uint32_t number)
{
    for (auto& [rank, open] : open_) {
        open.fenced = number;
    }
}

void RemoteStores::close()
{
    deliver();
    if (processes_ != nullptr && processes_->messages != nullptr) {
        processes_->messages->quiet();
    }
    open_.clear();
    target_ = -1;
}

}  // namespace tile_simulator
