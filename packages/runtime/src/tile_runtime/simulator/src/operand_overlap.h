// Overlaps of the destination and a source of one vector instruction that leave its result undefined.
//
// In one repeat the two must be the same bytes or share none; no repeat may read what an earlier one wrote (the
// vendor's page of general constraints, overlapping addresses). A repeat reads all its operands before it writes, so a
// result narrower than its source, or a cast within one repeat, may begin where the source does.
#pragma once

#include <vector>

#include "touched_bytes.h"
#include "vector_engine.h"

namespace tile_simulator {

// The bytes of one operand in every repeat: those of the first repeat, moved on by a stride.
struct RepeatedBytes {
    const char* name;
    std::vector<Run> runs;  // in ascending order; runs that touch are one
    std::vector<Run> last;  // of the last repeat, as if it were the first
    uint64_t stride;
    uint64_t repeats;
    bool lane_for_lane;  // each element takes part in the result of its own lane only
};

// The bytes of an operand that an instruction walks element by element.
RepeatedBytes repeated_bytes(const VectorOperand& operand, const Lanes& lanes);

// Reports operand-overlap if the instruction must not write `dst` while it reads `src`.
void check_overlap(Core& core, const RepeatedBytes& dst, const RepeatedBytes& src, bool may_read_results, Use use);

// Whether the bytes from the first to the last of a written and of a read operand meet: what is cheap to know first.
bool may_overlap(const Instruction& instruction);

// Checks the destination, which is the first operand, against every other one.
void check_overlaps(const Instruction& instruction, const VectorOperand* operands, int count, const Lanes& lanes);

// Reports operand-overlap for operands of which no byte may be shared.
void check_apart(Core& core, const char* dst, const std::vector<Run>& written, const char* src,
    const std::vector<Run>& read, Use use);

}  // namespace tile_simulator
