// Which part of a store's runs this process works on, by an option or by its scheduler.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace aggregate_power {

// Part `index`, counted from 0, of `count`.
struct Shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  bool operator==(const Shard&) const = default;
};

// Works like getenv().
using Variables = std::function<const char*(const char* name)>;

// Parses "I/N", or "auto": the variables of Slurm arrays, indexed Kubernetes jobs, AWS Batch
// arrays, Google Batch, Cloud Run jobs or Open MPI decide. An empty variable counts as not set.
// Throws Error, also if the variables are missing, incomplete or contradictory.
Shard shard_of(const std::string& text, const Variables& variables);

}  // namespace aggregate_power
