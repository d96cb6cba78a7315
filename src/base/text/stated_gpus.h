// How many GPUs a result or an aggregate states, in the spellings that scripts use.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

struct StatedGpus {
  std::optional<std::int64_t> count = {};  // above 0
  std::string fault = {};  // "'tp' is 'two'": it states a number, and none can be read
};

// By num_gpus, gpu_count, n_gpus or world_size, else tp x pp x dp, else the same in full words or
// with _size, else by nodes and gpus_per_node. `text_of` returns what
// a key has, without quotes, or nullopt if it is missing or null; "2" and 2.0 are numbers. With
// dp_attention the copies share the GPUs.
StatedGpus stated_gpus(
    const std::function<std::optional<std::string>(std::string_view key)>& text_of);

// A whole number from 0, as "8", "8.0" or "8e0" have it.
std::optional<std::int64_t> stated_count(std::string_view text);

}  // namespace aggregate_power
