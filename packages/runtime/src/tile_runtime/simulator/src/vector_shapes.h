// The vector instructions of a core of a timed launch, each kind of them once: what bank_padding.cpp tries changes on.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "bank_conflicts.h"

namespace tile_simulator {

struct VectorShape {
    Where at;
    uint64_t work;  // cycles without conflicts
    uint64_t passes;
    std::vector<BankOperand> operands;
    uint64_t count = 1;  // instructions that are like this one
};

class VectorShapes {
public:
    void add(VectorShape shape);
    void clear();
    const std::vector<VectorShape>& all() const { return shapes_; }

private:
    std::vector<VectorShape> shapes_;
    std::map<std::vector<uint64_t>, size_t> known_;
    // The latest shape of each line: it stands for further ones of the line when there are very many.
    std::map<std::pair<const char*, uint32_t>, size_t> latest_;
};

}  // namespace tile_simulator
