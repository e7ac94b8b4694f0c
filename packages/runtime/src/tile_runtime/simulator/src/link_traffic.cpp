#include "link_traffic.h"

#include <algorithm>
#include <limits>

namespace tile_simulator {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
// Rates that differ by rounding alone.
constexpr double hardly_more = 1 + 1e-9;

}  // namespace

LinkTraffic::LinkTraffic(const TileTiming& timing, uint32_t ranks)
    : timing_(timing), ranks_(ranks), topology_(TileTopology(int(timing.topology))), next_(never), loads_(ranks)
{
    // A link for each pair, and a way out of and into each device.
    free_.resize(size_t(ranks) * ranks + 2 * ranks);
    asked_.resize(free_.size());
    for (uint32_t source = 0; source < ranks; ++source) {
        for (uint32_t target = 0; target < ranks; ++target) {
            links_.push_back({source, target, 0, 0, 0, 0});
        }
    }
}

// Whether two devices are of one server.
bool LinkTraffic::near(uint32_t source, uint32_t target) const
{
    const uint32_t server = (ranks_ + 1) / 2;
    return topology_ != TILE_TOPOLOGY_TWO_SERVERS || source / server == target / server;
}

// The devices a transfer comes through, its own ends among them.
std::vector<uint32_t> LinkTraffic::hops(uint32_t source, uint32_t target) const
{
    if (source == target) {
        return {source};
    }
    if (topology_ != TILE_TOPOLOGY_RING) {
        return {source, target};
    }
    const uint32_t ahead = (target + ranks_ - source) % ranks_;
    const uint32_t step = 2 * ahead <= ranks_ ? 1 : ranks_ - 1;
    std::vector<uint32_t> all = {source};
    while (all.back() != target) {
        all.push_back((all.back() + step) % ranks_);
    }
    return all;
}

std::vector<LinkTraffic::Use> LinkTraffic::way_of(const Kind& kind) const
{
    if (kind.source == kind.target) {
        return {};
    }
    const auto part = [&](double bandwidth) { return timing_.mhz / (bandwidth * 1e3); };  // of GB/s
    const auto link = [&](uint32_t from, uint32_t to) { return from * ranks_ + to; };
    const uint32_t out = ranks_ * ranks_ + kind.source;
    const uint32_t in = ranks_ * ranks_ + ranks_ + kind.target;
    if (!near(kind.source, kind.target)) {
        const double all = part(timing_.network_bandwidth);
        return {{out, all}, {in, all}};
    }
    const double one = part(kind.load ? timing_.link_read_bandwidth : timing_.link_write_bandwidth);
    std::vector<Use> way;
    const std::vector<uint32_t> devices = hops(kind.source, kind.target);
    for (size_t i = 1; i < devices.size(); ++i) {
        way.push_back({link(devices[i - 1], devices[i]), one});
    }
    if (topology_ == TILE_TOPOLOGY_MESH) {
        way.push_back({out, one / timing_.link_ports});
        way.push_back({in, one / timing_.link_ports});
    }
    return way;
}

double LinkTraffic::latency(uint32_t source, uint32_t target, bool load) const
{
    const double one = load ? timing_.link_load_us : timing_.link_store_us;
    const double us = near(source, target) ? one * double(hops(source, target).size() - 1) : timing_.network_us;
    return us * timing_.mhz;
}

// Over the network the latency runs while bytes are under way (HIXL over RoCE).
double LinkTraffic::arrival(const Kind& kind, double begin, double end) const
{
    if (kind.engine) {
        return end + timing_.sdma_us * timing_.mhz;
    }
    const double on_the_way = latency(kind.source, kind.target, kind.load);
    return near(kind.source, kind.target) ? end + on_the_way : std::max(end, begin + on_the_way);
}

void LinkTraffic::count_signal(uint32_t source, uint32_t target)
{
    ++links_[source * ranks_ + target].signals;
}

std::vector<TileLinkTime> LinkTraffic::links() const
{
    std::vector<TileLinkTime> used;
    std::copy_if(links_.begin(), links_.end(), std::back_inserter(used),
        [](const TileLinkTime& link) { return link.bytes > 0 || link.signals > 0; });
    return used;
}

void LinkTraffic::advance(double time)
{
    const double passed = std::max(0.0, time - now_);
    std::vector<double*> busy;
    for (Flows* each : active_) {
        each->moved += each->rate * passed;
        const std::vector<uint32_t> devices = hops(each->kind.source, each->kind.target);
        for (size_t i = 1; i < devices.size(); ++i) {
            busy.push_back(&links_[devices[i - 1] * ranks_ + devices[i]].busy_cycles);
        }
    }
    std::sort(busy.begin(), busy.end());
    busy.erase(std::unique(busy.begin(), busy.end()), busy.end());
    for (double* link : busy) {
        *link += passed;
    }
    now_ = std::max(now_, time);
}

// Sums anew what those not settled yet ask for, so that rounding leaves nothing behind; false if all are.
bool LinkTraffic::ask()
{
    bool any = false;
    std::fill(asked_.begin(), asked_.end(), 0.0);
    for (const Flows* each : active_) {
        for (const Use& use : each->way) {
            asked_[use.resource] += each->settled ? 0 : use.part * double(each->flows.size());
        }
        any = any || !each->settled;
    }
    return any;
}

// The rate that all transfers not settled yet could have.
double LinkTraffic::common_rate() const
{
    double rate = never;
    for (size_t i = 0; i < free_.size(); ++i) {
        rate = asked_[i] > 0 ? std::min(rate, std::max(0.0, free_[i]) / asked_[i]) : rate;
    }
    for (const Flows* each : active_) {
        rate = each->settled ? rate : std::min(rate, each->kind.limit);
    }
    return rate;
}

// Settles at a rate all that can not go faster.
void LinkTraffic::settle_at(double rate)
{
    std::vector<bool> full(free_.size());
    for (size_t i = 0; i < free_.size(); ++i) {
        full[i] = asked_[i] > 0 && free_[i] <= rate * asked_[i] * hardly_more;
    }
    for (Flows* each : active_) {
        const auto held = [&](const Use& use) { return full[use.resource]; };
        if (each->settled ||
            (each->kind.limit > rate * hardly_more && std::none_of(each->way.begin(), each->way.end(), held))) {
            continue;
        }
        each->settled = true;
        each->rate = rate;
        for (const Use& use : each->way) {
            const double asked = use.part * double(each->flows.size());
            free_[use.resource] -= asked * rate;
        }
    }
}

void LinkTraffic::share()
{
    std::fill(free_.begin(), free_.end(), 1.0);
    for (Flows* each : active_) {
        each->settled = false;
    }
    while (ask()) {
        settle_at(common_rate());
    }
    std::fill(loads_.begin(), loads_.end(), Load{});
    next_ = never;
    for (const Flows* each : active_) {
        const double all = each->rate * double(each->flows.size());
        // A core has the other side in its own memory on chip.
        loads_[each->kind.source].l2 += each->kind.load || each->kind.engine ? all : 0;
        loads_[each->kind.target].l2 += !each->kind.load || each->kind.engine ? all : 0;
        loads_[each->kind.source].hbm += each->kind.load || each->kind.engine ? each->rate * each->from_hbm : 0;
        next_ = std::min(next_, now_ + std::max(0.0, each->flows.top().until - each->moved) / each->rate);
    }
}

void LinkTraffic::begin(double time, const Kind& kind, double bytes, double from_hbm, uint64_t owner)
{
    advance(time);
    const auto [entry, fresh] = kinds_.try_emplace(kind);
    Flows& flows = entry->second;
    if (fresh) {
        flows.kind = kind;
        flows.way = way_of(kind);
        flows.alone = kind.limit;
        for (const Use& use : flows.way) {
            flows.alone = std::min(flows.alone, use.part > 0 ? 1 / use.part : never);
        }
    }
    if (flows.flows.empty()) {
        flows.moved = flows.from_hbm = 0;  // keeps the clock small, and so exact
        active_.push_back(&flows);
    }
    flows.flows.push({flows.moved + bytes, owner, time, bytes, from_hbm});
    flows.from_hbm += from_hbm;
    const std::vector<uint32_t> devices = hops(kind.source, kind.target);
    for (size_t i = 1; i < devices.size(); ++i) {
        TileLinkTime& link = links_[devices[i - 1] * ranks_ + devices[i]];
        link.bytes += uint64_t(bytes);
        link.least_cycles += bytes * flows.way.front().part;
    }
    share();
}

LinkTraffic::Ended LinkTraffic::finish()
{
    const double time = next_;
    Flows* first = nullptr;
    double end = never;
    for (Flows* each : active_) {
        const double own = now_ + std::max(0.0, each->flows.top().until - each->moved) / each->rate;
        if (own < end) {
            end = own;
            first = each;
        }
    }
    advance(time);
    const Flow flow = first->flows.top();
    first->flows.pop();
    first->from_hbm -= flow.from_hbm;
    if (first->flows.empty()) {
        active_.erase(std::find(active_.begin(), active_.end(), first));
    }
    share();
    return {flow.owner, first->kind, flow.bytes,
        std::max(0.0, time - flow.began - flow.bytes / first->alone)};
}

}  // namespace tile_simulator
