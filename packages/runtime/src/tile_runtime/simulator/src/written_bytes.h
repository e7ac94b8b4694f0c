// Which bytes of a GM buffer were written since it was allocated: by any block, on any host thread. All of them were
// 0xFF then: where one is not, somebody has written it through a pointer that no API sees.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace tile_simulator {

class WrittenBytes {
public:
    WrittenBytes(const void* memory, uint64_t bytes);

    // Bytes [begin, end) from the start of the buffer.
    void mark(uint64_t begin, uint64_t end);
    // The bytes of [begin, end) that lie in blocks of 32 of which nothing was written. Copies move whole blocks, so what
    // stands beside a written byte of a block is nobody's business.
    uint64_t unwritten(uint64_t begin, uint64_t end) const;

    // Elements of which a byte was never written: how many, and the first run of them.
    struct Gaps {
        uint64_t count = 0;
        uint64_t first = 0;
        uint64_t end = 0;
    };
    Gaps gaps(uint64_t element_bytes) const;

private:
    bool all(uint64_t begin, uint64_t end) const;
    bool changed(uint64_t begin, uint64_t end) const;

    const uint8_t* const memory_;
    const uint64_t bytes_;
    std::unique_ptr<std::atomic<uint64_t>[]> words_;  // a bit per byte
};

}  // namespace tile_simulator
