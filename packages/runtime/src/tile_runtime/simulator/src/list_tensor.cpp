// ListTensorDesc (kernel_operator_list_tensor_impl.h of CANN 9.0).
#include "ascend_c/list_tensor.h"

#include <cstring>

#include "instruction.h"

namespace tile_simulator {
namespace {

constexpr uint64_t word_bytes = sizeof(uint64_t);

// Words of the list, which the host wrote: they are read as tiling data is.
void read_words(uint64_t address, uint64_t count, uint64_t* words, Use use)
{
    Instruction instruction(core_of(use), Pipe::s, use);
    const int from = instruction.global(
        "the list", false, {address, DataType::u64, address}, Region::bytes(address, count * word_bytes));
    instruction.issue();
    std::memcpy(words, instruction.data(from), count * word_bytes);
}

uint64_t read_word(uint64_t address, Use use)
{
    uint64_t word = 0;
    read_words(address, 1, &word, use);
    return word;
}

// Words between one tensor's description and the next's; without dimensions there is a filler.
uint64_t words_of(uint32_t dimensions)
{
    return dimensions == 0 ? 2 : 1 + uint64_t(dimensions);
}

void require_index(const TensorList& list, uint32_t index, Use use)
{
    if (index >= list.count) {
        raise("bad-argument", use,
            text_of("%s: index is %u, but the list has %u tensors", use.api, index, list.count));
    }
}

}  // namespace

TensorList read_tensor_list(const void* data, uint32_t length, uint32_t count, Use use)
{
    constexpr uint32_t unchecked = 0xffffffff;
    TensorList list;
    list.address = reinterpret_cast<uint64_t>(data);
    const uint64_t distance = read_word(list.address, use);
    const uint64_t first = read_word(list.address + word_bytes, use);
    list.dimensions = static_cast<uint32_t>(first);
    const uint64_t words = words_of(list.dimensions);
    list.pointers = list.address + distance;
    const uint32_t repeats = static_cast<uint32_t>(first >> 32);
    const bool shaped = distance % word_bytes == 0 && distance / word_bytes > words;
    if (!shaped) {
        raise("bad-argument", use,
            text_of("%s: the list says that its pointers begin at byte %llu, but its first tensor has %u dimensions",
                use.api, static_cast<unsigned long long>(distance), list.dimensions));
    }
    list.count =
        repeats != 0 ? repeats : static_cast<uint32_t>(read_word(list.pointers - words * word_bytes, use) >> 32) + 1;
    if (count != unchecked && length != unchecked &&
        (count != list.count || length != distance + list.count * word_bytes)) {
        raise("bad-argument", use,
            text_of("%s: length is %u and shapeSize %u, but the list has %u tensors in %llu bytes", use.api, length,
                count, list.count, static_cast<unsigned long long>(distance + list.count * word_bytes)));
    }
    return list;
}

uint64_t tensor_pointer(const TensorList& list, uint32_t index, Use use)
{
    require_index(list, index, use);
    return read_word(list.pointers + index * word_bytes, use);
}

void tensor_shape(const TensorList& list, uint32_t index, uint64_t* shape, Use use)
{
    require_index(list, index, use);
    if (list.dimensions == 0) {
        raise("bad-argument", use, text_of("%s: the list has no shapes", use.api));
    }
    if (shape == nullptr) {
        raise("bad-argument", use,
            text_of("%s: the TensorDesc has no memory for the shape: call SetShapeAddr first", use.api));
    }
    constexpr uint32_t most_dimensions = 25;
    if (list.dimensions > most_dimensions) {
        raise("bad-argument", use, text_of("%s: the list says %u dimensions", use.api, list.dimensions));
    }
    read_words(list.address + (1 + index * words_of(list.dimensions) + 1) * word_bytes, list.dimensions, shape, use);
}

}  // namespace tile_simulator
