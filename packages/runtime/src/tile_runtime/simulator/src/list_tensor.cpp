// ListTensorDesc (kernel_operator_list_tensor_impl.h of CANN 9.0).
#include "ascend_c/list_tensor.h"

#include <cstring>

#include "instruction.h"
#include "launch.h"

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

// The buffer of GM that holds the list; an error if there is none.
const GlobalBuffer& buffer_of_list(uint64_t address, Use use)
{
    const GlobalBuffer* buffer = core_of(use).block.launch().buffers().find(address);
    if (buffer == nullptr) {
        raise("out-of-bounds", use,
            text_of("%s: data is address %#llx, which lies in no buffer of GM: pass the argument that holds the list",
                use.api, static_cast<unsigned long long>(address)));
    }
    return *buffer;
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

// Where the description of a tensor starts.
uint64_t description_of(const TensorList& list, uint32_t index)
{
    return list.address + (1 + index * words_of(list.dimensions)) * word_bytes;
}

// Elements of a tensor by its shape; 1 if the list has no shapes.
uint64_t elements_of(const TensorList& list, uint32_t index, Use use)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < list.dimensions; ++i) {
        const uint64_t size = read_word(description_of(list, index) + (1 + i) * word_bytes, use);
        const bool too_many = size != 0 && elements > UINT64_MAX / size;
        elements = too_many ? UINT64_MAX : elements * size;
    }
    return elements;
}

// Tells of a pointer that is no tensor of its shape. One without elements may point anywhere.
void check_pointer(const TensorList& list, uint64_t pointer, uint32_t index, uint64_t size, Use use)
{
    Core& core = core_of(use);
    const bool may_be_null = list.dimensions == 0;
    if (!core.device_checks || (pointer == 0 && may_be_null)) {
        return;
    }
    const uint64_t elements = elements_of(list, index, use);
    if (elements == 0) {
        return;
    }
    const GlobalBuffer* buffer = core.block.launch().buffers().find(pointer);
    if (buffer == nullptr) {
        return tell(core, "out-of-bounds", use,
            text_of("%s: pointer %u of the list is address %#llx, which lies in no buffer of GM: the list must hold "
                    "pointers of the device",
                use.api, index, static_cast<unsigned long long>(pointer)));
    }
    if (pointer % size != 0) {
        tell(core, "misaligned", use,
            text_of("%s: pointer %u of the list is byte %llu of GM buffer %s, where no element of %llu bytes may "
                    "start: is the element type right?",
                use.api, index, static_cast<unsigned long long>(pointer - buffer->begin), buffer->shown().c_str(),
                static_cast<unsigned long long>(size)));
    }
    if (elements > (buffer->end - pointer) / size) {
        tell(core, "out-of-bounds", use,
            text_of("%s: tensor %u of the list has %llu elements of %llu bytes, but GM buffer %s has %llu bytes from "
                    "its pointer on: is the element type right?",
                use.api, index, static_cast<unsigned long long>(elements), static_cast<unsigned long long>(size),
                buffer->shown().c_str(), static_cast<unsigned long long>(buffer->end - pointer)));
    }
}

}  // namespace

TensorList read_tensor_list(const void* data, uint32_t length, uint32_t count, Use use)
{
    constexpr uint32_t unchecked = 0xffffffff;
    TensorList list;
    list.address = reinterpret_cast<uint64_t>(data);
    const GlobalBuffer& buffer = buffer_of_list(list.address, use);
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
    if (distance > buffer.end - list.address) {
        raise("out-of-bounds", use,
            text_of("%s: the list says that its pointers begin at byte %llu, but its buffer %s has %llu bytes from "
                    "its start on",
                use.api, static_cast<unsigned long long>(distance), buffer.shown().c_str(),
                static_cast<unsigned long long>(buffer.end - list.address)));
    }
    list.count =
        repeats != 0 ? repeats : static_cast<uint32_t>(read_word(list.pointers - words * word_bytes, use) >> 32) + 1;
    const uint64_t described = (distance / word_bytes - 1) / words;
    if (list.dimensions != 0 && list.count != described) {
        raise("bad-argument", use,
            text_of("%s: the list says %u tensors, but there is room for %llu shapes of %u dimensions before its "
                    "pointers: every tensor needs its own",
                use.api, list.count, static_cast<unsigned long long>(described), list.dimensions));
    }
    if (list.count > (buffer.end - list.pointers) / word_bytes) {
        raise("out-of-bounds", use,
            text_of("%s: the list says %u tensors, but its buffer %s ends after %llu pointers", use.api, list.count,
                buffer.shown().c_str(), static_cast<unsigned long long>((buffer.end - list.pointers) / word_bytes)));
    }
    if (count != unchecked && length != unchecked &&
        (count != list.count || length != distance + list.count * word_bytes)) {
        raise("bad-argument", use,
            text_of("%s: length is %u and shapeSize %u, but the list has %u tensors in %llu bytes", use.api, length,
                count, list.count, static_cast<unsigned long long>(distance + list.count * word_bytes)));
    }
    return list;
}

uint64_t tensor_pointer(const TensorList& list, uint32_t index, uint64_t size, Use use)
{
    require_index(list, index, use);
    const uint64_t pointer = read_word(list.pointers + index * word_bytes, use);
    check_pointer(list, pointer, index, size, use);
    return pointer;
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
    const uint64_t described = description_of(list, index);
    const uint32_t dimensions = static_cast<uint32_t>(read_word(described, use));
    if (dimensions != list.dimensions) {
        raise("bad-argument", use,
            text_of("%s: tensor %u has %u dimensions, but the first has %u: a list has tensors of one rank",
                use.api, index, dimensions, list.dimensions));
    }
    read_words(described + word_bytes, list.dimensions, shape, use);
}

void require_dimension(uint32_t offset, uint32_t dimensions, bool has_shape, Use use)
{
    if (!has_shape || offset >= dimensions) {
        raise("bad-argument", use,
            text_of("%s: offset is %u, but the shape has %u dimensions%s", use.api, offset, has_shape ? dimensions : 0,
                has_shape && dimensions != 0 ? "" : ": call SetShapeAddr and GetDesc first"));
    }
}

}  // namespace tile_simulator
