// Counts of a backfill.
#include "store/backfill/backfill_progress.h"

#include <iterator>

namespace aggregate_power {

std::uint64_t BackfillCounts::done() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : outcomes) sum += count;
  return sum;
}

void RunsOfReason::add(const std::string& name) {
  constexpr std::size_t kMostNames = 3;
  ++runs;
  first_names.insert(name);
  if (first_names.size() > kMostNames) first_names.erase(std::prev(first_names.end()));
}

}  // namespace aggregate_power
