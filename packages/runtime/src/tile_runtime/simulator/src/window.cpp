// Parts of buffers that the compiler could not prove to lie inside, looked at while the kernel runs.
#include "ascend_c/window.h"

#include "core.h"
#include "fault.h"
#include "launch.h"

namespace tile_simulator {

Unobserved::Unobserved()
{
    if (current_core != nullptr) {
        current_core->unobserved = true;
    }
}

Unobserved::~Unobserved()
{
    if (current_core != nullptr) {
        current_core->unobserved = false;
    }
}

void check_window(const char* buffer, uint32_t dimension, int64_t offset, int64_t extent, int64_t size, Use use)
{
    if (!core_of(use).device_checks || extent <= 0 || (offset >= 0 && offset + extent <= size)) {
        return;
    }
    raise("out-of-bounds", use,
        text_of("elements [%lld, %lld) of dimension %u of `%s` are touched, which has %lld",
            static_cast<long long>(offset), static_cast<long long>(offset + extent), dimension, buffer,
            static_cast<long long>(size)));
}

void check_bytes(int64_t elements, uint32_t per_byte, Use use)
{
    if (core_of(use).device_checks && elements % per_byte != 0) {
        raise("odd-elements", use,
            text_of("a part starts or ends inside a byte: %lld elements of four bits are no whole bytes",
                static_cast<long long>(elements)));
    }
}

}  // namespace tile_simulator
