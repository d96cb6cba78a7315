// Deals blocks to the workers that ask, and makes each wait until those before were given out.
#include "core/telemetry/parallel_read.h"

#include <malloc.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/system/parallel.h"

namespace aggregate_power {
namespace {

// There was a fault: nothing more is read.
struct ReadingStopped {};

// What the workers share: the bytes that are left, and whose turn it is.
class SharedStream {
 public:
  SharedStream(const StreamParts& parts, std::size_t block_bytes, bool is_shared)
      : cut_off_(parts.cut_off),
        source_(parts.source),
        block_bytes_(block_bytes),
        is_shared_(is_shared),
        carried_(parts.ahead),
        next_(parts.beginning.empty() ? 0 : 1) {}

  // Fills the front of `into` with the next block, which has this number; 0 bytes at the end, and
  // without a number if another worker has the rest. `is_rest`: this worker gets what follows, too.
  std::size_t next(std::span<char> into, std::optional<std::size_t>& number, bool& is_rest) {
    const std::lock_guard guard(bytes_mutex_);
    if (is_rest_dealt_) return 0;
    number = next_++;
    is_rest = is_rest_dealt_ = true;  // if there is a fault, or no place to cut
    const std::size_t size = fill(into);
    if (!is_shared_ || source_ended_ || source_fault_) return size;
    const std::string_view bytes(into.data(), size);
    const std::size_t block = cut_off_(bytes);
    if (block == 0) return size;
    is_rest = is_rest_dealt_ = false;
    carried_.insert(0, bytes.substr(block));
    return block;
  }
  // Reads what is carried, then as much of the source as there is room for.
  std::size_t fill(std::span<char> into) {
    into = into.first(std::min(into.size(), block_bytes_));
    std::size_t size = carried_.copy(into.data(), into.size());
    carried_.erase(0, size);
    if (size == 0 && source_fault_) std::rethrow_exception(std::exchange(source_fault_, nullptr));
    try {
      while (size < into.size() && !source_ended_ && !source_fault_) {
        const std::size_t count = source_.read(into.subspan(size));
        source_ended_ = count == 0;
        size += count;
      }
    } catch (...) {
      if (size == 0) throw;
      source_fault_ = std::current_exception();
    }
    return size;
  }

  void wait_for_turn(std::size_t number) {
    std::unique_lock lock(turn_mutex_);
    turn_changes_.wait(lock, [&] { return turn_ == number || fault_; });
    if (fault_) throw ReadingStopped();
  }
  void end_turn() {
    const std::lock_guard guard(turn_mutex_);
    ++turn_;
    turn_changes_.notify_all();
  }
  // Called by the worker whose turn it is.
  void fail(std::exception_ptr fault) {
    const std::lock_guard guard(turn_mutex_);
    if (!fault_) fault_ = std::move(fault);
    turn_changes_.notify_all();
  }
  // The same at the end of the stream, by any worker.
  void fail_at_end(std::size_t worker, std::exception_ptr fault) {
    const std::lock_guard guard(turn_mutex_);
    if (worker >= failed_worker_) return;
    failed_worker_ = worker;
    fault_at_end_ = std::move(fault);
  }
  void throw_fault() const {
    if (fault_) std::rethrow_exception(fault_);
    if (fault_at_end_) std::rethrow_exception(fault_at_end_);
  }

 private:
  const CutOff& cut_off_;
  std::mutex bytes_mutex_;
  ByteSource& source_;
  std::size_t block_bytes_;
  bool is_shared_;
  std::string carried_;  // read but not dealt
  bool source_ended_ = false;
  std::exception_ptr source_fault_;  // thrown after the bytes before it were dealt
  bool is_rest_dealt_ = false;
  std::size_t next_;  // the number of the next block

  std::mutex turn_mutex_;
  std::condition_variable turn_changes_;
  std::size_t turn_ = 0;  // the number of the block that is given out
  std::exception_ptr fault_;
  std::exception_ptr fault_at_end_;
  std::size_t failed_worker_ = std::string::npos;  // the first one that failed there
};

class WorkerShare : public BlockSource {
 public:
  // The first worker gives out what the beginning says.
  WorkerShare(SharedStream& stream, std::string_view beginning, std::size_t worker_number,
              BlockWorker& worker)
      : stream_(stream), beginning_(beginning), worker_number_(worker_number), worker_(worker) {
    if (beginning.empty()) return;
    if (worker_number == 0) number_ = 0;
    is_to_forget_ = worker_number > 0;
  }

  void run() {
    try {
      std::exception_ptr fault;
      try {
        worker_.read(*this);
      } catch (...) {
        fault = std::current_exception();
      }
      if (!number_) {
        if (fault) stream_.fail_at_end(worker_number_, fault);
        return;
      }
      give();
      fault ? stream_.fail(fault) : stream_.end_turn();
    } catch (const ReadingStopped&) {
    }
  }

  std::size_t read(std::span<char> into) override {
    if (!beginning_.empty()) {
      const std::size_t count = beginning_.copy(into.data(), into.size());
      beginning_.remove_prefix(count);
      return count;
    }
    if (is_rest_) return stream_.fill(into);
    if (number_) {
      give();
      worker_.end_block();
      stream_.end_turn();
      number_.reset();
    } else if (std::exchange(is_to_forget_, false)) {
      worker_.forget();
    }
    return stream_.next(into, number_, is_rest_);
  }

  bool wait_for_turn() override {
    if (number_) stream_.wait_for_turn(*number_);
    return number_.has_value();
  }

 private:
  void give() {
    stream_.wait_for_turn(*number_);
    try {
      worker_.give();
    } catch (...) {
      stream_.fail(std::current_exception());
      throw ReadingStopped();
    }
  }

  SharedStream& stream_;
  std::string_view beginning_;  // what is left of it
  std::size_t worker_number_;
  BlockWorker& worker_;
  std::optional<std::size_t> number_;  // of the block, if this worker gives it out
  bool is_to_forget_ = false;          // what the beginning says
  bool is_rest_ = false;
};

}  // namespace

void parallel_read(const StreamParts& parts, std::size_t block_bytes,
                   std::span<const std::unique_ptr<BlockWorker>> workers) {
  // Readings are kept by all threads in turn: a heap for each would need the same room again.
  if (workers.size() > 1) ::mallopt(M_ARENA_MAX, 1);
  SharedStream stream(parts, block_bytes, workers.size() > 1);
  in_parallel(workers.size(), workers.size(),
              [&](std::size_t i) { WorkerShare(stream, parts.beginning, i, *workers[i]).run(); });
  stream.throw_fault();
}

}  // namespace aggregate_power
