#include "gm_traffic.h"

#include <algorithm>
#include <limits>

namespace tile_simulator {

GmTraffic::GmTraffic(const TileTiming& timing)
    : hbm_(timing.hbm_bandwidth * 1e3 / timing.mhz), l2_(timing.l2_bandwidth * 1e3 / timing.mhz)
{
    const double limits[route_count] = {1, timing.gm_ub_rate, timing.gm_l1_rate, timing.ub_gm_rate, timing.l1_gm_rate,
        timing.l0c_gm_rate};
    classes_.resize(2 * route_count);
    for (int route = 0; route < route_count; ++route) {
        for (const int hbm : {0, 1}) {
            classes_[size_t(2 * route + hbm)].limit = limits[route];
            classes_[size_t(2 * route + hbm)].hbm = hbm != 0;
        }
    }
}

void GmTraffic::advance(double time)
{
    for (Class& each : classes_) {
        each.moved += each.rate * (time - now_);
    }
    now_ = time;
}

// The rate at which flows that could go faster share `capacity`, with all that go slower at their own rate.
double GmTraffic::fair_rate(double capacity, bool hbm_only) const
{
    double left = capacity;
    double flows = 0;
    for (const Class& each : classes_) {
        if (!hbm_only || each.hbm) {
            flows += double(each.flows.size());
        }
    }
    double share = std::numeric_limits<double>::infinity();
    // At most one class leaves the set per turn.
    std::vector<bool> slow(classes_.size(), false);
    while (flows > 0) {
        share = left / flows;
        bool changed = false;
        for (size_t i = 0; i < classes_.size(); ++i) {
            const Class& each = classes_[i];
            const double own = hbm_only ? each.limit : each.rate;
            if (!slow[i] && !each.flows.empty() && (!hbm_only || each.hbm) && own <= share) {
                slow[i] = changed = true;
                left -= own * double(each.flows.size());
                flows -= double(each.flows.size());
            }
        }
        if (!changed) {
            return share;
        }
    }
    return std::numeric_limits<double>::infinity();
}

void GmTraffic::share()
{
    const double from_hbm = fair_rate(hbm_, true);
    for (Class& each : classes_) {
        each.rate = each.hbm ? std::min(each.limit, from_hbm) : each.limit;
    }
    const double from_l2 = fair_rate(l2_, false);
    for (Class& each : classes_) {
        each.rate = std::min(each.rate, from_l2);
    }
}

void GmTraffic::begin(double time, Route route, bool from_hbm, double bytes, uint32_t id)
{
    advance(time);
    Class& each = classes_[size_t(2 * int(route) + (from_hbm ? 1 : 0))];
    if (each.flows.empty()) {
        each.moved = 0;  // keeps the clock small, and so exact
    }
    each.flows.push({each.moved + bytes, id});
    share();
}

double GmTraffic::next() const
{
    double first = std::numeric_limits<double>::infinity();
    for (const Class& each : classes_) {
        if (!each.flows.empty()) {
            first = std::min(first, now_ + std::max(0.0, each.flows.top().until - each.moved) / each.rate);
        }
    }
    return first;
}

uint32_t GmTraffic::finish()
{
    const double time = next();
    Class* done = nullptr;
    double best = std::numeric_limits<double>::infinity();
    for (Class& each : classes_) {
        if (!each.flows.empty()) {
            const double at = now_ + std::max(0.0, each.flows.top().until - each.moved) / each.rate;
            if (at < best) {
                best = at;
                done = &each;
            }
        }
    }
    const uint32_t id = done->flows.top().id;
    advance(time);
    done->flows.pop();
    share();
    return id;
}

}  // namespace tile_simulator
