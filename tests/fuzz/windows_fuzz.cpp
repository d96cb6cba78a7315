// Any bytes to the readers of logs of windows: lines, tables, JSON, CSVs of Zeus. What is read must
// be windows that can be nested.
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "aggregate_power/error.h"
#include "energy/shares/window_tree.h"
#include "fuzz/fuzz_util.h"
#include "generators/windows_file.h"

namespace {

using namespace aggregate_power;
using fuzz::require;

void read_window_list(std::string_view text, bool any_clock) {
  std::vector<NamedWindow> named;
  try {
    named = read_windows(
        text, "w",
        {.recorded = {1777118400, 1777118500}, .zone = Zone::fixed(0), .any_clock = any_clock});
  } catch (const Error&) {
    return;
  }
  require(!named.empty());
  std::vector<Window> windows;
  for (const NamedWindow& window : named) windows.push_back(window.window);
  const WindowTree tree(windows);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    require(std::isfinite(windows[i].start_unix_s) && std::isfinite(windows[i].end_unix_s));
    require(windows[i].start_unix_s <= windows[i].end_unix_s);
    for (const Window& own : tree.own(i)) {
      require(windows[i].start_unix_s <= own.start_unix_s &&
              own.end_unix_s <= windows[i].end_unix_s);
    }
  }
}

}  // namespace

// The first byte decides whether times of any clock are accepted.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) read_window_list(fuzz::text_of(data + 1, size - 1), data[0] % 2 == 1);
  return 0;
}
