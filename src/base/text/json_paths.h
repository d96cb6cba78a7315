// The parts of a JSON document that matter, by path.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aggregate_power {

// Paths such as "duration", "server_info.tp_size", "benchmarks[].start_time", "itls[][]", or "" for
// the whole document; "[]" stands for each element of an array, and the key "*" for each member of
// an object that no other path names. Keys contain no '.' and no '['.
class JsonPaths {
 public:
  // The n-th path has the id n. Paths differ.
  explicit JsonPaths(std::span<const std::string_view> paths);

  static constexpr int kRoot = 0;
  // All return -1 for nothing wanted. `key` is without escapes.
  int member(int node, std::string_view key) const;
  int element(int node) const { return nodes_[static_cast<std::size_t>(node)].element; }
  // Whether the node is a "*": the visitor gets its key.
  bool is_any_member(int node) const { return nodes_[static_cast<std::size_t>(node)].is_any; }
  int id(int node) const { return nodes_[static_cast<std::size_t>(node)].id; }

 private:
  struct Node {
    std::vector<std::pair<std::string, int>> members;
    int element = -1;
    int any_member = -1;
    int id = -1;
    bool is_any = false;
  };
  int add_member(int node, std::string_view key);
  int add_element(int node);
  int add_any_member(int node);

  std::vector<Node> nodes_;
};

}  // namespace aggregate_power
