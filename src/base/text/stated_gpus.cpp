// The keys that state a number of GPUs.
#include "base/text/stated_gpus.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/decimal.h"

namespace aggregate_power {
namespace {

constexpr double kMostGpus = 1'000'000;

constexpr std::string_view kTotals[] = {"num_gpus", "gpu_count", "n_gpus", "world_size"};

// A number of GPUs for each copy comes first; without it the others state nothing.
struct Factors {
  std::string_view tensor;
  std::string_view others[3];
  std::string_view copies;
};
constexpr std::string_view kPerNode = "gpus_per_node";  // states nothing without a number of nodes
constexpr Factors kProducts[] = {
    {"tp", {"pp", "pcp_size", ""}, "dp"},
    {"tensor_parallel_size", {"pipeline_parallel_size", "", ""}, "data_parallel_size"},
    {"tp_size", {"pp_size", "pcp_size", ""}, "dp_size"},
    {kPerNode, {"num_nodes", "", ""}, ""},
    {kPerNode, {"nnodes", "", ""}, ""}};

bool says_yes(const std::optional<std::string>& text) {
  const std::string word = lower_ascii(text.value_or(""));
  return word == "true" || word == "1" || word == "yes" || word == "on";
}

}  // namespace

std::optional<std::int64_t> stated_count(std::string_view text) {
  const double value = from_text<double>(strip(text)).value_or(-1);
  if (!(value >= 0) || value > kMostGpus || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

StatedGpus stated_gpus(
    const std::function<std::optional<std::string>(std::string_view key)>& text_of) {
  StatedGpus stated;
  // Returns nullopt if the key is missing, or at fault.
  const auto count_of = [&](std::string_view key) -> std::optional<std::int64_t> {
    const auto text = key.empty() ? std::nullopt : text_of(key);
    if (!text) return std::nullopt;
    const auto count = stated_count(*text);
    if (!count && stated.fault.empty()) {
      stated.fault =
          fmt::format("'{}' is '{}', which is not a number of GPUs", key, printable(*text));
    }
    return count;
  };
  for (const std::string_view key : kTotals) {
    const auto count = count_of(key);
    if (count && *count > 0 && !stated.count) stated.count = count;
  }
  if (stated.count) return stated;
  const bool shares = says_yes(text_of("dp_attention")) || says_yes(text_of("enable_dp_attention"));
  for (const auto& [tensor, others, copies] : kProducts) {
    const auto first = count_of(tensor);
    double product = static_cast<double>(first.value_or(1));
    const bool needs_all = tensor == kPerNode;
    bool states_some = first.has_value();
    for (const std::string_view key : others) {
      const auto count = count_of(key);
      states_some = needs_all && !key.empty() ? states_some && count : states_some || count;
      product *= static_cast<double>(count.value_or(1));
    }
    if (!states_some) continue;
    if (!shares) product *= static_cast<double>(count_of(copies).value_or(1));
    if (product <= 0 || product > kMostGpus) return stated;
    stated.count = static_cast<std::int64_t>(product);
    break;
  }
  if (!stated.fault.empty()) stated.count.reset();
  return stated;
}

}  // namespace aggregate_power
