// Takes the marks and words off that scripts put before a time.
#include "core/telemetry/time_line.h"

#include "aggregate_power/sample.h"
#include "base/text/timestamp.h"
#include "base/text/characters.h"

namespace aggregate_power {

std::string_view time_of_line(std::string_view line) {
  if (line.find('{') != line.npos) return {};
  if (line.starts_with("# HELP") || line.starts_with("# TYPE")) return {};
  while (line.starts_with('#') || line.starts_with('=') || line.starts_with('-')) {
    line.remove_prefix(1);
  }
  line = strip(line);
  for (const std::string_view word : {"timestamp", "scrape", "time", "date"}) {
    if (!lower_ascii(line.substr(0, word.size())).starts_with(word)) continue;
    line.remove_prefix(word.size());
    line = strip(line);
    while (line.starts_with(':') || line.starts_with('=')) line.remove_prefix(1);
    line = strip(line);
  }
  static const Zone utc = Zone::fixed(0);
  const auto stamp = StampParser(utc).parse(line);
  return stamp && stamp->unix_s >= kFirstAbsoluteUnixS ? line : std::string_view();
}

}  // namespace aggregate_power
