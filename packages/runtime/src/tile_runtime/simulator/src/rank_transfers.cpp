// Ranks, their memory as another one addresses it, and what the library moves there (vendor: shmem,
// src/device/gm2gm/engine/shmem_device_mte.hpp).
#include "shmem/transfer.h"

#include "instruction.h"
#include "launch.h"

namespace tile_simulator {

int rank_number()
{
    return static_cast<int>(core_of({"aclshmem_my_pe", {"", 0}}).block.rank());
}

int rank_count()
{
    return static_cast<int>(core_of({"aclshmem_n_pes", {"", 0}}).block.launch().ranks());
}

uint64_t remote_address(uint64_t address, int pe, Use use)
{
    const Core& core = core_of(use);
    const Launch& launch = core.block.launch();
    const auto ranks = static_cast<int>(launch.ranks());
    if (pe < 0 || pe >= ranks) {
        Fault fault = fault_of("peer-range", use, text_of("%s: pe is %d, but must be 0..%d", use.api, pe, ranks - 1));
        fault.hint = "take the rank modulo aclshmem_n_pes(), or leave the call out on the first and the last rank";
        throw FaultError{std::move(fault)};
    }
    if (pe == static_cast<int>(core.block.rank())) {
        return address;
    }
    const SymmetricMemory::Place place = launch.symmetric_memory().of_rank(address, core.block.rank());
    if (place.allocation == nullptr) {
        const GlobalBuffer* buffer = launch.buffers().find(address);
        const bool others = buffer != nullptr && buffer->symmetric;
        const char* why = others ? "which is another rank's already" : "which other ranks can not reach";
        Fault fault = fault_of("not-symmetric", use,
            buffer == nullptr ? text_of("%s: the address lies in no buffer of this launch", use.api)
                              : text_of("%s: the address lies in GM buffer %s, %s", use.api, buffer->shown().c_str(), why));
        fault.hint = others ? "give the address on this rank: the library translates it"
                            : "let it lie in symmetric memory, which all ranks allocate together";
        throw FaultError{std::move(fault)};
    }
    return place.allocation->bases[size_t(pe)] + place.offset;
}

void set_rank_scratch(uint64_t offset, uint32_t bytes, uint32_t event)
{
    core_of({"aclshmemx_set_mte_config", {"", 0}}).rank_scratch = {static_cast<uint32_t>(offset), bytes, event};
}

RankBuffer rank_buffer(Use use)
{
    const RankScratch& scratch = core_of(use).rank_scratch;
    return {scratch.offset, scratch.bytes, scratch.event};
}

uint32_t offset_in_ub(const void* pointer, Use use)
{
    Core& core = core_of(use);
    const LocalMemory& memory = core.memory(Memory::ub);
    const uint64_t address = reinterpret_cast<uint64_t>(pointer);
    const uint64_t base = reinterpret_cast<uint64_t>(memory.data());
    if (core.is_vector() && address - base < memory.bytes()) {
        return static_cast<uint32_t>(address - base);
    }
    if (core.is_vector() && address < memory.bytes()) {
        return static_cast<uint32_t>(address);  // a number, as on a device
    }
    raise("bad-argument", use, text_of("%s: the buffer is no address in UB", use.api));
}

void raise_no_fetch(Use use)
{
    Fault fault = fault_of("atomic-no-fetch", use,
        text_of("%s: between ranks of A2 and A3 an atomic adds and returns nothing: no previous value, no exchange, no "
                "comparison, and only int8, int16, int32, half, bfloat16 and float",
            use.api));
    fault.hint = "give each rank a slot of its own, or let the owner hand out numbers by signals";
    throw FaultError{std::move(fault)};
}

}  // namespace tile_simulator
