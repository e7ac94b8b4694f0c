// Tries room in front of buffers and longer rows on the vector instructions of a launch, and keeps what leaves the
// fewest bank conflicts. Where the operands of a launch lie is in vector_shapes.h, what conflicts cost in
// bank_conflicts.h.
#include "bank_padding.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <tuple>

namespace tile_simulator {
namespace {

constexpr uint64_t block_bytes = 32;
// Sixteen blocks further is the same group again.
constexpr uint64_t most_blocks = 15;
constexpr uint64_t most_row_blocks = 8;
// What is looked at: lines, operands of a line, and instructions while changes are compared. The cycles that are told
// count all instructions.
constexpr size_t most_lines = 8;
constexpr size_t most_places = 4;
constexpr size_t most_compared = 96;

// A buffer of UB, or the part of it from `at` on.
struct Place {
    Buffer buffer;
    uint64_t at;
    uint32_t element;
    bool operator<(const Place& other) const
    {
        return std::tie(at, buffer.begin, buffer.end) < std::tie(other.at, other.buffer.begin, other.buffer.end);
    }
};

// Room of `bytes` in front of a place, which moves whatever lies from there on; or, with a pitch, rows of the buffer
// that are longer by `bytes`, which moves what lies behind the buffer. Neither makes buffers overlap that did not.
struct Change {
    Place place;
    uint64_t pitch;
    uint64_t bytes;

    bool same_buffer(const Buffer& other) const
    {
        return other.begin == place.buffer.begin && other.end == place.buffer.end;
    }
    bool moves(const BankOperand& operand) const
    {
        if (pitch != 0) {
            return operand.buffer.begin >= place.buffer.end;
        }
        const bool inside = same_buffer(operand.buffer) && place.at > operand.buffer.begin;
        return inside ? operand.region.start >= place.at : operand.buffer.begin >= place.at;
    }
    // How much longer the buffer becomes.
    uint64_t growth() const
    {
        const uint64_t size = place.buffer.end - place.buffer.begin;
        return pitch == 0 ? bytes : (size + pitch - 1) / pitch * bytes;
    }
    // Changes `operand`, which lay at `before` without any change.
    void apply(const BankOperand& before, BankOperand& operand) const
    {
        if (moves(before)) {
            operand.region.start += growth();
        } else if (pitch != 0 && same_buffer(before.buffer)) {
            operand.region.start += (before.region.start - before.buffer.begin) / pitch * bytes;
            operand.region.inner_stride += before.region.inner_stride / pitch * bytes;
            operand.region.outer_stride += before.region.outer_stride / pitch * bytes;
        }
    }
};

using Changes = std::vector<Change>;
struct Cycles {
    uint64_t line = 0;  // at the line that is looked at
    uint64_t all = 0;
};

struct Line {
    const char* file;
    uint32_t number;
    uint64_t cycles;
};

bool is_at(const VectorShape& shape, const Line& line)
{
    return shape.at.line == line.number && std::strcmp(shape.at.file, line.file) == 0;
}

// Begin and end of a buffer, and of bytes of it that an instruction of any pipe touches.
using Touched = std::set<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>>;

class Search {
public:
    Search(const std::vector<BlockLogs>& logs, const TileTiming& timing) : issue_(uint64_t(timing.vector_issue))
    {
        VectorShapes merged;
        for (const BlockLogs& block : logs) {
            for (const TimeLog& core : block) {
                for (const VectorShape& shape : core.vector_shapes().all()) {
                    merged.add(shape);
                }
                for (const TileTimeAccess& access : core.accesses()) {
                    if (access.memory == uint8_t(Memory::ub)) {
                        touched_.emplace(access.buffer_begin, access.buffer_end, access.begin, access.end);
                    }
                }
            }
        }
        shapes_ = merged.all();
    }

    // Lines with conflicts, most cycles first.
    std::vector<Line> lines() const
    {
        std::map<std::pair<std::string, uint32_t>, Line> found;
        for (const VectorShape& shape : shapes_) {
            const uint64_t cycles = cost(shape, {});
            if (cycles > 0) {
                const Line fresh = {shape.at.file, shape.at.line, 0};
                found.try_emplace({shape.at.file, shape.at.line}, fresh).first->second.cycles += cycles;
            }
        }
        std::vector<Line> all;
        for (const auto& [place, line] : found) {
            all.push_back(line);
        }
        std::stable_sort(all.begin(), all.end(), [](const Line& a, const Line& b) { return a.cycles > b.cycles; });
        return all;
    }

    // The changes that leave the fewest cycles in all, of those that remove a quarter of them at the line; empty if
    // none does.
    Changes best(const Line& line)
    {
        compare_at(line);
        const std::vector<Place> places = places_of_line();
        std::vector<Changes> tried;
        for (const Place& place : places) {
            for (const Change& change : rooms(place)) {
                tried.push_back({change});
            }
            for (const Change& change : longer_rows(place)) {
                tried.push_back({change});
            }
        }
        Changes found = best_of(tried, {});
        const size_t single = tried.size();
        if (single == 0 || (!found.empty() && compared(found).line == 0)) {
            return found;
        }
        for (size_t i = 0; i < single; ++i) {
            for (size_t k = i + 1; k < single; ++k) {
                const Change one = tried[i][0];
                const Change two = tried[k][0];
                const bool apart = one.place < two.place || two.place < one.place;
                const bool one_found = !found.empty() && (is_same(one, found[0]) || is_same(two, found[0]));
                const bool alike = one.pitch == 0 ? two.pitch == 0 : two.pitch != 0 && one.bytes == two.bytes;
                if (apart && (alike || one_found) && fits({one, two})) {
                    tried.push_back({one, two});
                }
            }
        }
        tried.erase(tried.begin(), tried.begin() + std::ptrdiff_t(single));
        return best_of(tried, found);
    }

    Cycles cycles(const Line& line, const Changes& changes) const
    {
        Cycles sum;
        for (const VectorShape& shape : shapes_) {
            const uint64_t cycles = cost(shape, changes);
            sum.all += cycles;
            sum.line += is_at(shape, line) ? cycles : 0;
        }
        return sum;
    }

private:
    static bool is_same(const Change& one, const Change& two)
    {
        return one.pitch == two.pitch && one.bytes == two.bytes && !(one.place < two.place) && !(two.place < one.place);
    }

    uint64_t cost(const VectorShape& shape, const Changes& changes) const
    {
        uint64_t conflict = 0;
        if (changes.empty()) {
            conflict = bank_conflict_cycles(shape.operands, shape.passes);
        } else {
            changed_ = shape.operands;
            for (const Change& change : changes) {
                for (size_t i = 0; i < changed_.size(); ++i) {
                    change.apply(shape.operands[i], changed_[i]);
                }
            }
            conflict = bank_conflict_cycles(changed_, shape.passes);
        }
        return (std::max(issue_, shape.work + conflict) - std::max(issue_, shape.work)) * shape.count;
    }

    // Chooses the instructions on which changes are compared: of very many of the line, and of the others, some.
    void compare_at(const Line& line)
    {
        std::vector<const VectorShape*> groups[2];
        for (const VectorShape& shape : shapes_) {
            groups[is_at(shape, line) ? 0 : 1].push_back(&shape);
        }
        compared_.clear();
        for (const auto& group : groups) {
            const size_t step = group.size() / most_compared + 1;
            for (size_t i = 0; i < group.size(); i += step) {
                compared_.push_back({group[i], &group == &groups[0], step});
            }
        }
    }

    Cycles compared(const Changes& changes) const
    {
        Cycles sum;
        for (const Compared& one : compared_) {
            const uint64_t cycles = cost(*one.shape, changes) * one.weight;
            sum.all += cycles;
            sum.line += one.of_line ? cycles : 0;
        }
        return sum;
    }

    Changes best_of(const std::vector<Changes>& tried, Changes best) const
    {
        const Cycles before = compared({});
        uint64_t least = compared(best).all;
        for (const Changes& changes : tried) {
            const Cycles after = compared(changes);
            if (after.all < least && 4 * after.line <= 3 * before.line) {
                least = after.all;
                best = changes;
            }
        }
        return best;
    }

    // Where the operands begin that conflict at the line.
    std::vector<Place> places_of_line() const
    {
        std::map<std::tuple<std::string, uint32_t, uint32_t>, Place> lowest;
        for (const Compared& one : compared_) {
            if (!one.of_line || cost(*one.shape, {}) == 0) {
                continue;
            }
            for (const BankOperand& operand : one.shape->operands) {
                const Place place = {operand.buffer, operand.region.start, operand.element};
                const auto key = std::make_tuple(std::string(operand.name), operand.buffer.begin, operand.buffer.end);
                Place& known = lowest.try_emplace(key, place).first->second;
                known.at = std::min(known.at, place.at);
            }
        }
        std::set<Place> places;
        for (const auto& [key, place] : lowest) {
            if (place.buffer.end != 0 && places.size() < most_places) {
                places.insert(place);
            }
        }
        return {places.begin(), places.end()};
    }

    std::vector<Change> rooms(const Place& place) const
    {
        std::vector<Change> found;
        const bool apart = std::none_of(touched_.begin(), touched_.end(), [&](const auto& bytes) {
            const auto& [buffer_begin, buffer_end, begin, end] = bytes;
            return buffer_begin == place.buffer.begin && buffer_end == place.buffer.end && begin < place.at &&
                   place.at < end;
        });
        for (uint64_t blocks = 1; apart && blocks <= most_blocks; ++blocks) {
            const Change change = {place, 0, blocks * block_bytes};
            if (fits({change})) {
                found.push_back(change);
            }
        }
        return found;
    }

    // Rows of a buffer are as far apart as the blocks or repeats of an operand that leaves bytes out in between.
    std::vector<Change> longer_rows(const Place& place) const
    {
        std::set<uint64_t> pitches;
        const uint64_t size = place.buffer.end - place.buffer.begin;
        for (const Compared& one : compared_) {
            for (const BankOperand& operand : one.shape->operands) {
                if (operand.buffer.begin != place.buffer.begin || operand.buffer.end != place.buffer.end) {
                    continue;
                }
                const Region& region = operand.region;
                const uint64_t inner = (region.inner - 1) * region.inner_stride + region.run;
                const auto add = [&](uint64_t stride, uint64_t bytes) {
                    if (one.of_line && stride > bytes && stride % block_bytes == 0 && stride * 2 <= size) {
                        pitches.insert(stride);
                    }
                };
                if (region.inner > 1) {
                    add(region.inner_stride, std::max(region.run, block_bytes));
                }
                if (region.outer > 1) {
                    add(region.outer_stride, std::max(inner, block_bytes));
                }
            }
        }
        std::vector<Change> found;
        for (const uint64_t pitch : pitches) {
            for (uint64_t blocks = 1; blocks <= most_row_blocks; ++blocks) {
                const Place whole = {place.buffer, place.buffer.begin, place.element};
                const Change change = {whole, pitch, blocks * block_bytes};
                if (fits({change})) {
                    found.push_back(change);
                }
            }
        }
        return found;
    }

    // Whether everything still lies in UB. Of a buffer that is cut in two, what is touched counts.
    bool fits(const Changes& changes) const
    {
        uint64_t more = 0;
        for (const Change& change : changes) {
            more += change.growth();
        }
        const auto last = [&](const auto& bytes) {
            const auto& [buffer_begin, buffer_end, begin, end] = bytes;
            const auto cuts = [first = buffer_begin](const Change& change) {
                return change.place.buffer.begin == first && change.place.at > first;
            };
            const bool cut = std::any_of(changes.begin(), changes.end(), cuts);
            return cut ? end : std::max(buffer_end, end);
        };
        return std::all_of(touched_.begin(), touched_.end(),
            [&](const auto& bytes) { return last(bytes) + more <= memory_bytes[int(Memory::ub)]; });
    }

    struct Compared {
        const VectorShape* shape;
        bool of_line;
        uint64_t weight;
    };

    const uint64_t issue_;
    std::vector<VectorShape> shapes_;
    Touched touched_;
    std::vector<Compared> compared_;
    mutable std::vector<BankOperand> changed_;  // memory of cost()
};

uint32_t number_of(const char* text, std::vector<const char*>& strings)
{
    const char* const name = text != nullptr ? text : "";
    const auto found =
        std::find_if(strings.begin(), strings.end(), [&](const char* known) { return std::strcmp(known, name) == 0; });
    if (found != strings.end()) {
        return uint32_t(found - strings.begin());
    }
    strings.push_back(name);
    return uint32_t(strings.size() - 1);
}

}  // namespace

void find_bank_paddings(const std::vector<BlockLogs>& logs, const TileTiming& timing,
    std::vector<const char*>& strings, std::vector<TileBankPadding>& found, TileTimeline& timeline)
{
    found.clear();
    Search search(logs, timing);
    std::vector<Line> lines = search.lines();
    lines.resize(std::min(lines.size(), most_lines));
    for (const Line& line : lines) {
        const Changes changes = search.best(line);
        const Cycles before = search.cycles(line, {});
        const Cycles after = search.cycles(line, changes);
        TileBankPadding padding{};
        padding.cycles = double(before.line);
        padding.left = double(after.line);
        padding.elsewhere = double(after.all - after.line) - double(before.all - before.line);
        padding.file = number_of(line.file, strings);
        padding.line = line.number;
        for (size_t i = 0; i < changes.size(); ++i) {
            const Change& change = changes[i];
            const Where& made = change.place.buffer.made;
            padding.changes[i] = {number_of(made.file, strings), made.line, change.place.buffer.begin,
                uint32_t(change.place.at), uint32_t(change.pitch), uint32_t(change.bytes), change.place.element, 0};
        }
        found.push_back(padding);
    }
    timeline.paddings = found.data();
    timeline.padding_count = found.size();
    timeline.strings = strings.data();
    timeline.string_count = strings.size();
}

}  // namespace tile_simulator
