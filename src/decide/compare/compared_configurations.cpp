// Orders configurations, and names them by what differs.
#include "decide/compare/compared_configurations.h"

#include <algorithm>
#include <compare>
#include <optional>
#include <set>
#include <string>

#include "base/text/python_number.h"

namespace aggregate_power {
namespace {

const std::string* configuration_member(const Configuration& configuration,
                                        const std::string& key) {
  const auto found = std::ranges::find(configuration, key, &Configuration::value_type::first);
  return found == configuration.end() ? nullptr : &found->second;
}

// Numbers come before other texts.
bool member_text_less(const std::string& a, const std::string& b) {
  const std::optional<double> a_number = nearest_double(a);
  const std::optional<double> b_number = nearest_double(b);
  if (a_number.has_value() != b_number.has_value()) return a_number.has_value();
  if (a_number && *a_number != *b_number) return *a_number < *b_number;
  return a < b;
}

bool is_shared_member(const std::string& key, const std::vector<Configuration>& configurations) {
  const std::string* const first = configuration_member(configurations.front(), key);
  return first != nullptr &&
         std::ranges::all_of(configurations, [&](const Configuration& configuration) {
           const std::string* const value = configuration_member(configuration, key);
           return value != nullptr && *value == *first;
         });
}

}  // namespace

bool ConfigurationLess::operator()(const Configuration& a, const Configuration& b) const {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].first != b[i].first) return a[i].first < b[i].first;
    if (a[i].second != b[i].second) return member_text_less(a[i].second, b[i].second);
  }
  return a.size() < b.size();
}

Configuration shared_members(const std::vector<Configuration>& configurations) {
  Configuration shared;
  if (configurations.size() < 2) return shared;
  for (const auto& [key, value] : configurations.front()) {
    if (is_shared_member(key, configurations)) shared.emplace_back(key, value);
  }
  return shared;
}

std::vector<std::string> distinguishing_keys(const std::vector<Configuration>& configurations) {
  if (configurations.empty()) return {};
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const Configuration& each : configurations) {
    for (const auto& [key, value] : each) {
      if (!seen.insert(key).second) continue;
      const bool is_alone = configurations.size() == 1;
      if (is_alone || !is_shared_member(key, configurations)) keys.push_back(key);
    }
  }
  return keys;
}

std::string distinguishing_text(const Configuration& configuration,
                                const std::vector<std::string>& keys) {
  Configuration apart;
  for (const std::string& key : keys) {
    const std::string* const own = configuration_member(configuration, key);
    apart.emplace_back(key, own == nullptr ? "?" : *own);
  }
  return configuration_text(apart);
}

}  // namespace aggregate_power
