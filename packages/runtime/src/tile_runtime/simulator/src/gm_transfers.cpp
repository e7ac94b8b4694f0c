#include "gm_transfers.h"

#include <algorithm>

namespace tile_simulator {

GmTransfers::GmTransfers(const TileTiming& timing, const GlobalBuffers& buffers)
    : cache_(buffers, static_cast<uint64_t>(timing.l2_bytes), timing.warm_l2 != 0),
      traffic_(timing),
      burst_(static_cast<uint64_t>(timing.uncached_burst))
{
}

void GmTransfers::begin(double time, uint64_t owner, const TimeEvent& event, const Region& region)
{
    const bool load = is_load(event.route);
    const bool past_l2 = load && event.past_l2;
    const uint32_t brings = load ? ++reads_ : 0;
    const Traffic traffic = past_l2 ? cache_.read_past(region, burst_)
                            : load  ? cache_.read(region, brings)
                                    : cache_.write(region);
    (load ? read_bytes : write_bytes) += traffic.moved;
    hbm_bytes += traffic.missed + traffic.left;

    if (idle_.empty()) {
        idle_.push_back(static_cast<uint32_t>(transfers_.size()));
        transfers_.emplace_back();
    }
    const uint32_t number = idle_.back();
    idle_.pop_back();
    Transfer& transfer = transfers_[number];
    transfer = {owner, time, 0, double(traffic.moved), load ? double(traffic.missed + traffic.arriving) : double(traffic.fresh), brings,
        traffic.brought_by, !load && traffic.partial, {}, 0};
    const auto add = [&](GmTraffic::Lane lane, double bytes) {
        transfer.parts[transfer.left++] = {lane, bytes};
        transfer.alone += lane == GmTraffic::write_back ? 0 : traffic_.alone(lane, bytes);
    };
    const uint64_t slow = load ? traffic.missed : traffic.fresh;
    if (slow + traffic.arriving < traffic.moved) {
        add(GmTraffic::in_l2(event.route), double(traffic.moved - slow - traffic.arriving));
    }
    if (traffic.arriving > 0) {
        add(GmTraffic::arriving(event.route), double(traffic.arriving));
    }
    if (slow > 0) {
        add(past_l2 ? traffic_.past_l2(event.route, region.start) : GmTraffic::cold(event.route), double(slow));
    }
    if (traffic.changed > 0) {
        traffic_.change(time, double(traffic.changed));
    }
    if (traffic.left > 0) {
        traffic_.leave(time, double(traffic.left));
    }
    // Writes do not wait for the room they take, reads do.
    const double debt = load && traffic.missed > 0 ? traffic_.settle_debt() : 0;
    if (debt > 0) {
        add(GmTraffic::write_back, debt);
    }
    start_part(time, number);
}

double GmTransfers::serve(double time, bool load, const Region& region)
{
    const uint32_t brings = load ? ++reads_ : 0;
    const Traffic traffic = load ? cache_.read(region, brings) : cache_.write(region);
    hbm_bytes += traffic.missed + traffic.left;
    cache_.arrived(brings);  // at the rate of HBM: its own cores do not wait for the link
    if (traffic.changed > 0) {
        traffic_.change(time, double(traffic.changed));
    }
    if (traffic.left > 0) {
        traffic_.leave(time, double(traffic.left));
    }
    return traffic.moved > 0 ? double(traffic.missed) / double(traffic.moved) : 0;
}

void GmTransfers::start_part(double time, uint32_t number)
{
    Transfer& transfer = transfers_[number];
    const Part part = transfer.parts[--transfer.left];
    traffic_.begin(time, part.lane, part.bytes, number);
}

bool GmTransfers::finish(Ended& ended)
{
    if (!due_.empty()) {
        const uint32_t number = due_.back();
        due_.pop_back();
        end(due_time_, number, ended);
        return true;
    }
    const double time = traffic_.next();
    const uint32_t number = traffic_.finish();
    Transfer& transfer = transfers_[number];
    if (transfer.left > 0) {
        start_part(time, number);
        return false;
    }
    if (cache_.arriving(transfer.brought_by)) {
        waiting_[transfer.brought_by].push_back(number);
        return false;
    }
    end(time, number, ended);
    return true;
}

void GmTransfers::end(double time, uint32_t number, Ended& ended)
{
    const Transfer& transfer = transfers_[number];
    ended = {transfer.owner, transfer.bytes, transfer.missed / transfer.bytes,
        std::max(0.0, time - transfer.began - transfer.alone), transfer.partial};
    cache_.arrived(transfer.brings);
    idle_.push_back(number);
    if (const auto found = waiting_.find(transfer.brings); found != waiting_.end()) {
        due_.insert(due_.end(), found->second.begin(), found->second.end());
        due_time_ = time;
        waiting_.erase(found);
    }
}

}  // namespace tile_simulator
