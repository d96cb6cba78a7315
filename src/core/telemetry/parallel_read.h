// Reads a stream of bytes with several workers, and gives out what they make of it in order.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/system/byte_source.h"

namespace aggregate_power {

// Where bytes can be cut so that what is before and what is after can be read apart: the number of
// bytes before, 0 if it is not certain that there is such a place.
using CutOff = std::function<std::size_t(std::string_view bytes)>;

// The stream, and where it can be cut. Each worker first reads `beginning`, from which it must
// learn all that it needs to read any block; what it says is given out once. `ahead` follows it in
// the stream, then `source`.
struct StreamParts {
  std::string_view beginning;
  std::string_view ahead;
  ByteSource& source;
  CutOff cut_off;
};

// How many workers read, and how many bytes a block has at most.
struct Workers {
  std::size_t count = 1;
  std::size_t block_bytes = std::size_t{256} << 10;
};

// What a worker reads: the beginning, then block after block, each by one read(). From a block on
// that cannot be cut, or from a fault, one worker gets the whole rest.
class BlockSource : public ByteSource {
 public:
  // Waits until everything before the worker's block was given out. Returns false in the beginning
  // if another worker gives that out.
  virtual bool wait_for_turn() = 0;
};

// One of the workers.
class BlockWorker {
 public:
  virtual ~BlockWorker() = default;
  // Reads all that `blocks` gives. It may call give() itself once wait_for_turn() returned true.
  virtual void read(BlockSource& blocks) = 0;
  // Gives out what was read since the last call. It is called in the order of the blocks, by one
  // thread at a time, after each block, at the end and before a fault.
  virtual void give() = 0;
  // The block was given out as a whole.
  virtual void end_block() {}
  // Forgets what the beginning said, which another worker gives out.
  virtual void forget() {}
};

// Lets the workers read the stream, on as many threads as there are processors. Throws the first
// fault in the order of the stream: what a worker's functions throw, or the source.
void parallel_read(const StreamParts& parts, std::size_t block_bytes,
                   std::span<const std::unique_ptr<BlockWorker>> workers);

}  // namespace aggregate_power
