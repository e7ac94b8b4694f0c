#include "written_bytes.h"

#include <algorithm>

#include "bit_words.h"

namespace tile_simulator {
namespace {

constexpr uint64_t block_bytes = 32;

}  // namespace

WrittenBytes::WrittenBytes(const void* memory, uint64_t bytes)
    : memory_(static_cast<const uint8_t*>(memory)),
      bytes_(bytes),
      words_(std::make_unique<std::atomic<uint64_t>[]>(bytes / 64 + 1))
{
}

void WrittenBytes::mark(uint64_t begin, uint64_t end)
{
    for_words(begin, end, [this](uint64_t word, uint64_t bits) {
        std::atomic<uint64_t>& at = words_[word];
        if ((at.load(std::memory_order_relaxed) & bits) != bits) {
            at.fetch_or(bits, std::memory_order_relaxed);
        }
        return true;
    });
}

uint64_t WrittenBytes::unwritten(uint64_t begin, uint64_t end) const
{
    uint64_t found = 0;
    for_words(begin / block_bytes * block_bytes, (end + block_bytes - 1) / block_bytes * block_bytes,
        [&](uint64_t word, uint64_t bits) {
            const uint64_t written = words_[word].load(std::memory_order_relaxed);
            for (uint64_t half = 0; half < 64; half += block_bytes) {
                const uint64_t block = 0xffffffffull << half;
                const uint64_t at = word * 64 + half;
                if ((bits & block) != 0 && (written & block) == 0 && !changed(at, at + block_bytes)) {
                    found += std::min(end, at + block_bytes) - std::max(begin, at);
                }
            }
            return true;
        });
    return found;
}

bool WrittenBytes::all(uint64_t begin, uint64_t end) const
{
    return for_words(begin, end,
        [this](uint64_t word, uint64_t bits) { return (words_[word].load(std::memory_order_relaxed) & bits) == bits; });
}

bool WrittenBytes::changed(uint64_t begin, uint64_t end) const
{
    constexpr uint8_t unwritten_byte = 0xFF;
    return std::any_of(
        memory_ + begin, memory_ + std::min(end, bytes_), [](uint8_t byte) { return byte != unwritten_byte; });
}

WrittenBytes::Gaps WrittenBytes::gaps(uint64_t element_bytes) const
{
    Gaps gaps;
    if (all(0, bytes_)) {
        return gaps;
    }
    for (uint64_t element = 0; (element + 1) * element_bytes <= bytes_; ++element) {
        const uint64_t begin = element * element_bytes;
        const uint64_t end = begin + element_bytes;
        if (all(begin, end) || changed(begin, end)) {
            continue;
        }
        if (gaps.count == 0) {
            gaps.first = gaps.end = element;
        }
        gaps.end += gaps.end == element ? 1 : 0;
        ++gaps.count;
    }
    return gaps;
}

}  // namespace tile_simulator
