// Shortens names as far as they stay apart.
#include "exports/export_names.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/unicode.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kLongestExportName = 200;  // characters

using NameAtTime = std::pair<std::string, double>;

// The number of a name among those that are equal so far, from 1.
class NameCounts {
 public:
  explicit NameCounts(bool is_by_time) : is_by_time_(is_by_time) {}
  std::size_t add(const std::string& name, double end_unix_s) {
    return ++counts_[{name, is_by_time_ ? end_unix_s : 0}];
  }
  bool is_one(const std::string& name, double end_unix_s) const {
    return counts_.at({name, is_by_time_ ? end_unix_s : 0}) == 1;
  }

 private:
  bool is_by_time_;
  std::map<NameAtTime, std::size_t> counts_;
};

}  // namespace

std::vector<std::string> distinct_names(const std::vector<NamedExport>& all, bool is_by_time) {
  const auto short_name = [](const NamedExport& one) {
    return printable(one.name, kLongestExportName);
  };
  NameCounts counts(is_by_time);
  for (const NamedExport& one : all) counts.add(short_name(one), one.end_unix_s);
  std::vector<std::string> names;
  NameCounts used(is_by_time);
  std::map<std::string, std::size_t> last_numbers;
  for (const NamedExport& one : all) {
    std::string name = short_name(one);
    if (!counts.is_one(name, one.end_unix_s)) name = printable(one.path, kLongestExportName);
    const std::string wanted = name;
    if (used.add(name, one.end_unix_s) > 1) {
      std::size_t& number = last_numbers.try_emplace(wanted, 1).first->second;
      do {
        name = fmt::format("{} #{}", wanted, ++number);
      } while (used.add(name, one.end_unix_s) > 1);
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::string short_export_name(const std::string& path) {
  std::string stem = plain_stem(path);
  for (const std::string_view begin : {"agg_", "power_validation_"}) {
    if (stem.starts_with(begin) && stem.size() > begin.size()) return stem.substr(begin.size());
  }
  return stem;
}

}  // namespace aggregate_power
