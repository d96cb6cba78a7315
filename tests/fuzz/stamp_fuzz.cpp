// Lines as stamps: a parser that has read the lines before must give what a fresh one gives.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/timestamp.h"
#include "fuzz/fuzz_util.h"

namespace {

using aggregate_power::Stamp;
using aggregate_power::StampParser;
using aggregate_power::Zone;
using aggregate_power::fuzz::require;

bool same(const std::optional<Stamp>& a, const std::optional<Stamp>& b) {
  if (!a || !b) return !a && !b;
  return std::bit_cast<std::uint64_t>(a->unix_s) == std::bit_cast<std::uint64_t>(b->unix_s) &&
         a->naive == b->naive;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Zone zones[] = {Zone::parse("Europe/Berlin"), Zone::fixed(-25200), Zone::local()};
  if (size == 0) return 0;
  const Zone& zone = zones[data[0] % 3];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  StampParser warm(zone);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : line.size());
    const std::optional<Stamp> stamp = warm.parse(line);
    require(same(stamp, warm.parse(line)) && same(stamp, StampParser(zone).parse(line)));
  }
  return 0;
}
