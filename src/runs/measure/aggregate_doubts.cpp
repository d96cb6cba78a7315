// Compares an aggregate with the result that it should be made from.
#include "runs/measure/aggregate_doubts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/json.h"
#include "core/record/aggregate.h"
#include "core/telemetry/power_limits.h"
#include "runs/measure/gpu_work.h"

namespace aggregate_power::runs {
namespace {

constexpr double kSameRate = 0.05;  // rates that differ by less may be of one load

// Members of an aggregate that repeat what its result says.
struct Repeated {
  std::optional<double> conc;
  std::optional<double> tp;
  std::optional<double> decode_gpus;
  std::optional<double> output_tokens_per_gpu;  // a second
  std::string model;
};

Repeated repeated_in(std::string_view text) {
  Repeated said;
  const std::map<std::string_view, std::optional<double>*> numbers = {
      {"conc", &said.conc},
      {"tp", &said.tp},
      {"num_decode_gpu", &said.decode_gpus},
      {"output_tput_per_gpu", &said.output_tokens_per_gpu}};
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    const auto number = numbers.find(member.key);
    if (number != numbers.end()) *number->second = python_float(std::string(member.scalar));
    const bool is_model = member.key == "model" && member.kind == JsonKind::string;
    // A longer text is not kept.
    if (is_model && member.text.size() >= 2) {
      said.model = member.text.substr(1, member.text.size() - 2);
    }
  });
  return said;
}

// "meta-llama/Llama-3.1-8B" and "/models/llama-3.1-8b/": "llama318b".
std::string model_word(std::string_view name) {
  while (name.ends_with('/')) name.remove_suffix(1);
  std::string word;
  for (const char c : lower_ascii(name.substr(name.rfind('/') + 1))) {
    if (is_ascii_digit(c) || (c >= 'a' && c <= 'z')) word += c;
  }
  return word;
}

bool are_one_model(std::string_view a, std::string_view b) {
  const std::string first = model_word(a);
  const std::string second = model_word(b);
  return first.find(second) != first.npos || second.find(first) != second.npos;
}

// The number behind "conc" in a file's name, as in agg_x_conc64.json.
std::optional<double> concurrency_in_name(std::string_view name) {
  constexpr std::string_view kMark = "_conc";
  for (std::size_t at = name.find(kMark); at != name.npos; at = name.find(kMark)) {
    name.remove_prefix(at + kMark.size());
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits > 0) return python_float(std::string(name.substr(0, digits)));
  }
  return std::nullopt;
}

// "h100" and "NVIDIA H100 PCIe": "H100".
std::string_view board_family(std::string_view name) {
  const auto limit = power_limit_of(name);
  return limit ? limit->gpu.substr(0, limit->gpu.find(' ')) : std::string_view();
}

std::string rate_doubt(const Repeated& said, std::string_view text, const LoadReading& load,
                       const Result& result) {
  const bool is_serving = load.generator.empty() || !load.max_concurrency.is_null();
  const double duration_s = load.work.reported_duration_s;
  if (!is_serving || !said.output_tokens_per_gpu || !(*said.output_tokens_per_gpu > 0) ||
      !(duration_s > 0) || load.work.total_output_tokens == 0) {
    return {};
  }
  const double rate = static_cast<double>(load.work.total_output_tokens) / duration_s;
  const double implied = rate / *said.output_tokens_per_gpu;
  const auto stated = gpus_of(text);
  const double counts[] = {static_cast<double>(result.observed_gpus),
                           static_cast<double>(stated.value_or(0)), said.tp.value_or(0),
                           said.decode_gpus.value_or(0)};
  const bool is_any = std::ranges::any_of(counts, [&](double count) {
    return count > 0 && std::abs(implied / count - 1) <= kSameRate;
  });
  if (is_any) return {};
  return fmt::format("output_tput_per_gpu {:.6g} for {:.6g} output tokens/s in all",
                     *said.output_tokens_per_gpu, rate);
}

std::string hardware_doubt(std::string_view text, const Result& result) {
  if (!result.telemetry) return {};
  const std::string hardware = hardware_of(text);
  const auto board = board_limit(result.telemetry->series);
  const std::string_view stated = board_family(hardware);
  if (!board || stated.empty() || stated == board_family(board->gpu)) return {};
  return fmt::format("the aggregate's hw is {}, and the recording is of {}", printable(hardware),
                     board->gpu);
}

}  // namespace

std::vector<std::string> aggregate_doubts(AggregateText aggregate, const LoadReading& load,
                                          const Result& result) {
  const Repeated said = repeated_in(aggregate.text);
  std::vector<std::string> other;
  if (load.max_concurrency.is_finite_number()) {
    const double own = load.max_concurrency.as_double();
    const auto named = concurrency_in_name(aggregate.name);
    if (said.conc && *said.conc != own) {
      other.push_back(fmt::format("conc {:.6g} for max_concurrency {:.6g}", *said.conc, own));
    } else if (named && *named != own) {
      other.push_back(
          fmt::format("a name with conc{:.6g} for max_concurrency {:.6g}", *named, own));
    }
  }
  if (!said.model.empty() && !load.model.empty() && !are_one_model(said.model, load.model)) {
    other.push_back(fmt::format("model '{}' for model_id '{}'", printable(said.model, 60),
                                printable(load.model, 60)));
  }
  if (std::string rate = rate_doubt(said, aggregate.text, load, result); !rate.empty()) {
    other.push_back(std::move(rate));
  }
  std::vector<std::string> doubts;
  if (!other.empty()) {
    doubts.push_back(fmt::format(
        "the aggregate contradicts the result: it has {}; if the result is another load's, so is the energy",
        fmt::join(other, ", ")));
  }
  if (std::string hardware = hardware_doubt(aggregate.text, result); !hardware.empty()) {
    doubts.push_back(std::move(hardware));
  }
  return doubts;
}

std::vector<std::string> count_doubts(std::string_view aggregate, const LoadReading& load,
                                      std::size_t counted) {
  std::vector<std::string> doubts;
  const auto own = static_cast<std::int64_t>(counted);
  const auto look_at = [&](std::string_view file, std::optional<std::int64_t> stated) {
    if (!stated || *stated == own) return;
    doubts.push_back(
        fmt::format("{} GPUs count, and the {} states {}: the energy is that of {} if it is right",
                    counted, file, *stated, *stated > own ? "only some of them" : "others, too"));
  };
  look_at("result", load.gpus);
  if (!aggregate.empty()) look_at("aggregate", gpus_of(aggregate));
  return doubts;
}

}  // namespace aggregate_power::runs
