// Looks for members by their names.
#include "decisions/known_members.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/nearest.h"

namespace aggregate_power {

void require_members(std::string_view option, const std::vector<const PublishedRun*>& runs,
                     const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const auto has_it = [&](const PublishedRun* run) { return !run->text_of(key).empty(); };
    if (std::ranges::any_of(runs, has_it)) continue;
    std::vector<std::string> known;
    for (const PublishedRun* run : runs) {
      for (const auto& [name, value] : run->members.members) known.push_back(name);
    }
    throw Error(fmt::format("{}: no run has '{}'{}", option, key, did_you_mean(key, known)));
  }
}

}  // namespace aggregate_power
