// Deals the bytes of a file to several threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/byte_source.h"

namespace aggregate_power {

// Where bytes can be cut so that what is before and what is after can be read apart: the number of
// bytes before, 0 if it is not certain that there is such a place.
using CutOff = std::function<std::size_t(std::string_view bytes)>;

// Deals blocks that end where `cut_off` says: the first to thread 0, each other to the thread that
// asks first, so that none waits for another one's turn. From a block on that cannot be cut, or
// from a fault, one thread gets the whole rest.
class BlockDealer {
 public:
  // `ahead` contains bytes of the file that were read before; they come first. The source must
  // outlive this object, and must not be used elsewhere as long as threads ask for bytes.
  BlockDealer(std::string_view ahead, ByteSource& source, CutOff cut_off)
      : cut_off_(std::move(cut_off)), carried_(ahead), source_(source) {}

  // No thread gets anything before begin().
  void begin();
  // After this no thread gets anything.
  void end();

  // Fills the front of `into` with bytes for thread `thread`, and returns their number; 0 at the
  // end of its share. `is_whole`: they are a whole block. Throws what the source throws.
  std::size_t deal(std::size_t thread, std::span<char> into, bool& is_whole);

  // ---- For the thread that puts what they make of their blocks in order

  // The thread that was dealt the second block, the third, and so on. Waits until one was. Only to
  // be called when all of the block before was given out, and did not end its thread.
  std::size_t next_owner();

 private:
  std::size_t fill(std::span<char> into);

  const CutOff cut_off_;
  std::mutex mutex_;
  std::condition_variable begins_;  // or it is over
  bool has_begun_ = false;
  bool is_over_ = false;
  bool was_first_dealt_ = false;
  std::optional<std::size_t> rest_owner_;  // gets everything that is left
  std::string carried_;                    // read but not dealt, for the next block
  ByteSource& source_;
  bool source_ended_ = false;
  std::exception_ptr fault_;  // thrown after the bytes before it were given out

  // Apart from the others, so that nobody waits for the source here.
  std::mutex owners_mutex_;
  std::condition_variable is_dealt_;
  std::deque<std::size_t> owners_;  // of the blocks that next_owner() has not returned yet
};

}  // namespace aggregate_power
