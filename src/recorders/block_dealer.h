// Deals the bytes of a file to several threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/byte_source.h"

namespace aggregate_power {

// Where bytes can be cut so that what is before and what is after can be read apart: the number of
// bytes before, 0 if it is not certain that there is such a place.
using CutOff = std::function<std::size_t(std::string_view bytes)>;

// Deals to each thread in turn, in blocks that end where `cut_off` says. From a block on that
// cannot be cut, or from a fault, one thread gets the whole rest.
class BlockDealer {
 public:
  // `ahead` contains bytes of the file that were read before; they come first. The source must
  // outlive this object, and must not be used elsewhere as long as threads ask for bytes.
  BlockDealer(std::string_view ahead, ByteSource& source, CutOff cut_off)
      : cut_off_(std::move(cut_off)), carried_(ahead), source_(source) {}

  // No thread gets anything before begin().
  void begin(std::size_t threads);
  // After this no thread gets anything.
  void end();

  // Fills the front of `into` with bytes for thread `thread`, and returns their number; 0 at the
  // end of its share. `is_whole`: they are a whole block, and another thread is next. Throws what
  // the source throws.
  std::size_t deal(std::size_t thread, std::span<char> into, bool& is_whole);

 private:
  std::size_t fill(std::span<char> into);

  const CutOff cut_off_;
  std::mutex mutex_;
  std::condition_variable turn_begins_;
  std::size_t threads_ = 0;  // 0: begin() was not called
  std::size_t turn_ = 0;
  bool is_over_ = false;
  bool has_rest_ = false;  // the thread whose turn it is gets everything that is left
  std::string carried_;    // read but not dealt, for the next turn
  ByteSource& source_;
  bool source_ended_ = false;
  std::exception_ptr fault_;  // thrown after the bytes before it were given out
};

}  // namespace aggregate_power
