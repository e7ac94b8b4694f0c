// Ranks of other processes that share no memory with this one: what goes to them and comes from them is messages.
//
// A store to another rank is a message that its process answers once the bytes are there; a wait for them is a wait for
// the answers. A load asks for the bytes, which are put into a picture of the other's memory before the load goes there.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <condition_variable>
#include <string>
#include <thread>
#include <vector>

#include "ascend_c/atomic.h"
#include "ascend_c/operand.h"
#include "tile_simulator.h"

namespace tile_simulator {

class Core;

class RankMessages {
public:
    RankMessages(uint32_t ranks, const TileProcesses& words, const int* sockets, uint8_t* const* instances,
        uint64_t bytes, char* text, uint32_t text_bytes);
    ~RankMessages();
    RankMessages(const RankMessages&) = delete;
    RankMessages& operator=(const RankMessages&) = delete;

    // The rank whose memory an address is a picture of, or -1.
    int owner(uint64_t address) const;
    // Bytes for a place of another rank, to be stored or to be added to what is there.
    void put(const uint8_t* target, const uint8_t* source, uint64_t bytes, AtomicKind atomic, DataType type,
        bool saturates);
    void signal(uint64_t address, bool add, int32_t value);
    // Brings the picture of these bytes up to date.
    void get(uint64_t address, uint64_t bytes);
    // Until all that was sent so far is there; false if somebody has given up.
    bool quiet();
    // This process has come to so many barriers.
    void come(uint32_t times);
    void fail(const std::string& text);
    // Until all others have all that was sent, though somebody has given up.
    void settle();
    // Says farewell, and waits for that of the others.
    void close(double seconds);

private:
    enum class Kind : uint32_t { put, done, signal, get, answer, come, fail, farewell };
    struct Head {
        Kind kind;
        AtomicKind atomic = AtomicKind::none;
        DataType type = DataType::u8;
        bool flag = false;    // saturates, or adds
        uint64_t offset = 0;
        uint64_t bytes = 0;   // that follow; of a get, that are wanted
        int64_t value = 0;    // of a signal; times; which get
    };
    struct Peer {
        int socket = -1;
        std::deque<std::vector<uint8_t>> out;  // whole messages
        size_t out_done = 0;                   // bytes of the first that are gone
        uint64_t out_bytes = 0;
        std::vector<uint8_t> in;
        uint64_t sent = 0;  // that want an answer
        uint64_t done = 0;
        bool gone = false;
        bool farewell = false;
    };

    void serve();
    void send_some(uint32_t rank);
    void receive_some(uint32_t rank);
    void take(uint32_t rank, const Head& head, const uint8_t* data);
    bool inside(const Head& head) const;
    void send(uint32_t rank, const Head& head, const void* data, uint64_t bytes);
    void tell_failure(uint32_t rank, const std::string& text);
    void lose(uint32_t rank);
    void wake();
    bool given_up() const;
    std::vector<uint64_t> all_sent();
    bool all_done(const std::vector<uint64_t>& sent) const;
    template <class F>
    bool wait_until(F holds, bool regardless = false);

    const uint32_t ranks_;
    const TileProcesses words_;
    std::vector<uint64_t> instances_;
    const uint64_t bytes_;
    char* const text_;
    const uint32_t text_bytes_;
    int wakes_[2];
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Peer> peers_;
    std::map<int64_t, uint64_t> wanted_;  // addresses, by the number of the get
    int64_t gets_ = 0;
    bool ends_ = false;
    std::thread thread_;
};

// Of a launch whose other ranks are reached by messages, else null.
RankMessages* messages_of(const Core& core);

}  // namespace tile_simulator

struct TileMessages : tile_simulator::RankMessages {
    using RankMessages::RankMessages;
};
