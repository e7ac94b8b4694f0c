#include "rank_messages.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "atomic_write.h"
#include "launch.h"

namespace tile_simulator {
namespace {

constexpr uint64_t most_waiting = 64 << 20;  // bytes that a peer has not taken yet, before a store waits
constexpr size_t read_bytes = 1 << 20;
constexpr auto longest_silence = std::chrono::seconds(60);

uint32_t* word_of(const TileProcesses& words, uint32_t rank)
{
    return words.came + size_t(rank) * words.apart;
}

}  // namespace

RankMessages::RankMessages(uint32_t ranks, const TileProcesses& words, const int* sockets, uint8_t* const* instances,
    uint64_t bytes, char* text, uint32_t text_bytes)
    : ranks_(ranks), words_(words), bytes_(bytes), text_(text), text_bytes_(text_bytes), peers_(ranks)
{
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        instances_.push_back(reinterpret_cast<uint64_t>(instances[rank]));
        peers_[rank].socket = sockets[rank];
        if (sockets[rank] >= 0) {
            ::fcntl(sockets[rank], F_SETFL, ::fcntl(sockets[rank], F_GETFL) | O_NONBLOCK);
        }
    }
    if (::pipe(wakes_) != 0) {
        wakes_[0] = wakes_[1] = -1;
    }
    for (const int end : wakes_) {
        ::fcntl(end, F_SETFL, O_NONBLOCK);
    }
    thread_ = std::thread([this] { serve(); });
}

RankMessages::~RankMessages()
{
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        ends_ = true;
    }
    wake();
    thread_.join();
    for (const int end : wakes_) {
        ::close(end);
    }
}

int RankMessages::owner(uint64_t address) const
{
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        if (rank != words_.rank && address - instances_[rank] < bytes_) {
            return static_cast<int>(rank);
        }
    }
    return -1;
}

bool RankMessages::given_up() const
{
    return __atomic_load_n(words_.given_up, __ATOMIC_ACQUIRE) != 0;
}

void RankMessages::wake()
{
    const char one = 1;
    if (::write(wakes_[1], &one, 1) < 0) {
        return;  // full: the thread is awake
    }
}

template <class F>
bool RankMessages::wait_until(F holds, bool regardless)
{
    const auto end = std::chrono::steady_clock::now() + longest_silence;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!holds()) {
        if (given_up() && !regardless) {
            return false;
        }
        if (std::chrono::steady_clock::now() > end) {
            tell_failure(words_.rank, "another rank has not answered in time");
            return false;
        }
        changed_.wait_for(lock, std::chrono::milliseconds(20));
    }
    return true;
}

// Under the lock.
void RankMessages::send(uint32_t rank, const Head& head, const void* data, uint64_t bytes)
{
    Peer& peer = peers_[rank];
    if (peer.gone || peer.socket < 0) {
        return;
    }
    std::vector<uint8_t> message(sizeof(Head) + bytes);
    std::memcpy(message.data(), &head, sizeof(Head));
    if (bytes > 0) {
        std::memcpy(message.data() + sizeof(Head), data, bytes);
    }
    const Kind kind = head.kind;
    peer.sent += kind == Kind::put || kind == Kind::signal || kind == Kind::come || kind == Kind::fail ? 1 : 0;
    peer.out_bytes += message.size();
    peer.out.push_back(std::move(message));
    wake();
}

void RankMessages::put(const uint8_t* target, const uint8_t* source, uint64_t bytes, AtomicKind atomic, DataType type,
    bool saturates)
{
    const uint64_t address = reinterpret_cast<uint64_t>(target);
    const int rank = owner(address);
    if (rank < 0) {
        return update_global(atomic, type, saturates, const_cast<uint8_t*>(target), source, bytes, nullptr);
    }
    Peer& peer = peers_[size_t(rank)];
    if (!wait_until([&] { return peer.out_bytes < most_waiting; })) {
        return;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    send(uint32_t(rank), {Kind::put, atomic, type, saturates, address - instances_[size_t(rank)], bytes, 0}, source, bytes);
}

void RankMessages::signal(uint64_t address, bool add, int32_t value)
{
    const int rank = owner(address);
    if (rank < 0) {
        return signal_process(address, add, value);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    send(uint32_t(rank), {Kind::signal, AtomicKind::none, DataType::i32, add, address - instances_[size_t(rank)], 0, value},
        nullptr, 0);
}

void RankMessages::get(uint64_t address, uint64_t bytes)
{
    const int rank = owner(address);
    if (rank < 0 || bytes == 0) {
        return;
    }
    int64_t number = 0;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        number = ++gets_;
        wanted_[number] = address;
        send(uint32_t(rank), {Kind::get, AtomicKind::none, DataType::u8, false, address - instances_[size_t(rank)], bytes, number},
            nullptr, 0);
    }
    wait_until([&] { return wanted_.count(number) == 0; });
}

std::vector<uint64_t> RankMessages::all_sent()
{
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<uint64_t> sent;
    for (const Peer& peer : peers_) {
        sent.push_back(peer.sent);
    }
    return sent;
}

// Under the lock.
bool RankMessages::all_done(const std::vector<uint64_t>& sent) const
{
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        if (!peers_[rank].gone && peers_[rank].done < sent[rank]) {
            return false;
        }
    }
    return true;
}

bool RankMessages::quiet()
{
    const std::vector<uint64_t> sent = all_sent();
    return wait_until([&] { return all_done(sent); });
}

void RankMessages::settle()
{
    const std::vector<uint64_t> sent = all_sent();
    wait_until([&] { return all_done(sent); }, true);
}

void RankMessages::come(uint32_t times)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        send(rank, {Kind::come, AtomicKind::none, DataType::u8, false, 0, 0, times}, nullptr, 0);
    }
}

// Under the lock. The first that fails is told.
void RankMessages::tell_failure(uint32_t rank, const std::string& text)
{
    if (given_up()) {
        return;
    }
    const size_t length = std::min<size_t>(text.size(), text_bytes_ - 1);
    std::memcpy(text_, text.data(), length);
    text_[length] = 0;
    __atomic_store_n(const_cast<uint32_t*>(words_.given_up), rank + 1, __ATOMIC_RELEASE);
    changed_.notify_all();
}

void RankMessages::fail(const std::string& text)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    tell_failure(words_.rank, text);
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        Head head{Kind::fail};
        head.bytes = text.size();
        send(rank, head, text.data(), text.size());
    }
}

void RankMessages::close(double seconds)
{
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (uint32_t rank = 0; rank < ranks_; ++rank) {
            send(rank, {Kind::farewell}, nullptr, 0);
        }
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::unique_lock<std::mutex> lock(mutex_);
    const auto over = [&] {
        return std::all_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
            return peer.socket < 0 || peer.gone || (peer.out.empty() && (peer.farewell || given_up()));
        });
    };
    while (!over() && std::chrono::steady_clock::now() < end) {
        changed_.wait_for(lock, std::chrono::milliseconds(20));
    }
}

// Under the lock.
void RankMessages::lose(uint32_t rank)
{
    peers_[rank].gone = true;
    if (!peers_[rank].farewell && !ends_) {
        tell_failure(rank, "its process has ended");
    }
    changed_.notify_all();
}

void RankMessages::send_some(uint32_t rank)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    Peer& peer = peers_[rank];
    while (!peer.out.empty() && !peer.gone) {
        const std::vector<uint8_t>& first = peer.out.front();
        const ssize_t count =
            ::send(peer.socket, first.data() + peer.out_done, first.size() - peer.out_done, MSG_NOSIGNAL);
        if (count < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                // The reader loses it, behind what it has sent: it may have said why it ends.
                peer.out.clear();
                peer.out_bytes = peer.out_done = 0;
                changed_.notify_all();
            }
            return;
        }
        peer.out_done += size_t(count);
        if (peer.out_done == first.size()) {
            peer.out_bytes -= first.size();
            peer.out_done = 0;
            peer.out.pop_front();
            changed_.notify_all();
        }
    }
}

void RankMessages::receive_some(uint32_t rank)
{
    Peer& peer = peers_[rank];
    const size_t held = peer.in.size();
    peer.in.resize(held + read_bytes);
    const ssize_t count = ::recv(peer.socket, peer.in.data() + held, read_bytes, 0);
    peer.in.resize(held + size_t(std::max<ssize_t>(count, 0)));
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return lose(rank);
    }
    size_t at = 0;
    while (peer.in.size() - at >= sizeof(Head)) {
        Head head{Kind::farewell};
        std::memcpy(&head, peer.in.data() + at, sizeof(Head));
        const uint64_t follows = head.kind == Kind::get ? 0 : head.bytes;
        if (!inside(head)) {
            const std::lock_guard<std::mutex> lock(mutex_);
            tell_failure(rank, "it has sent what is no message");
            return lose(rank);
        }
        if (peer.in.size() - at - sizeof(Head) < follows) {
            break;
        }
        take(rank, head, peer.in.data() + at + sizeof(Head));
        at += sizeof(Head) + follows;
    }
    peer.in.erase(peer.in.begin(), peer.in.begin() + static_cast<std::ptrdiff_t>(at));
}

bool RankMessages::inside(const Head& head) const
{
    return head.offset <= bytes_ && head.bytes <= bytes_ - head.offset;
}

void RankMessages::take(uint32_t rank, const Head& head, const uint8_t* data)
{
    const uint64_t address = instances_[words_.rank] + head.offset;
    auto* const own = reinterpret_cast<uint8_t*>(address);
    if (head.kind == Kind::put) {
        update_global(head.atomic, head.type, head.flag, own, data, head.bytes, nullptr);
    } else if (head.kind == Kind::signal) {
        signal_process(address, head.flag, static_cast<int32_t>(head.value));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    switch (head.kind) {
        case Kind::put:
        case Kind::signal:
            return send(rank, {Kind::done}, nullptr, 0);
        case Kind::done:
            ++peers_[rank].done;
            break;
        case Kind::get:
            return send(rank, {Kind::answer, AtomicKind::none, DataType::u8, false, 0, head.bytes, head.value}, own,
                head.bytes);
        case Kind::answer:
            if (const auto found = wanted_.find(head.value); found != wanted_.end()) {
                std::memcpy(reinterpret_cast<void*>(found->second), data, head.bytes);
                wanted_.erase(found);
            }
            break;
        case Kind::come:
            __atomic_store_n(word_of(words_, rank), static_cast<uint32_t>(head.value), __ATOMIC_RELEASE);
            return send(rank, {Kind::done}, nullptr, 0);
        case Kind::fail:
            tell_failure(rank, {reinterpret_cast<const char*>(data), head.bytes});
            return send(rank, {Kind::done}, nullptr, 0);
        case Kind::farewell:
            peers_[rank].farewell = true;
            break;
    }
    changed_.notify_all();
}

void RankMessages::serve()
{
    for (;;) {
        std::vector<pollfd> all{{wakes_[0], POLLIN, 0}};
        std::vector<uint32_t> ranks{0};
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (ends_) {
                return;
            }
            for (uint32_t rank = 0; rank < ranks_; ++rank) {
                if (peers_[rank].socket >= 0 && !peers_[rank].gone) {
                    const int events = peers_[rank].out.empty() ? POLLIN : POLLIN | POLLOUT;
                    all.push_back({peers_[rank].socket, static_cast<short>(events), 0});
                    ranks.push_back(rank);
                }
            }
        }
        if (::poll(all.data(), all.size(), 1000) < 0) {
            continue;
        }
        char rest[64];
        while ((all[0].revents & POLLIN) != 0 && ::read(wakes_[0], rest, sizeof(rest)) == ssize_t(sizeof(rest))) {
        }
        for (size_t i = 1; i < all.size(); ++i) {
            if ((all[i].revents & POLLOUT) != 0) {
                send_some(ranks[i]);
            }
            if ((all[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
                receive_some(ranks[i]);
            }
        }
    }
}

RankMessages* messages_of(const Core& core)
{
    const TileProcesses* processes = core.block.launch().options().processes;
    return processes != nullptr ? processes->messages : nullptr;
}

}  // namespace tile_simulator

extern "C" {

TileMessages* tile_simulator_open_messages(uint32_t ranks, const TileProcesses* words, const int* sockets,
    uint8_t* const* instances, uint64_t bytes, char* text, uint32_t text_bytes)
{
    return new TileMessages(ranks, *words, sockets, instances, bytes, text, text_bytes);
}

void tile_simulator_fail_messages(TileMessages* messages, const char* text)
{
    messages->fail(text);
}

void tile_simulator_settle_messages(TileMessages* messages)
{
    messages->settle();
}

void tile_simulator_close_messages(TileMessages* messages, double seconds)
{
    messages->close(seconds);
    delete messages;
}
}
