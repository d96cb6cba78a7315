// What an aggregate's text says: the GPUs of its run, our members, and everything that is not ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "base/system/byte_source.h"
#include "base/text/stated_gpus.h"

namespace aggregate_power {

// These throw JsonError if the text is not JSON; a value that is not an object has no members.

InputFile hashed_text(std::string_view text);    // all of it
InputFile hashed_others(std::string_view text);  // all members except ours

// num_prefill_gpu + num_decode_gpu, else what stated_gpus() finds.
StatedGpus gpus_stated_in(std::string_view text);
std::optional<std::int64_t> gpus_of(std::string_view text);  // the same; nullopt: none, or a fault

// num_prefill_gpu and num_decode_gpu.
struct RoleGpus {
  std::optional<std::int64_t> prefill;
  std::optional<std::int64_t> decode;
};
RoleGpus role_gpus_of(std::string_view text);

// `hw`, the hardware of the run; empty if the text does not say it.
std::string hardware_of(std::string_view text);

// Why its benchmark failed, by its benchmark_outcome; empty: it did not, or the text does not say.
std::string benchmark_failure_in(ByteSource& aggregate);

std::vector<std::pair<std::string, double>> metrics_in(std::string_view text);

}  // namespace aggregate_power
