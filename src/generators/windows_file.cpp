// Recognizes the form of a windows file, and reads it window by window.
#include "generators/windows_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/decimal.h"
#include "base/text/encoding.h"
#include "base/text/json.h"
#include "base/text/timestamp.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostWindowsBytes = std::size_t{512} << 20;
constexpr std::string_view kBlanks = " \t\r\v\f";

// The text of a windows file, and where messages say it is.
struct WindowsText {
  std::string_view text;
  const std::string& name;
  const WindowsFileOptions& options;

  [[noreturn]] void refuse(std::uint64_t line, const std::string& what) const {
    throw Error(fmt::format("{}:{}: {}", printable_path(name), line, what));
  }
};

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool is_content(std::string_view line) { return !line.empty() && line[0] != '#'; }

void add_window(std::vector<NamedWindow>& windows, std::string_view name, Window window) {
  if (name.empty()) throw Error("the window has no name");
  if (window.end_unix_s < window.start_unix_s) {
    throw Error(fmt::format("'{}' ends {} s before it begins", printable(name),
                            window.start_unix_s - window.end_unix_s));
  }
  windows.push_back({std::string(name), window});
}

// ---- begin NAME TIME, end NAME TIME

class WindowLines {
 public:
  explicit WindowLines(const WindowsText& file) : file_(file) {}

  void take(std::uint64_t number, std::string_view line) {
    const std::size_t after_word = line.find_first_of(kBlanks);
    const std::size_t before_time = line.find_last_of(kBlanks);
    const std::string_view word = line.substr(0, after_word);
    if ((word != "begin" && word != "end") || after_word == std::string_view::npos ||
        after_word == before_time) {
      file_.refuse(number, fmt::format("expected 'begin NAME TIME' or 'end NAME TIME', got '{}'",
                                       printable(line)));
    }
    const std::string_view name = without_blanks(line.substr(after_word, before_time - after_word));
    if (name.empty()) file_.refuse(number, "expected a name before the time");
    try {
      const double unix_s = instant_in(line.substr(before_time + 1), file_.options);
      word == "begin" ? begin(number, name, unix_s) : end(name, unix_s);
    } catch (const Error& error) {
      file_.refuse(number, error.what());
    }
  }

  std::vector<NamedWindow> finish() {
    std::uint64_t open = 0;
    const std::vector<Begin>* first = nullptr;
    for (const auto& [name, begins] : open_) {
      open += begins.size();
      if (!begins.empty() && (first == nullptr || begins[0].line < (*first)[0].line)) {
        first = &begins;
      }
    }
    if (first != nullptr) {
      const Begin& begin = first->front();
      file_.refuse(
          begin.line,
          fmt::format("'{}' begins here and never ends{}", printable(windows_[begin.window].name),
                      open > 1 ? fmt::format(" (nor do {} others)", open - 1) : ""));
    }
    return std::move(windows_);
  }

 private:
  struct Begin {
    std::uint64_t line = 0;
    std::size_t window = 0;
  };

  void begin(std::uint64_t number, std::string_view name, double unix_s) {
    auto place = open_.find(name);
    if (place == open_.end()) place = open_.emplace(name, std::vector<Begin>()).first;
    place->second.push_back({number, windows_.size()});
    windows_.push_back({std::string(name), {unix_s, unix_s}});
  }

  void end(std::string_view name, double unix_s) {
    const auto place = open_.find(name);
    if (place == open_.end()) {
      throw Error(fmt::format("'{}' ends here and has not begun", printable(name)));
    }
    const Begin begin = place->second.back();
    place->second.pop_back();
    if (place->second.empty()) open_.erase(place);  // names may be as many as windows
    Window& window = windows_[begin.window].window;
    if (unix_s < window.start_unix_s) {
      throw Error(fmt::format("'{}' ends {} s before it begins on line {}", printable(name),
                              window.start_unix_s - unix_s, begin.line));
    }
    window.end_unix_s = unix_s;
  }

  const WindowsText& file_;
  std::vector<NamedWindow> windows_;
  std::map<std::string, std::vector<Begin>, std::less<>> open_;
};

std::vector<NamedWindow> read_window_lines(const WindowsText& file) {
  WindowLines lines(file);
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < file.text.size();) {
    const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
    const std::string_view line = without_blanks(file.text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (is_content(line)) lines.take(number, line);
  }
  return lines.finish();
}

// ---- CSV

// Where a table has what a window needs.
struct WindowColumns {
  std::size_t name = 0;
  std::size_t start = 0;
  std::size_t end = 0;  // of Zeus the duration
  bool is_zeus = false;
  std::vector<std::pair<std::size_t, std::string>> energies = {};  // of Zeus: by the GPU's number
};

// The number of the GPU of a column such as gpu3_energy; empty: it is another column.
std::string_view gpu_of_energy(std::string_view column) {
  constexpr std::string_view kBegin = "gpu";
  constexpr std::string_view kEnd = "_energy";
  if (!column.starts_with(kBegin) || !column.ends_with(kEnd)) return {};
  column.remove_prefix(kBegin.size());
  column.remove_suffix(kEnd.size());
  return is_ascii_digits(column) ? column : std::string_view();
}

std::optional<WindowColumns> window_columns(std::span<const std::string> header) {
  const auto place = [&](std::string_view wanted) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (lower_ascii(strip(header[i])) == wanted) return i;
    }
    return std::nullopt;
  };
  const auto columns = [&](const char* name, const char* start, const char* end,
                           bool is_zeus) -> std::optional<WindowColumns> {
    const auto names = place(name);
    const auto starts = place(start);
    const auto ends = place(end);
    if (!names || !starts || !ends) return std::nullopt;
    return WindowColumns{*names, *starts, *ends, is_zeus};
  };
  auto zeus = columns("window_name", "start_time", "elapsed_time", true);
  if (!zeus) return columns("name", "start", "end", false);
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string column = lower_ascii(strip(header[i]));
    if (const std::string_view gpu = gpu_of_energy(column); !gpu.empty()) {
      zeus->energies.emplace_back(i, gpu);
    }
  }
  return zeus;
}

Window zeus_window(std::string_view start, std::string_view elapsed, bool any_clock) {
  const auto start_s = python_float(start);
  const auto elapsed_s = python_float(elapsed);
  if (!start_s || !std::isfinite(*start_s)) {
    throw Error(fmt::format("start_time '{}' is not a number", printable(start)));
  }
  if (!elapsed_s || !std::isfinite(*elapsed_s)) {
    throw Error(fmt::format("elapsed_time '{}' is not a number", printable(elapsed)));
  }
  if (*start_s < kFirstAbsoluteUnixS && !any_clock) {
    throw Error(fmt::format(
        "start_time {} is of the machine's monotonic clock, as some versions of Zeus write it: it does not say when the window was; log begins and ends in Unix time",
        printable(start)));
  }
  return {*start_s, *start_s + *elapsed_s};
}

void take_window_row(const WindowColumns& columns, std::span<const std::string> cells,
                     const WindowsFileOptions& options, std::vector<NamedWindow>& windows) {
  if (cells.size() <= std::max({columns.name, columns.start, columns.end})) {
    throw Error(fmt::format("the row has {} cells, too few for its columns", cells.size()));
  }
  const std::string_view start = strip(cells[columns.start]);
  const std::string_view end = strip(cells[columns.end]);
  const Window window = columns.is_zeus
                            ? zeus_window(start, end, options.any_clock)
                            : Window{instant_in(start, options), instant_in(end, options)};
  add_window(windows, cells[columns.name], window);
  for (const auto& [index, gpu] : columns.energies) {
    const auto joules = index < cells.size() ? python_float(strip(cells[index])) : std::nullopt;
    if (joules && std::isfinite(*joules)) windows.back().logged_j.emplace_back(gpu, *joules);
  }
}

std::vector<NamedWindow> read_window_table(const WindowsText& file) {
  constexpr std::size_t kRowsAtOnce = 4096;
  std::vector<NamedWindow> windows;
  std::optional<WindowColumns> columns;
  std::uint64_t line = 1;
  for (std::size_t at = 0; at < file.text.size();) {
    const std::string_view rest = file.text.substr(at);
    std::vector<CsvTextRow> rows;
    try {
      split_csv(rest, kRowsAtOnce, true, rows);
    } catch (const CsvError& error) {
      if (rows.empty()) file.refuse(line, error.what());
    }
    if (rows.empty()) break;
    for (const CsvTextRow& row : rows) {
      const std::string_view bytes = rest.substr(row.begin, row.end - row.begin);
      try {
        if (row.blank || !is_content(without_blanks(bytes))) {
          if (std::ranges::count(bytes, '\n') > 1) throw Error("the comment opens a quote");
        } else if (columns) {
          take_window_row(*columns, row.cells, file.options, windows);
        } else if (columns = window_columns(row.cells); !columns) {
          throw Error(
              "expected lines 'begin NAME TIME', a CSV with the columns name, start and end, a CSV of Zeus (start_time, window_name, elapsed_time), or a JSON list or lines");
        }
      } catch (const Error& error) {
        file.refuse(line, error.what());
      }
      line += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
    }
    at += rows.back().end;
  }
  return windows;
}

// ---- JSON

constexpr std::string_view kListPaths[] = {"[]", "[].name", "[].start", "[].end"};
constexpr std::string_view kLinePaths[] = {"", "name", "start", "end"};

class WindowVisitor final : public JsonVisitor {
 public:
  explicit WindowVisitor(const WindowsText& file) : file_(file) {}

  void begin(std::size_t path) override {
    if (path == 0) fields_ = {};
  }
  void end(std::size_t path) override {
    if (path == 0) add();
  }
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    const bool is_text = kind == JsonKind::string;
    const bool is_number = kind == JsonKind::integer || kind == JsonKind::real;
    if (path == 0) refuse("expected an object with name, start and end");
    if (is_text || (is_number && path > 1)) fields_[path - 1] = text;
  }
  std::vector<NamedWindow> take() && { return std::move(windows_); }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(
        fmt::format("{}: window {}: {}", printable_path(file_.name), windows_.size() + 1, what));
  }
  void add() {
    constexpr std::string_view kNeeds[] = {"name: a text", "start: a time", "end: a time"};
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].empty()) refuse(fmt::format("expected {}", kNeeds[i]));
    }
    try {
      add_window(windows_, fields_[0],
                 {instant_in(fields_[1], file_.options), instant_in(fields_[2], file_.options)});
    } catch (const Error& error) {
      refuse(error.what());
    }
  }

  const WindowsText& file_;
  std::array<std::string, 3> fields_;  // name, start, end
  std::vector<NamedWindow> windows_;
};

std::vector<NamedWindow> read_window_json(const WindowsText& file, bool is_list) {
  MemorySource source(file.text);
  const JsonPaths paths(is_list ? kListPaths : kLinePaths);
  WindowVisitor visitor(file);
  try {
    walk_json(source, paths, visitor, is_list ? JsonTexts::one : JsonTexts::several);
  } catch (const JsonError& error) {
    throw Error(fmt::format("{}:{}", printable_path(file.name), error.what()));
  }
  return std::move(visitor).take();
}

std::string_view first_content(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_blanks(text.substr(0, end));
    if (is_content(line)) return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

}  // namespace

double instant_in(std::string_view text, const WindowsFileOptions& options) {
  if (text.starts_with('+') || text.starts_with('-')) {
    const auto seconds = python_float(text);
    if (seconds && std::isfinite(*seconds)) {
      return *seconds +
             (text[0] == '+' ? options.recorded.start_unix_s : options.recorded.end_unix_s);
    }
  }
  const auto unix_s = instant_of(text, options.zone ? &*options.zone : nullptr);
  if (!unix_s) {
    const Zone utc = Zone::fixed(0);
    throw Error(fmt::format(
        "'{}' {}", printable(text),
        instant_of(text, &utc)
            ? "has no offset from UTC: write one, or Z, or name the zone with --timezone"
            : "is not a time: expected Unix time, ISO 8601 without blanks, +SECONDS after the recording's start or -SECONDS before its end"));
  }
  if (*unix_s < kFirstAbsoluteUnixS) {
    throw Error(fmt::format(
        "{} is not Unix time, which is above 1e8: write +{} if it counts from the recording's start; times of a monotonic clock do not say when",
        printable(text), printable(text)));
  }
  if (options.states_times) *options.states_times = true;
  return *unix_s;
}

std::vector<NamedWindow> read_windows(std::string_view text, const std::string& name,
                                      const WindowsFileOptions& options) {
  const WindowsText file{text, name, options};
  const std::string_view first = first_content(text);
  const std::string_view word = first.substr(0, first.find_first_of(kBlanks));
  const bool is_lines = word == "begin" || word == "end";
  std::vector<NamedWindow> windows = first.starts_with('[') || first.starts_with('{')
                                         ? read_window_json(file, first.starts_with('['))
                                     : is_lines ? read_window_lines(file)
                                                : read_window_table(file);
  if (windows.empty()) {
    throw Error(fmt::format(
        "{}: it has no window: expected lines 'begin NAME TIME' and 'end NAME TIME', a CSV with the columns name, start and end, or a JSON list or lines of such objects",
        printable_path(name)));
  }
  return windows;
}

bool is_zeus_log(std::string_view head) {
  try {
    const auto rows = split_csv(first_content(head), 1, true);
    const auto columns = rows.empty() ? std::nullopt : window_columns(rows[0].cells);
    return columns && columns->is_zeus;
  } catch (const CsvError&) {
    return false;
  }
}

std::vector<NamedWindow> read_windows_file(const std::string& path,
                                           const WindowsFileOptions& options) {
  const auto source = as_utf8(decompressed(open_source(path), path));
  std::string text;
  std::array<char, 65536> chunk;
  while (const std::size_t count = source->read(chunk)) {
    text.append(chunk.data(), count);
    if (text.size() > kMostWindowsBytes) {
      throw Error(fmt::format("{}: more than 512 MiB: divide the file", printable_path(path)));
    }
  }
  return read_windows(text, path, options);
}

}  // namespace aggregate_power
