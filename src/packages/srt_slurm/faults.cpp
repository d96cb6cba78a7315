// Collects faults of a package.
#include "packages/srt_slurm/faults.h"

#include <iterator>
#include <utility>

namespace aggregate_power {

void PackageFaults::add(std::string text, bool is_elsewhere) {
  list.push_back({std::move(text), is_elsewhere});
}

void PackageFaults::add(std::string text, bool is_elsewhere, const std::string& name) {
  add(std::move(text), is_elsewhere);
  if (is_elsewhere) count_elsewhere(name, 1);
}

void PackageFaults::count_elsewhere(const std::string& name, std::uint64_t count) {
  if (count > 0) elsewhere[name] += count;
}

void PackageFaults::add(PackageFaults others) {
  list.insert(list.end(), std::make_move_iterator(others.list.begin()),
              std::make_move_iterator(others.list.end()));
  for (const auto& [name, count] : others.elsewhere) count_elsewhere(name, count);
}

}  // namespace aggregate_power
