// What a kernel's text says of the parts of a buffer that it touches: parts of a dimension lie inside it. Emitted code
// asks where the compiler could not tell; on a device nothing is asked.
#pragma once

#include "operand.h"

namespace tile_simulator {

// While it lives, the running core's loads of single elements take no time and order nothing.
class Unobserved {
public:
    Unobserved();
    ~Unobserved();
    Unobserved(const Unobserved&) = delete;
    Unobserved& operator=(const Unobserved&) = delete;
};

// `extent` elements from `offset` on, of `size` along a dimension of the buffer.
void check_window(const char* buffer, uint32_t dimension, int64_t offset, int64_t extent, int64_t size, Use use);

// An error: so many elements, of which `per_byte` share one, are no whole number of bytes.
void check_bytes(int64_t elements, uint32_t per_byte, Use use);

}  // namespace tile_simulator
