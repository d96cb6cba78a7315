// Recomputes the outcome of a benchmark.
#include "core/load/benchmark_outcome.h"

#include <cstdint>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

struct Counts {
  std::int64_t requested = 0;
  std::int64_t completed = 0;

  std::int64_t failed() const { return requested - completed; }
  bool is_failure() const {
    return static_cast<double>(failed()) / static_cast<double>(requested) > kMaxFailureRate;
  }
  std::string text() const { return fmt::format("{} of {} requests failed", failed(), requested); }
  // Empty: no more failed than may.
  std::string failure() const {
    return is_failure() ? fmt::format("{}, at most {:g} % may", text(), kMaxFailureRate * 100) : "";
  }
};

std::optional<Counts> counts_of(const JsonValue& requested, const JsonValue& completed) {
  const auto asked = requested.as_integer();
  const auto done = completed.as_integer();
  if (!asked || !done || *asked <= 0 || *done < 0 || *done > *asked) return std::nullopt;
  return Counts{*asked, *done};
}

// A result need not have its own counts.
bool contradicts(const JsonValue& own, std::int64_t stated) {
  return !own.is_null() && !equal_in_python(own, JsonValue::integer(stated));
}

}  // namespace

JsonValue outcome_in(const ResultValues& values) {
  const std::string_view whole = kOutcomePaths[0];
  JsonValue outcome{values.kind(whole), values.text(whole)};
  for (const std::string_view path : std::span(kOutcomePaths).subspan(1)) {
    outcome.members.emplace_back(path.substr(whole.size() + 1),
                                 JsonValue{values.kind(path), values.text(path)});
  }
  return outcome;
}

JsonValue outcome_in(const JsonMember& member) {
  try {
    return member.text.empty() ? JsonValue::object() : parse_json(member.text);
  } catch (const JsonError&) {
    return JsonValue::object();
  }
}

std::string benchmark_failure(const JsonValue& outcome, const JsonValue& completed,
                              const JsonValue& num_prompts) {
  if (outcome.is_null()) {
    const auto counts = counts_of(num_prompts, completed);
    return counts ? counts->failure() : "";
  }
  const auto stated = counts_of(outcome.at("requested"), outcome.at("completed"));
  if (!stated) return "benchmark_outcome does not state how many requests completed";
  const std::string_view status = stated->is_failure() ? "failed" : "passed";
  const bool follows =
      outcome.at("status").text == status &&
      equal_in_python(outcome.at("failed"), JsonValue::integer(stated->failed())) &&
      equal_in_python(outcome.at("max_failure_rate"), JsonValue::real(kMaxFailureRate));
  if (!follows) {
    return fmt::format(
        "benchmark_outcome does not follow from its counts: {}, so its status is '{}'",
        stated->text(), status);
  }
  if (contradicts(completed, stated->completed) || contradicts(num_prompts, stated->requested)) {
    return fmt::format("benchmark_outcome has {} of {} requests completed, the result {} of {}",
                       stated->completed, stated->requested,
                       completed.is_null() ? "an unknown number" : completed.shown(),
                       num_prompts.is_null() ? "an unknown number" : num_prompts.shown());
  }
  return stated->is_failure() ? "benchmark_outcome: " + stated->text() : std::string();
}

std::string failure_by_counts(std::uint64_t failed, std::int64_t completed) {
  std::int64_t requested = 0;
  const bool is_sum =
      failed > 0 && completed >= 0 && !__builtin_add_overflow(completed, failed, &requested);
  return is_sum ? Counts{requested, completed}.failure() : "";
}

void refuse_failed(Contract contract, LoadReading& reading) {
  if (!rules_of(contract).refuses_failed_benchmark || reading.failure.empty()) return;
  reading.reasons.add(Reason::benchmark_failed, reading.failure);
}

}  // namespace aggregate_power
