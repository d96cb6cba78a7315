// Any bytes to the scanner, and any object through a patch.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text/json.h"
#include "base/text/json_patch.h"
#include "fuzz/fuzz_util.h"

namespace {

using namespace aggregate_power;
using fuzz::PieceSource;
using fuzz::require;

struct Found {
  JsonKind kind = JsonKind::null;
  std::vector<std::string> keys;
  std::string fault;
  bool operator==(const Found&) const = default;
};

Found scan(ByteSource& source) {
  Found found;
  try {
    found.kind = scan_json(source, [&](const JsonMember& m) {
                   require(m.key_begin < m.key_end && m.key_end < m.value_begin);
                   require(m.value_begin < m.value_end);
                   found.keys.emplace_back(m.key);
                 }).kind;
  } catch (const JsonError& error) {
    found.fault = error.what();
  }
  return found;
}

Found scan(std::string_view text) {
  MemorySource source(text);
  return scan(source);
}

// Writes down what is visited.
class Visits : public JsonVisitor {
 public:
  void key(std::size_t path, std::string_view key) override { note('k', path, key); }
  void begin(std::size_t path) override { note('b', path, {}); }
  void end(std::size_t path) override { note('e', path, {}); }
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    note(static_cast<char>('0' + static_cast<int>(kind)), path, text);
  }
  std::string all;

 private:
  void note(char what, std::size_t path, std::string_view text) {
    all.append(1, what).append(std::to_string(path)).append(text).append(1, '\n');
  }
};

std::string walk(ByteSource& source) {
  static constexpr std::string_view kPaths[] = {"a", "[]", "[][]", "v[]", "v[][]", "*.*", "[].a"};
  static const JsonPaths paths(kPaths);
  Visits visits;
  try {
    walk_json(source, paths, visits, JsonTexts::several);
  } catch (const JsonError& error) {
    visits.all += error.what();
  }
  return visits.all;
}

// Elements of arrays are found ahead, unless there is one byte at a time.
void walk_both_ways(std::string_view text) {
  MemorySource whole(text);
  PieceSource drip(text, 1);
  require(walk(whole) == walk(drip));
}

void patch(std::string_view text) {
  const std::vector<JsonEdit> edits = {
      {"a", "1"}, {"b", ""}, {"power_valid", "[true, {}]"}, {"\"\\\n", "\"x\""}};
  const std::string once = patch_json(text, edits);
  require(patch_json(once, edits) == once);

  const Found found = scan(once);
  require(found.fault.empty() && found.kind == JsonKind::object);
  for (const JsonEdit& edit : edits) {
    require(std::ranges::count(found.keys, edit.key) == (edit.value.empty() ? 0 : 1));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Found found = scan(text);
  PieceSource drip(text, 1);
  require(scan(drip) == found);
  walk_both_ways(text);
  if (!found.fault.empty() || found.kind != JsonKind::object) return 0;

  require(patch_json(text, {}) == text);
  patch(text);
  return 0;
}
