// Gathers the power limits of runs, and names those that differ.
#include "decide/compare/compared_limits.h"

#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/system/parallel.h"
#include "decide/recommend/limit_sweep.h"
#include "decide/recommend/run_limits.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostReadForLimits = 200;

// From the lowest to the highest, each once.
std::vector<double> limits_of_side(const LimitsByRun& limits_w,
                                   const std::vector<const PublishedRun*>& runs) {
  std::vector<double> known_w;
  for (const PublishedRun* const run : runs) {
    const auto found = limits_w.find(run);
    if (found != limits_w.end()) known_w.push_back(found->second);
  }
  return distinct_limits(std::move(known_w));
}

// "250 W, 300 W"
std::string limits_text(const std::vector<double>& limits_w) {
  std::vector<std::string> texts;
  for (const double limit_w : limits_w) texts.push_back(fmt::format("{:.6g} W", limit_w));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

LimitsByRun limits_by_run(const std::vector<const PublishedRun*>& runs, unsigned most_threads) {
  const bool are_read = runs.size() <= kMostReadForLimits;
  std::vector<std::optional<double>> found_w(runs.size());
  in_parallel(runs.size(), most_threads, [&](std::size_t i) {
    if (runs[i]->state != PowerState::valid) return;
    found_w[i] = stated_limit_w(*runs[i]);
    if (found_w[i] || !are_read) return;
    found_w[i] = limit_of_run(*runs[i], "").in_force_w;
  });
  LimitsByRun limits_w;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (found_w[i]) limits_w.emplace(runs[i], *found_w[i]);
  }
  return limits_w;
}

std::vector<std::string> limit_notes(const LimitsByRun& limits_w,
                                     const std::vector<const PublishedRun*>& base,
                                     const std::vector<const PublishedRun*>& next) {
  const std::vector<double> before_w = limits_of_side(limits_w, base);
  const std::vector<double> after_w = limits_of_side(limits_w, next);
  std::vector<std::string> notes;
  for (const auto& [side, side_w] :
       {std::pair("the base", &before_w), {"the new side", &after_w}}) {
    if (side_w->size() < 2) continue;
    notes.push_back(fmt::format(
        "the runs of {} were at several power limits ({}), which widens the interval: compare runs at one limit, or tell them apart with --match-by",
        side, limits_text(*side_w)));
  }
  const bool are_single = before_w.size() == 1 && after_w.size() == 1;
  if (are_single && !is_same_limit(before_w[0], after_w[0])) {
    notes.push_back(fmt::format(
        "the base was at a power limit of {}, the new side at {}: the change is also that of the limit",
        limits_text(before_w), limits_text(after_w)));
  }
  return notes;
}

}  // namespace aggregate_power
