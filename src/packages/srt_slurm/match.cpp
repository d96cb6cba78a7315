// Compares a processed benchmark result with the windows of a package.
#include "packages/srt_slurm/check.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/path.h"
#include "base/text/json.h"

namespace aggregate_power {
namespace {

bool same_bytes(const OpenedFile& a, const OpenedFile& b) {
  if (a.size() != b.size()) return false;
  std::array<char, 65536> of_a;
  std::array<char, 65536> of_b;
  for (std::uint64_t at = 0; at < a.size();) {
    const std::size_t count = a.read_at(at, of_a);
    if (count == 0) return false;
    for (std::size_t got = 0; got < count;) {
      const std::size_t more = b.read_at(at + got, std::span(of_b).subspan(got, count - got));
      if (more == 0) return false;
      got += more;
    }
    if (!std::equal(of_a.begin(), of_a.begin() + static_cast<std::ptrdiff_t>(count),
                    of_b.begin())) {
      return false;
    }
    at += count;
  }
  return true;
}

std::string sound_json(const OpenedFile& file) {
  std::string text =
      read_whole(*decompressed(file.source(), file.name()), file.name(), kPackageFile);
  MemorySource source(text);
  scan_json(source, [](const JsonMember&) {});
  return text;
}

// Throws FileError or JsonError.
bool is_copy(const OpenedFile& file, const OpenedFile& original) {
  if (same_bytes(original, file)) return true;
  const std::string text = sound_json(original);
  return same_json(text, sound_json(file));
}

// Whether the result itself states a window, and a different one.
bool has_other_window(const LoadReading& reading, const PackageWindow& window) {
  return reading.load && reading.reasons.empty() &&
         (reading.load->window.start_unix_s != window.start_unix_s ||
          reading.load->window.end_unix_s != *window.end_unix_s);
}

// Why this window cannot be the result's.
Findings check_window(const MatchRequest& request, const PackageWindow& window) {
  Findings findings;
  const auto refuse = [&](Reason reason, const std::string& detail) {
    findings.add(reason, detail);
    return findings;
  };
  const std::string& name = request.result_name;
  if (!request.window_file.empty() && window.file != request.window_file) {
    return refuse(
        Reason::agentic_concurrency_mismatch,
        fmt::format("{}: its window is not {}, but {}", name, request.window_file, window.file));
  }
  const std::string original = path_below(request.place.logs_root, window.result_path);
  try {
    if (!is_copy(*request.result, request.place.tree->open(original))) {
      return refuse(Reason::result_content_mismatch,
                    fmt::format("{} is not what {} is", name, original));
    }
  } catch (const FileError& error) {
    return refuse(Reason::measurement_window_result_missing, error.what());
  } catch (const JsonError& error) {
    return refuse(Reason::measurement_window_result_missing,
                  fmt::format("{}:{}", original, error.what()));
  }
  if (has_other_window(request.reading, window)) {
    return refuse(Reason::measurement_window_result_mismatch,
                  fmt::format("{} does not start and end as {} says", name, window.file));
  }
  return findings;
}

}  // namespace

std::optional<PackageWindow> match_window(const MatchRequest& request, Findings& findings) {
  const LoadReading& reading = request.reading;
  if (!request.result || reading.reasons.contains(Reason::invalid_benchmark_result)) {
    findings.add(Reason::invalid_benchmark_result, reading.reasons.entries().front().detail);
    return std::nullopt;
  }
  const auto windows = windows_of(request.scan, reading.max_concurrency);
  if (windows.size() != 1) {
    findings.add(Reason::window_for_result_missing,
                 fmt::format("{} completed windows have the result's max_concurrency, {}",
                             windows.size(), reading.max_concurrency.shown()));
    return std::nullopt;
  }
  const Findings faults = check_window(request, windows[0]);
  findings.add(faults);
  return faults.reasons.empty() ? std::optional(windows[0]) : std::nullopt;
}

}  // namespace aggregate_power
