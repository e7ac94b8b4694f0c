// Which memory a logical position means on dav-c220, and which events order a queue between two positions.
//
// The rules are those of kernel_event.h (CANN 8.1): the source side of a queue writes a buffer, the destination side
// reads it; EnQue and DeQue order the read after the write, FreeTensor and AllocTensor the next write after the read.
#pragma once

#include "enums.h"

namespace AscendC {

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

constexpr Hardware GetPhyType(TPosition position)
{
    switch (position) {
        case TPosition::GM:
        case TPosition::CO2:
            return Hardware::GM;
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::SHM:
        case TPosition::TSCM:
            return Hardware::L1;
        case TPosition::A2:
            return Hardware::L0A;
        case TPosition::B2:
            return Hardware::L0B;
        case TPosition::C2:
            return Hardware::BIAS;
        case TPosition::C2PIPE2GM:
            return Hardware::FIXBUF;
        case TPosition::CO1:
            return Hardware::L0C;
        default:
            return Hardware::UB;
    }
}

// Position whose memory holds the buffers of a queue: the destination's, except on the way out of the core.
constexpr TPosition GetPosition(TPosition source, TPosition destination)
{
    return destination == TPosition::GM || destination == TPosition::CO2 ? source : destination;
}

constexpr Hardware GetBufferPos(TPosition source, TPosition destination)
{
    return GetPhyType(GetPosition(source, destination));
}

// The two ends of the queue TQue<position, ...>; MAX where no such queue exists.
constexpr TPosition GetBufferLogicPos(TPosition position, bool is_source)
{
    switch (position) {
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::VECIN:
            return is_source ? TPosition::GM : position;
        case TPosition::A2:
            return is_source ? TPosition::A1 : position;
        case TPosition::B2:
            return is_source ? TPosition::B1 : position;
        case TPosition::C2:
            return is_source ? TPosition::C1 : position;
        case TPosition::C2PIPE2GM:
            return is_source ? TPosition::B1 : position;
        case TPosition::CO1:
            return is_source ? position : TPosition::CO2;
        case TPosition::CO2:
        case TPosition::VECOUT:
            return is_source ? position : TPosition::GM;
        case TPosition::SPM:
            return is_source ? TPosition::VECOUT : TPosition::GM;
        default:
            return TPosition::MAX;
    }
}

// The event from the pipe that fills a buffer to the one that drains it (forward), or back; MAX where none exists.
constexpr HardEvent GetQueEvt(
    Hardware source, Hardware destination, bool forward, bool /*nd2nz*/ = false, bool /*nz2nd*/ = false)
{
    const bool to_l0 = destination == Hardware::L0A || destination == Hardware::L0B;
    switch (source) {
        case Hardware::GM:
            if (destination == Hardware::UB) {
                return forward ? HardEvent::MTE2_V : HardEvent::V_MTE2;
            }
            if (destination == Hardware::L1) {
                return forward ? HardEvent::MTE2_MTE1 : HardEvent::MTE1_MTE2;
            }
            if (to_l0) {
                return forward ? HardEvent::MTE2_M : HardEvent::M_MTE2;
            }
            break;
        case Hardware::UB:
            if (destination == Hardware::GM) {
                return forward ? HardEvent::V_MTE3 : HardEvent::MTE3_V;
            }
            if (destination == Hardware::L1) {
                return forward ? HardEvent::MTE3_MTE1 : HardEvent::MTE1_MTE3;
            }
            if (destination == Hardware::UB) {
                return forward ? HardEvent::MTE2_MTE3 : HardEvent::MTE3_MTE2;
            }
            break;
        case Hardware::L1:
            if (destination == Hardware::UB) {
                return forward ? HardEvent::MTE1_V : HardEvent::V_MTE1;
            }
            if (to_l0 || destination == Hardware::BIAS) {
                return forward ? HardEvent::MTE1_M : HardEvent::M_MTE1;
            }
            if (destination == Hardware::FIXBUF) {
                return forward ? HardEvent::MTE1_FIX : HardEvent::FIX_MTE1;
            }
            break;
        case Hardware::L0C:
            if (destination == Hardware::GM) {
                return forward ? HardEvent::M_FIX : HardEvent::FIX_M;
            }
            break;
        default:
            break;
    }
    return HardEvent::MAX;
}

}  // namespace AscendC

namespace tile_simulator {

// The event that orders one pipe after another; MAX where the hardware has none.
constexpr AscendC::HardEvent event_between(pipe_t source, pipe_t target)
{
    struct Pair {
        pipe_t source;
        pipe_t target;
    };
    // In the order of HardEvent.
    constexpr Pair pairs[] = {{PIPE_MTE2, PIPE_MTE1}, {PIPE_MTE1, PIPE_MTE2}, {PIPE_MTE1, PIPE_M}, {PIPE_M, PIPE_MTE1},
        {PIPE_MTE2, PIPE_V}, {PIPE_V, PIPE_MTE2}, {PIPE_MTE3, PIPE_V}, {PIPE_V, PIPE_MTE3}, {PIPE_M, PIPE_V},
        {PIPE_V, PIPE_M}, {PIPE_V, PIPE_V}, {PIPE_MTE3, PIPE_MTE1}, {PIPE_MTE1, PIPE_MTE3}, {PIPE_MTE1, PIPE_V},
        {PIPE_MTE2, PIPE_M}, {PIPE_M, PIPE_MTE2}, {PIPE_V, PIPE_MTE1}, {PIPE_M, PIPE_FIX}, {PIPE_FIX, PIPE_M},
        {PIPE_MTE3, PIPE_MTE2}, {PIPE_MTE2, PIPE_MTE3}, {PIPE_S, PIPE_V}, {PIPE_V, PIPE_S}, {PIPE_S, PIPE_MTE2},
        {PIPE_MTE2, PIPE_S}, {PIPE_S, PIPE_MTE3}, {PIPE_MTE3, PIPE_S}, {PIPE_MTE2, PIPE_FIX}, {PIPE_FIX, PIPE_MTE2},
        {PIPE_FIX, PIPE_S}, {PIPE_M, PIPE_S}, {PIPE_FIX, PIPE_MTE3}, {PIPE_MTE1, PIPE_FIX}, {PIPE_FIX, PIPE_MTE1},
        {PIPE_FIX, PIPE_FIX}};
    int event = 0;
    for (const Pair& pair : pairs) {
        if (pair.source == source && pair.target == target) {
            break;
        }
        ++event;
    }
    return static_cast<AscendC::HardEvent>(event);
}

}  // namespace tile_simulator
