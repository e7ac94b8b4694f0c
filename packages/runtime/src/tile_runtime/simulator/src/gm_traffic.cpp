#include "gm_traffic.h"

#include <algorithm>
#include <limits>

namespace tile_simulator {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

}  // namespace

GmTraffic::GmTraffic(const TileTiming& timing)
    : hbm_(timing.hbm_bandwidth * 1e3 / timing.mhz),
      l2_(timing.l2_bandwidth * 1e3 / timing.mhz),
      line_(timing.same_line_rate),
      write_weight_(timing.hbm_bandwidth / timing.hbm_write_bandwidth),
      lanes_(write_back + 3)
{
    const auto set = [&](Lane lane, double limit, bool hbm) {
        lanes_[lane].limit = limit;
        lanes_[lane].hbm = hbm;
    };
    set(in_l2(Route::gm_ub), timing.gm_ub_rate, false);
    set(cold(Route::gm_ub), timing.gm_ub_cold_rate, true);
    set(in_l2(Route::gm_l1), timing.gm_l1_rate, false);
    set(cold(Route::gm_l1), timing.gm_l1_cold_rate, true);
    set(arriving(Route::gm_ub), timing.gm_ub_cold_rate, false);
    set(arriving(Route::gm_l1), timing.gm_l1_cold_rate, false);
    // Stores end in L2, whether the line was there or not.
    set(in_l2(Route::ub_gm), timing.ub_gm_rate, false);
    set(cold(Route::ub_gm), timing.ub_gm_new_rate, false);
    for (const Lane lane : {in_l2(Route::l1_gm), cold(Route::l1_gm)}) {
        set(lane, timing.l1_gm_rate, false);
    }
    for (const Lane lane : {in_l2(Route::l0c_gm), cold(Route::l0c_gm)}) {
        set(lane, timing.l0c_gm_rate, false);
    }
    set(write_back, hbm_, true);
}

GmTraffic::Lane GmTraffic::past_l2(Route route, uint64_t address)
{
    const auto [entry, fresh] = past_l2_.try_emplace({route, address}, Lane(lanes_.size()));
    if (fresh) {
        if (idle_lanes_.empty()) {
            lanes_.emplace_back();
        } else {
            entry->second = idle_lanes_.back();
            idle_lanes_.pop_back();
        }
        Flows& lane = lanes_[entry->second];
        lane.limit = lanes_[cold(route)].limit;
        lane.hbm = lane.one_line = true;
        lane.asked_for = entry->first;
    }
    return entry->second;
}

double GmTraffic::own_rate(const Flows& lane) const
{
    return lane.one_line ? std::min(lane.limit, line_ / double(lane.flows.size())) : lane.limit;
}

double GmTraffic::alone(Lane lane, double bytes) const
{
    return bytes / lanes_[lane].limit;
}

void GmTraffic::advance(double time)
{
    const double passed = std::max(0.0, time - now_);
    for (Flows& lane : lanes_) {
        lane.moved += lane.rate * passed;
    }
    const double idle = std::clamp((hbm_ - hbm_others_ - hbm_used_) * passed, 0.0, changed_);
    changed_ -= idle;
    ahead_ += idle;
    now_ = std::max(now_, time);
}

void GmTraffic::change(double time, double bytes)
{
    advance(time);
    changed_ += bytes * write_weight_;
}

void GmTraffic::leave(double time, double bytes)
{
    advance(time);
    ahead_ -= bytes * write_weight_;
}

void GmTraffic::serve_others(double time, double hbm, double l2)
{
    constexpr double most = 0.9;  // its own cores never come to a stop
    advance(time);
    hbm_others_ = std::min(hbm, most * hbm_);
    l2_others_ = std::min(l2, most * l2_);
    share();
}

double GmTraffic::settle_debt()
{
    const double debt = std::max(0.0, -ahead_);
    ahead_ += debt;
    changed_ = std::max(0.0, changed_ - debt);
    return debt;
}

double GmTraffic::owed(double time)
{
    advance(time);
    return changed_ / write_weight_;
}

// The rate at which transfers that could go faster share `capacity`, with all that go slower at their own rate.
double GmTraffic::fair_rate(double capacity, bool hbm_only)
{
    double left = capacity;
    double flows = 0;
    for (const Flows& lane : lanes_) {
        flows += lane.hbm || !hbm_only ? double(lane.flows.size()) : 0;
    }
    own_.resize(lanes_.size());
    for (size_t i = 0; i < lanes_.size(); ++i) {
        const bool counts = !lanes_[i].flows.empty() && (lanes_[i].hbm || !hbm_only);
        own_[i] = !counts ? never : hbm_only ? own_rate(lanes_[i]) : lanes_[i].rate;
    }
    while (flows > 0) {
        const double share = left / flows;
        bool changed = false;
        for (size_t i = 0; i < lanes_.size(); ++i) {
            if (own_[i] <= share) {
                changed = true;
                left -= own_[i] * double(lanes_[i].flows.size());
                flows -= double(lanes_[i].flows.size());
                own_[i] = never;
            }
        }
        if (!changed) {
            return share;
        }
    }
    return never;
}

void GmTraffic::share()
{
    const double from_hbm = fair_rate(hbm_ - hbm_others_, true);
    for (Flows& lane : lanes_) {
        lane.rate = lane.flows.empty() ? 0 : lane.hbm ? std::min(own_rate(lane), from_hbm) : own_rate(lane);
    }
    const double from_l2 = fair_rate(l2_ - l2_others_, false);
    hbm_used_ = 0;
    for (Flows& lane : lanes_) {
        lane.rate = std::min(lane.rate, from_l2);
        hbm_used_ += lane.hbm ? lane.rate * double(lane.flows.size()) : 0;
    }
}

void GmTraffic::begin(double time, Lane number, double bytes, uint32_t id)
{
    advance(time);
    Flows& lane = lanes_[number];
    if (lane.flows.empty()) {
        lane.moved = 0;  // keeps the clock small, and so exact
    }
    lane.flows.push({lane.moved + bytes, id});
    share();
}

double GmTraffic::end_of_first(const Flows& lane) const
{
    return lane.flows.empty() ? never : now_ + std::max(0.0, lane.flows.top().until - lane.moved) / lane.rate;
}

double GmTraffic::next() const
{
    double first = never;
    for (const Flows& lane : lanes_) {
        first = std::min(first, end_of_first(lane));
    }
    return first;
}

uint32_t GmTraffic::finish()
{
    size_t done = 0;
    double time = never;
    for (size_t i = 0; i < lanes_.size(); ++i) {
        const double end = end_of_first(lanes_[i]);
        if (end < time) {
            time = end;
            done = i;
        }
    }
    advance(time);
    Flows& lane = lanes_[done];
    const uint32_t id = lane.flows.top().id;
    lane.flows.pop();
    if (lane.one_line && lane.flows.empty()) {
        past_l2_.erase(lane.asked_for);
        idle_lanes_.push_back(Lane(done));
    }
    share();
    return id;
}

}  // namespace tile_simulator
