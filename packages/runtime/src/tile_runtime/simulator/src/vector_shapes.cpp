#include "vector_shapes.h"

namespace tile_simulator {
namespace {

constexpr size_t most_shapes = 4096;

uint64_t number_of(const void* pointer)
{
    return reinterpret_cast<uint64_t>(pointer);
}

// Everything but the count, as numbers.
std::vector<uint64_t> key_of(const VectorShape& shape)
{
    std::vector<uint64_t> key = {number_of(shape.at.file), shape.at.line, shape.work, shape.passes};
    key.reserve(key.size() + shape.operands.size() * 13);
    for (const BankOperand& operand : shape.operands) {
        const Region& region = operand.region;
        const Buffer& buffer = operand.buffer;
        key.insert(key.end(),
            {number_of(operand.name), uint64_t(operand.write), operand.element, region.start, region.run, region.inner,
                region.inner_stride, region.outer, region.outer_stride, number_of(buffer.made.file), buffer.made.line,
                buffer.begin, buffer.end});
    }
    return key;
}

}  // namespace

void VectorShapes::add(VectorShape shape)
{
    if (shape.operands.empty()) {
        return;
    }
    size_t& latest = latest_.try_emplace({shape.at.file, shape.at.line}, shapes_.size()).first->second;
    if (shapes_.size() >= most_shapes && latest < shapes_.size()) {
        shapes_[latest].count += shape.count;
        return;
    }
    const auto [entry, fresh] = known_.try_emplace(key_of(shape), shapes_.size());
    latest = entry->second;
    if (fresh) {
        shapes_.push_back(std::move(shape));
    } else {
        shapes_[latest].count += shape.count;
    }
}

void VectorShapes::clear()
{
    shapes_.clear();
    known_.clear();
    latest_.clear();
}

}  // namespace tile_simulator
