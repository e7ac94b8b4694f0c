#include "fault.h"

#include <cstdarg>
#include <cstdio>

#include "launch.h"

namespace tile_simulator {

Fault fault_of(const char* kind, Use use, std::string text)
{
    Fault fault;
    if (current_core != nullptr && current_core->site.file != nullptr) {
        use.at = current_core->site;
    }
    fault.kind = kind;
    fault.text = std::move(text);
    fault.file = use.at.file != nullptr ? use.at.file : "";
    fault.line = use.at.line;
    fault.api = use.api != nullptr ? use.api : "";
    return fault;
}

void raise(const char* kind, Use use, std::string text)
{
    throw FaultError{fault_of(kind, use, std::move(text))};
}

void tell(Core& core, Fault fault)
{
    if (core.block.launch().options().first != 0) {
        throw FaultError{std::move(fault)};
    }
    core.block.launch().keep(core, std::move(fault));
}

void tell(Core& core, const char* kind, Use use, std::string text)
{
    tell(core, fault_of(kind, use, std::move(text)));
}

void warn_below_strict(Core& core, Fault fault)
{
    Launch& launch = core.block.launch();
    if (launch.options().checks >= TILE_CHECKS_STRICT) {
        tell(core, std::move(fault));
    } else if (!launch.warned(fault.kind.c_str(), fault.file.c_str(), fault.line, core.block.index())) {
        launch.warn(core, std::move(fault));
    }
}

std::string text_of(const char* format, ...)
{
    char buffer[1024];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(buffer, sizeof(buffer), format, arguments);
    va_end(arguments);
    return std::string(buffer, length < 0 ? 0 : (length < int(sizeof(buffer)) ? size_t(length) : sizeof(buffer) - 1));
}

const char* name_of(DataType type)
{
    static const char* const names[] = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
        "half", "bfloat16", "float", "int4", "an unknown type"};
    return names[static_cast<int>(type)];
}

// Of int4 a byte holds two.
uint32_t size_of(DataType type)
{
    static const uint32_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 1, 1};
    return sizes[static_cast<int>(type)];
}

}  // namespace tile_simulator
