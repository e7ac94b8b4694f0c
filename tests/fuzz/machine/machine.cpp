// A kernel that runs other kernels: an interpreter of the flat programs that assemble.py makes of final IR. What
// emitted code would call, it calls, at the same point of the run; so no kernel has to be compiled.
//
// A program is an array of 64-bit words: start of the cube and of the vector part (or -1), number of constants, of
// scalar parameters, where the constants and the parameters of set 0 stand, blocks of the kernel, bytes from one set's
// share of each tensor to the next, then code. Code is opcode, statement number, arguments. A set of arguments has as
// many neighbouring blocks of the launch as the kernel has.
#include "kernel_operator.h"
#include "tile_device.h"

#include <cstring>

#include "flag_clocks.h"

namespace fuzz {

enum class Code : int64_t {
#define OPERATION(name, form) name,
#include "operations.def"
#undef OPERATION
};
constexpr int words_in(const char* form)
{
    int words = 0;
    for (; *form != '\0'; ++form) {
        words += *form == 't' ? 3 : 1;
    }
    return words;
}
constexpr int words_of[] = {
#define OPERATION(name, form) words_in(form),
#include "operations.def"
#undef OPERATION
};

constexpr int tensors = 24;
constexpr int registers = 2048;
constexpr int fixed_words = 7;
constexpr int cores = 3;  // of a block: cube, vector 0, vector 1
enum class Type : int64_t { float32, int32, float16 };
enum class Operator : int64_t { add, sub, mul, div, mod, min, max, lt, le, gt, ge, eq, ne, bits_and, abs, relu, axpy,
    mul_add_dst };

// What the run of one core of a block leaves besides its tensors.
struct Report {
    int64_t early_set;  // statement that may set a flag which is still up, or 0
    int64_t length;     // words the trace takes, which may be more than there is room for
};

float as_float(int64_t value)
{
    float result;
    const int32_t low = static_cast<int32_t>(value);
    std::memcpy(&result, &low, sizeof(result));
    return result;
}

int64_t from_float(float value)
{
    int32_t low;
    std::memcpy(&low, &value, sizeof(low));
    return low;
}

template <class T>
T typed(int64_t value)
{
    if constexpr (std::is_same_v<T, int32_t>) {
        return static_cast<int32_t>(value);
    } else {
        return static_cast<T>(as_float(value));
    }
}

template <class T>
int64_t bits_of(T value)
{
    if constexpr (std::is_same_v<T, int32_t>) {
        return value;
    } else {
        return from_float(static_cast<float>(value));
    }
}

struct Memories {
    AscendC::TBuf<AscendC::TPosition::A2> l0a;
    AscendC::TBuf<AscendC::TPosition::B2> l0b;
    AscendC::TBuf<AscendC::TPosition::A1> l1;
    AscendC::TBuf<AscendC::TPosition::CO1> l0c;
    AscendC::TBuf<AscendC::TPosition::VECCALC> ub;
};

AscendC::HardEvent event(int64_t source, int64_t target)
{
#define PAIR(a, an, b, bn) \
    if (source == an && target == bn) return AscendC::HardEvent::a##_##b;
    PAIR(S, 0, V, 1) PAIR(S, 0, MTE2, 4) PAIR(S, 0, MTE3, 5)
    PAIR(V, 1, S, 0) PAIR(V, 1, MTE2, 4) PAIR(V, 1, MTE3, 5)
    PAIR(MTE2, 4, S, 0) PAIR(MTE2, 4, V, 1) PAIR(MTE2, 4, MTE3, 5)
    PAIR(MTE3, 5, S, 0) PAIR(MTE3, 5, V, 1) PAIR(MTE3, 5, MTE2, 4)
    PAIR(M, 2, MTE1, 3) PAIR(MTE1, 3, M, 2) PAIR(M, 2, MTE2, 4) PAIR(MTE2, 4, M, 2) PAIR(M, 2, FIX, 6)
    PAIR(FIX, 6, M, 2) PAIR(MTE1, 3, MTE2, 4) PAIR(MTE2, 4, MTE1, 3) PAIR(MTE1, 3, MTE3, 5)
    PAIR(MTE3, 5, MTE1, 3) PAIR(MTE1, 3, FIX, 6) PAIR(FIX, 6, MTE1, 3) PAIR(FIX, 6, S, 0) PAIR(M, 2, S, 0)
    PAIR(MTE2, 4, FIX, 6) PAIR(FIX, 6, MTE2, 4) PAIR(FIX, 6, MTE3, 5)
#undef PAIR
    return AscendC::HardEvent::MAX;
}

class Machine {
public:
    Machine(const int64_t* program, uint8_t* const* gm, Report* report, int64_t* trace, int64_t room)
        : program_(program), gm_(gm), report_(report), trace_(trace), room_(room)
    {
    }

    void run(Memories& memories, int64_t start, int64_t block, int64_t lane)
    {
        set_ = block / program_[6];
        block_ = block % program_[6];
        lane_ = lane;
        const int64_t constants = program_[2];
        const int64_t parameters = program_[3];
        std::memset(values_, 0, sizeof(values_));
        std::memcpy(values_, program_ + program_[4], constants * sizeof(int64_t));
        std::memcpy(values_ + constants, program_ + program_[5] + set_ * parameters, parameters * sizeof(int64_t));
        for (at_ = program_ + start; Code(at_[0]) != Code::halt;) {
            const int64_t* next = at_ + 2 + words_of[at_[0]];
            tile_simulator::SiteScope scope({"statement", static_cast<uint32_t>(at_[1])});
            arguments_ = at_ + 2;
            at_ = next;
            step(memories, Code(arguments_[-2]));
        }
    }

private:
    int64_t word(int i) const { return arguments_[i]; }
    uint32_t size(int i) const { return static_cast<uint32_t>(arguments_[i]); }
    int64_t value(int i) const { return values_[arguments_[i]]; }
    void give(int i, int64_t value) { values_[arguments_[i]] = value; }

    template <class T, class Memory>
    AscendC::LocalTensor<T> tensor(Memory& memory, int i) const
    {
        const auto whole = memory.template GetWithOffset<T>(size(i), size(i + 1));
        return whole[static_cast<uint32_t>(value(i + 2))];
    }

    template <class T>
    AscendC::GlobalTensor<T> global(int i) const
    {
        AscendC::GlobalTensor<T> result;
        const int64_t number = word(i);
        result.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(gm_[number] + set_ * program_[fixed_words + number]));
        return result;
    }

    template <class F>
    void with_type(Type type, const F& f)
    {
        switch (type) {
        case Type::float32: return f(float());
        case Type::int32: return f(int32_t());
        case Type::float16: return f(half());
        }
    }

    void step(Memories& memories, Code code)
    {
        switch (code) {
        case Code::halt: return;
        case Code::jump: at_ = program_ + word(0); return;
        case Code::jump_unless:
            if (value(0) == 0) {
                at_ = program_ + word(1);
            }
            return;
        case Code::move: return give(0, value(1));
        case Code::integer: return give(1, integer(Operator(word(0)), value(2), value(3)));
        case Code::real: return give(1, real(Operator(word(0)), as_float(value(2)), as_float(value(3))));
        case Code::convert: return convert();
        case Code::negate: return give(0, value(1) == 0);
        case Code::place:
            give(0, block_);
            return give(1, lane_);
        case Code::load_ub:
            return with_type(Type(word(0)), [&](auto zero) {
                using T = decltype(zero);
                // The offset is part of the index, as in emitted code.
                const auto whole = memories.ub.GetWithOffset<T>(size(2), size(3));
                give(1, bits_of<T>(whole.GetValue(static_cast<uint32_t>(value(4)))));
            });
        case Code::store_ub:
            return with_type(Type(word(0)), [&](auto zero) {
                using T = decltype(zero);
                const auto whole = memories.ub.GetWithOffset<T>(size(1), size(2));
                whole.SetValue(static_cast<uint32_t>(value(3)), typed<T>(value(4)));
            });
        case Code::load_gm:
            return with_type(Type(word(0)), [&](auto zero) {
                using T = decltype(zero);
                give(1, bits_of<T>(global<T>(2).GetValue(static_cast<uint64_t>(value(3)))));
            });
        case Code::store_gm:
            return with_type(Type(word(0)), [&](auto zero) {
                using T = decltype(zero);
                auto whole = global<T>(1);
                tile::store_gm(whole, static_cast<uint64_t>(value(2)), typed<T>(value(3)), here());
            });
        case Code::set_flag:
        case Code::wait_flag:
        case Code::pipe_barrier:
        case Code::barrier_all: return synchronise(code);
        case Code::set_cross_flag:
            static constexpr pipe_t names[] = {PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX};
            return tile_simulator::cross_core_set(size(0), names[word(1)], value(2), {"CrossCoreSetFlag", here()});
        case Code::wait_cross_flag:
            return tile_simulator::cross_core_wait(value(0), {"CrossCoreWaitFlag", here()});
        case Code::drop_cache:
            return with_type(Type(word(0)), [&](auto zero) {
                using T = decltype(zero);
                AscendC::DataCacheCleanAndInvalid<T, AscendC::CacheLine::ENTIRE_DATA_CACHE,
                    AscendC::DcciDst::CACHELINE_OUT>(global<T>(1)[static_cast<uint64_t>(value(2))]);
            });
        case Code::add_to_gm: return AscendC::SetAtomicAdd<float>();
        case Code::overwrite_gm: return AscendC::SetAtomicNone();
        case Code::copy_gm_l1:
        case Code::clear_l1:
        case Code::copy_l1_l0:
        case Code::zero_l0:
        case Code::mma:
        case Code::copy_l0c_gm: return cube(memories, code);
        default: return vector(memories, code);
        }
    }

    tile::Site here() const { return {"statement", static_cast<uint32_t>(arguments_[-1])}; }

    static int64_t integer(Operator how, int64_t a, int64_t b)
    {
        switch (how) {
        case Operator::add: return static_cast<int32_t>(a + b);
        case Operator::sub: return static_cast<int32_t>(a - b);
        case Operator::mul: return static_cast<int32_t>(a * b);
        case Operator::div: return static_cast<int32_t>(tile::floor_div(a, b));
        case Operator::mod: return static_cast<int32_t>(tile::floor_mod(a, b));
        case Operator::min: return tile::minimum(a, b);
        case Operator::max: return tile::maximum(a, b);
        case Operator::bits_and: return a & b;
        default: return compare(how, a, b);
        }
    }

    static int64_t real(Operator how, float a, float b)
    {
        switch (how) {
        case Operator::add: return from_float(a + b);
        case Operator::sub: return from_float(a - b);
        case Operator::mul: return from_float(a * b);
        case Operator::min: return from_float(tile::minimum(a, b));
        case Operator::max: return from_float(tile::maximum(a, b));
        default: return compare(how, a, b);
        }
    }

    template <class T>
    static int64_t compare(Operator how, T a, T b)
    {
        switch (how) {
        case Operator::lt: return a < b;
        case Operator::le: return a <= b;
        case Operator::gt: return a > b;
        case Operator::ge: return a >= b;
        case Operator::eq: return a == b;
        default: return a != b;
        }
    }

    void convert()
    {
        const bool to_float = Type(word(1)) != Type::int32;
        const bool from_integer = Type(word(3)) == Type::int32;
        if (to_float && from_integer) {
            give(0, from_float(static_cast<float>(static_cast<int32_t>(value(2)))));
        } else if (!to_float && !from_integer) {
            give(0, static_cast<int32_t>(as_float(value(2))));
        } else {
            give(0, value(2));
        }
    }

    void synchronise(Code code)
    {
        note(code);
        const int source = static_cast<int>(word(0));
        const int target = static_cast<int>(word(1));
        switch (code) {
        case Code::set_flag: {
            const int id = static_cast<int>(value(2));
            tile_simulator::set_flag(event(source, target), id, {"SetFlag", here()});
            if (!clocks_.set(source, target, id) && report_->early_set == 0) {
                report_->early_set = arguments_[-1];
            }
            return;
        }
        case Code::wait_flag: {
            const int id = static_cast<int>(value(2));
            tile_simulator::wait_flag(event(source, target), id, {"WaitFlag", here()});
            clocks_.wait(source, target, id);
            return;
        }
        case Code::pipe_barrier: {
            static constexpr pipe_t names[] = {PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX};
            tile_simulator::pipe_barrier(names[source], {"PipeBarrier", here()});
            return;
        }
        default:
            tile_simulator::pipe_barrier(PIPE_ALL, {"PipeBarrier", here()});
            clocks_.barrier_all();
        }
    }

    // Flags and barriers for replays with other speeds: code, source, target, id.
    void note(Code code)
    {
        int64_t* entry = trace_ + report_->length;
        report_->length += 4;
        if (report_->length > room_) {
            return;
        }
        const bool flag = code == Code::set_flag || code == Code::wait_flag;
        entry[0] = static_cast<int64_t>(code);
        entry[1] = code == Code::barrier_all ? -1 : word(0);
        entry[2] = flag ? word(1) : -1;
        entry[3] = flag ? value(2) : -1;
    }

    void vector(Memories& memories, Code code)
    {
        auto& ub = memories.ub;
        switch (code) {
        case Code::copy_gm_ub:
            return with_type(Type(word(0)), [&](auto zero) {
                using T = decltype(zero);
                tile::copy_gm_ub(tensor<T>(ub, 1), global<T>(4)[static_cast<uint64_t>(value(5))], size(6), size(7),
                    word(8), size(9), static_cast<T>(0), here());
            });
        case Code::copy_ub_gm:
            return with_type(Type(word(0)), [&](auto zero) {
                using T = decltype(zero);
                tile::copy_ub_gm(global<T>(1)[static_cast<uint64_t>(value(2))], tensor<T>(ub, 3), size(6), size(7),
                    word(8), size(9), here());
            });
        case Code::copy_ub_ub:
            return with_type(Type(word(0)), [&](auto zero) {
                using T = decltype(zero);
                tile::copy_ub_ub(tensor<T>(ub, 1), tensor<T>(ub, 4), size(7), here());
            });
        case Code::binary:
            return with_type(Type(word(1)), [&](auto zero) { binary<decltype(zero)>(ub); });
        case Code::with_scalar:
            return with_type(Type(word(1)), [&](auto zero) { with_scalar<decltype(zero)>(ub); });
        case Code::unary:
            return with_type(Type(word(1)), [&](auto zero) { unary<decltype(zero)>(ub); });
        case Code::fill:
            return with_type(Type(word(0)), [&](auto zero) {
                using T = decltype(zero);
                AscendC::Duplicate(tensor<T>(ub, 1), typed<T>(value(4)), static_cast<int32_t>(word(5)));
            });
        case Code::cast: return cast(ub);
        case Code::reduce:
            return word(0) == int64_t(Operator::max) ? reduce<tile::Max>(ub)
                   : word(0) == int64_t(Operator::min) ? reduce<tile::Min>(ub)
                                                       : reduce<tile::Sum>(ub);
        case Code::broadcast:
            return with_type(Type(word(0)), [&](auto zero) {
                using T = decltype(zero);
                if (word(1) == 0) {
                    tile::broadcast_row(tensor<T>(ub, 2), tensor<T>(ub, 5), size(11), size(12), size(13), here());
                } else {
                    tile::broadcast_column(tensor<T>(ub, 2), tensor<T>(ub, 5), tensor<T>(ub, 8), size(11), size(12),
                        size(13), here());
                }
            });
        default: return;
        }
    }

    template <class T, class Memory>
    void binary(Memory& ub)
    {
        const auto dst = tensor<T>(ub, 2);
        const auto a = tensor<T>(ub, 5);
        const auto b = tensor<T>(ub, 8);
        const int32_t count = static_cast<int32_t>(word(11));
        switch (Operator(word(0))) {
        case Operator::add: return AscendC::Add(dst, a, b, count);
        case Operator::sub: return AscendC::Sub(dst, a, b, count);
        case Operator::mul: return AscendC::Mul(dst, a, b, count);
        case Operator::max: return AscendC::Max(dst, a, b, count);
        case Operator::min: return AscendC::Min(dst, a, b, count);
        default:
            if constexpr (!std::is_same_v<T, int32_t>) {
                AscendC::MulAddDst(dst, a, b, count);
            }
        }
    }

    template <class T, class Memory>
    void with_scalar(Memory& ub)
    {
        const auto dst = tensor<T>(ub, 2);
        const auto a = tensor<T>(ub, 5);
        const T scalar = typed<T>(value(8));
        const int32_t count = static_cast<int32_t>(word(9));
        switch (Operator(word(0))) {
        case Operator::add: return AscendC::Adds(dst, a, scalar, count);
        case Operator::sub: return AscendC::Adds(dst, a, static_cast<T>(-scalar), count);
        case Operator::mul: return AscendC::Muls(dst, a, scalar, count);
        case Operator::max: return AscendC::Maxs(dst, a, scalar, count);
        case Operator::min: return AscendC::Mins(dst, a, scalar, count);
        default:
            if constexpr (!std::is_same_v<T, int32_t>) {
                AscendC::Axpy(dst, a, scalar, count);
            }
        }
    }

    template <class T, class Memory>
    void unary(Memory& ub)
    {
        const auto dst = tensor<T>(ub, 2);
        const auto a = tensor<T>(ub, 5);
        const int32_t count = static_cast<int32_t>(word(8));
        if (Operator(word(0)) == Operator::relu) {
            AscendC::Relu(dst, a, count);
        } else if constexpr (!std::is_same_v<T, int32_t>) {
            AscendC::Abs(dst, a, count);
        }
    }

    template <class Memory>
    void cast(Memory& ub)
    {
        with_type(Type(word(0)), [&](auto to) {
            with_type(Type(word(1)), [&](auto from) {
                AscendC::Cast(tensor<decltype(to)>(ub, 2), tensor<decltype(from)>(ub, 5), AscendC::RoundMode(word(8)),
                    size(9));
            });
        });
    }

    template <class Fold, class Memory>
    void reduce(Memory& ub)
    {
        const bool clear = word(2) != 0;
        const auto dst = tensor<float>(ub, 3);
        const auto src = tensor<float>(ub, 6);
        const bool has_scratch = word(9) != 0;
        const auto all = has_scratch ? tensor<float>(ub, 9) : AscendC::LocalTensor<float>();
        const auto result = clear ? dst : all;
        const auto scratch = has_scratch && word(12) != 0 ? all[size(12)] : all;
        if (word(1) == 1) {
            tile::reduce_rows<Fold>(result, src, scratch, size(13), size(14), size(15), here());
        } else {
            tile::reduce_columns<Fold>(result, src, scratch, size(13), size(14), size(15), here());
        }
        if (!clear) {
            tile::accumulate<Fold>(dst, result, size(16), here());
        }
    }

    void cube(Memories& memories, Code code)
    {
        switch (code) {
        case Code::copy_gm_l1:
            return tile::copy_gm_l1(tensor<half>(memories.l1, 0), global<half>(3)[static_cast<uint64_t>(value(4))],
                size(5), size(6), word(7), size(8), here());
        case Code::clear_l1: return tile::clear_l1(tensor<half>(memories.l1, 0), size(3), here());
        case Code::copy_l1_l0: {
            const auto src = tensor<half>(memories.l1, 4);
            const tile::L1Tile part = {size(7), size(8), static_cast<uint32_t>(value(9)),
                static_cast<uint32_t>(value(10))};
            if (word(0) == 0) {
                tile::copy_l1_l0a(
                    tensor<half>(memories.l0a, 1), src, part, size(11), size(12), word(13) != 0, here());
            } else {
                tile::copy_l1_l0b(
                    tensor<half>(memories.l0b, 1), src, part, size(11), size(12), word(13) != 0, here());
            }
            return;
        }
        case Code::zero_l0:
            return word(0) == 0 ? tile::zero_l0(tensor<half>(memories.l0a, 1), size(4), here())
                                : tile::zero_l0(tensor<half>(memories.l0b, 1), size(4), here());
        case Code::mma:
            return tile::mma(tensor<float>(memories.l0c, 0), tensor<half>(memories.l0a, 3),
                tensor<half>(memories.l0b, 6), size(9), size(10), size(11), value(12) != 0,
                static_cast<uint8_t>(value(13)), here());
        default:
            return tile::copy_l0c_gm(global<float>(0)[static_cast<uint64_t>(value(1))], tensor<float>(memories.l0c, 2),
                size(5), size(6), word(7), size(8), word(9) != 0, static_cast<uint8_t>(word(10)), here());
        }
    }

    const int64_t* program_;
    uint8_t* const* gm_;
    Report* report_;
    int64_t* trace_;
    int64_t room_;
    int64_t set_ = 0;
    int64_t block_ = 0;
    int64_t lane_ = 0;
    const int64_t* at_ = nullptr;
    const int64_t* arguments_ = nullptr;
    FlagClocks clocks_;
    int64_t values_[registers];
};

}  // namespace fuzz

// `report` has, for every core of every block, a Report and `room` words of trace. `MACHINE` is the kernel with one
// vector core for each cube core, or with two.
#define TENSOR_PARAMETERS \
    GM_ADDR t0, GM_ADDR t1, GM_ADDR t2, GM_ADDR t3, GM_ADDR t4, GM_ADDR t5, GM_ADDR t6, GM_ADDR t7, GM_ADDR t8, \
        GM_ADDR t9, GM_ADDR t10, GM_ADDR t11, GM_ADDR t12, GM_ADDR t13, GM_ADDR t14, GM_ADDR t15, GM_ADDR t16, \
        GM_ADDR t17, GM_ADDR t18, GM_ADDR t19, GM_ADDR t20, GM_ADDR t21, GM_ADDR t22, GM_ADDR t23
#define TENSOR_NAMES \
    t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, t17, t18, t19, t20, t21, t22, t23

namespace fuzz {

void run_core(uint8_t* program, uint8_t* report, int64_t room, uint8_t* const* gm)
{
    const auto* words = reinterpret_cast<const int64_t*>(program);
    const bool is_cube = ASCEND_IS_AIC;
    const int64_t start = words[is_cube ? 0 : 1];
    if (start < 0) {
        return;
    }
    AscendC::TPipe pipe;
    Memories memories;
    pipe.InitBuffer(memories.l0a, 65536);
    pipe.InitBuffer(memories.l0b, 65536);
    pipe.InitBuffer(memories.l1, 524288);
    pipe.InitBuffer(memories.l0c, 131072);
    pipe.InitBuffer(memories.ub, 196608);
    pipe.Destroy();
    const int64_t block = is_cube ? AscendC::GetBlockIdx() : AscendC::GetBlockIdx() / AscendC::GetSubBlockNum();
    const int64_t lane = is_cube ? 0 : AscendC::GetSubBlockIdx();
    const int64_t core = is_cube ? 0 : 1 + lane;
    int64_t* slot = reinterpret_cast<int64_t*>(report) + (block * cores + core) * (2 + room);
    Machine machine(words, gm, reinterpret_cast<Report*>(slot), slot + 2, room);
    machine.run(memories, start, block, lane);
}

}  // namespace fuzz

#define MACHINE(name, type) \
    extern "C" __global__ __aicore__ void name( \
        uint8_t* program, uint8_t* report, int64_t room, TENSOR_PARAMETERS, uint64_t fftsAddr) \
    { \
        KERNEL_TASK_TYPE_DEFAULT(type); \
        AscendC::SetSyncBaseAddr(fftsAddr); \
        uint8_t* const gm[fuzz::tensors] = {TENSOR_NAMES}; \
        fuzz::run_core(program, report, room, gm); \
    } \
    void name##_tiling() {}

MACHINE(machine_of_one_lane, KERNEL_TYPE_MIX_AIC_1_1)
MACHINE(machine_of_two_lanes, KERNEL_TYPE_MIX_AIC_1_2)

// Words that a host process hands over: program, report, room, blocks, then the tensors.
#define ENTRY(name, kernel) \
    extern "C" __attribute__((visibility("default"))) void name(void** args, void* stream) \
    { \
        const auto pointer = [&](int i) { return *static_cast<uint8_t**>(args[i]); }; \
        const auto number = [&](int i) { return *static_cast<int64_t*>(args[i]); }; \
        TILE_LAUNCH(kernel, static_cast<uint32_t>(number(3)), stream, pointer(0), pointer(1), number(2), pointer(4), \
            pointer(5), pointer(6), pointer(7), pointer(8), pointer(9), pointer(10), pointer(11), pointer(12), \
            pointer(13), pointer(14), pointer(15), pointer(16), pointer(17), pointer(18), pointer(19), pointer(20), \
            pointer(21), pointer(22), pointer(23), pointer(24), pointer(25), pointer(26), pointer(27), \
            tile::cross_core_address()); \
    }

ENTRY(one_lane, machine_of_one_lane)
ENTRY(two_lanes, machine_of_two_lanes)
