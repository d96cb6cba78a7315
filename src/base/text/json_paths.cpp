// Builds the tree of wanted paths.
#include "base/text/json_paths.h"

#include <algorithm>

namespace aggregate_power {

JsonPaths::JsonPaths(std::span<const std::string_view> paths) : nodes_(1) {
  int id = 0;
  for (std::string_view rest : paths) {
    int node = kRoot;
    while (!rest.empty()) {
      if (rest.starts_with("[]")) {
        node = add_element(node);
        rest.remove_prefix(2);
        continue;
      }
      if (rest.starts_with('.')) rest.remove_prefix(1);
      const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
      const std::string_view key = rest.substr(0, end);
      node = key == "*" ? add_any_member(node) : add_member(node, key);
      rest.remove_prefix(end);
    }
    nodes_[static_cast<std::size_t>(node)].id = id++;
  }
}

int JsonPaths::member(int node, std::string_view key) const {
  const Node& object = nodes_[static_cast<std::size_t>(node)];
  for (const auto& [name, child] : object.members) {
    // Most keys differ in their length or their first character.
    if (name.size() != key.size() || name.front() != key.front()) continue;
    if (name == key) return child;
  }
  return object.any_member;
}

int JsonPaths::add_member(int node, std::string_view key) {
  const int known = member(node, key);
  if (known >= 0 && !is_any_member(known)) return known;
  const int child = static_cast<int>(nodes_.size());
  nodes_.emplace_back();
  nodes_[static_cast<std::size_t>(node)].members.emplace_back(key, child);
  return child;
}

int JsonPaths::add_element(int node) {
  if (const int known = element(node); known >= 0) return known;
  const int child = static_cast<int>(nodes_.size());
  nodes_.emplace_back();
  return nodes_[static_cast<std::size_t>(node)].element = child;
}

int JsonPaths::add_any_member(int node) {
  if (const int known = nodes_[static_cast<std::size_t>(node)].any_member; known >= 0) return known;
  const int child = static_cast<int>(nodes_.size());
  nodes_.emplace_back().is_any = true;
  return nodes_[static_cast<std::size_t>(node)].any_member = child;
}

}  // namespace aggregate_power
