// Collects the key paths in the beginning of a JSON text, which may break off anywhere.
#include "core/load/result_head.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace aggregate_power {
namespace {

constexpr std::size_t kMostKeys = 2000;
constexpr std::size_t kMostLevelsKept = kMostKeyLevels + 2;

// Follows braces, brackets and strings, and nothing else.
class KeyCollector {
 public:
  KeyCollector(std::string_view text, std::set<std::string, std::less<>>& keys)
      : rest_(text), keys_(keys) {}

  void collect() {
    while (!rest_.empty() && keys_.size() < kMostKeys) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') {
        string();
      } else if (c == '{' || c == '[') {
        open(c == '[');
      } else if ((c == '}' || c == ']') && !levels_.empty()) {
        levels_.pop_back();
      } else if (c == ',' && !levels_.empty()) {
        levels_.back().key.clear();
      }
    }
  }

 private:
  struct Level {
    std::string prefix;  // the path of the container
    bool is_array = false;
    std::string key = {};  // the member that is being read
  };

  // The path of a value that begins here.
  std::string path() const {
    if (levels_.empty()) return {};
    const Level& level = levels_.back();
    if (level.is_array) return level.prefix + "[]";
    return level.prefix.empty() ? level.key : level.prefix + "." + level.key;
  }

  // The paths of deeper levels are not kept.
  void open(bool is_array) {
    const bool is_deep = levels_.size() > kMostLevelsKept;
    levels_.push_back({is_deep ? std::string() : path(), is_array});
  }

  void string() {
    std::size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    const std::string_view text = rest_.substr(0, std::min(end, rest_.size()));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    const std::size_t next = rest_.find_first_not_of(" \t\r\n");
    const bool is_key = next != rest_.npos && rest_[next] == ':';
    if (!is_key || levels_.empty() || levels_.back().is_array) return;
    levels_.back().key = text;
    if (levels_.size() <= kMostLevelsKept) keys_.insert(path());
  }

  std::string_view rest_;
  std::set<std::string, std::less<>>& keys_;
  std::vector<Level> levels_;
};

}  // namespace

ResultHead result_head(std::string_view text) {
  ResultHead head{text, {}};
  KeyCollector(text, head.keys).collect();
  return head;
}

}  // namespace aggregate_power
