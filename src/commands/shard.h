// Which part of the runs of a store is this process's, by an option or by its scheduler.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace aggregate_power {

// Part `index`, from 0, of `count`.
struct Shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  bool operator==(const Shard&) const = default;
};

// As getenv().
using Variables = std::function<const char*(const char* name)>;

// "I/N", or "auto": what the variables of Slurm arrays, indexed Kubernetes jobs, AWS Batch arrays,
// Google Batch, Cloud Run jobs or Open MPI say. An empty variable counts as not set. Throws Error,
// also where they say nothing, only a half, or two things.
Shard shard_of(const std::string& text, const Variables& variables);

}  // namespace aggregate_power
