// Keeps the events of a Chrome trace that matter, as they stream by.
#include "generators/gpu_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <queue>
#include <tuple>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/decimal.h"
#include "base/text/json.h"

namespace aggregate_power {
namespace {

constexpr std::int64_t kNanos = 1'000'000'000;
constexpr std::int64_t kLongestNs = kNanos * kNanos;  // so that no sum overflows

// An event's members, below "traceEvents[]" or below "[]": a trace may be the list alone.
enum EventField {
  kEvent,
  kEventPhase,
  kEventCategory,
  kEventName,
  kEventProcess,
  kEventThread,
  kEventTime,
  kEventDuration,
  kEventDevice
};
constexpr std::string_view kEventMembers[] = {"",     ".ph", ".cat", ".name",       ".pid",
                                              ".tid", ".ts", ".dur", ".args.device"};
constexpr std::size_t kEventFields = std::size(kEventMembers);
constexpr std::string_view kOtherPaths[] = {"traceEvents", "baseTimeNanoseconds",
                                            "deviceProperties[]", "deviceProperties[].id",
                                            "deviceProperties[].name"};
enum OtherField { kAllEvents = 2 * kEventFields, kBaseTime, kProperty, kPropertyId, kModel };

JsonPaths trace_paths() {
  std::vector<std::string> events;
  for (const std::string_view parent : {"traceEvents[]", "[]"}) {
    for (const std::string_view member : kEventMembers) {
      events.push_back(fmt::format("{}{}", parent, member));
    }
  }
  std::vector<std::string_view> paths(events.begin(), events.end());
  paths.insert(paths.end(), std::begin(kOtherPaths), std::end(kOtherPaths));
  return JsonPaths(paths);
}

enum class EventKind { other, gpu, gpu_range, host_range };

// Decimal microseconds as nanoseconds, without rounding those that have at most three decimals.
std::optional<std::int64_t> nanos_of_micros(std::string_view text) {
  constexpr std::int64_t kMostMicros = 4'000'000'000'000'000;  // in the year 2096
  const bool is_negative = text.starts_with('-');
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view decimals = text.substr(std::min(point + 1, text.size()));
  const auto micros = from_text<std::int64_t>(text.substr(0, point));
  if (!micros || decimals.size() > 3) {  // an exponent, or more digits than a clock has
    const auto value = from_text<double>(text);
    if (!value || !(std::abs(*value) < static_cast<double>(kMostMicros))) return std::nullopt;
    return std::llround(*value * 1e3);
  }
  if (*micros > kMostMicros || *micros < -kMostMicros) return std::nullopt;
  std::int64_t nanos = 0;
  std::int64_t unit = 100;
  for (const char digit : decimals) {
    nanos += (digit - '0') * unit;
    unit /= 10;
  }
  return *micros * 1000 + (is_negative ? -nanos : nanos);
}

class TraceReader final : public JsonVisitor {
 public:
  TraceReader(GpuTrace& trace, TraceRanges wanted) : trace_(trace), wanted_(wanted) {}

  void begin(std::size_t path) override {
    if (path == kAllEvents) has_events_ = true;
    if (path == kProperty) property_ = {};
    if (path == kEvent || path == kEventFields) {
      has_events_ = true;
      event_.kind = EventKind::other;
      event_.has_category = event_.is_complete = event_.is_beginning = false;
      event_.name = "(no name)";
      event_.device.reset();
      event_.process.clear();
      event_.thread.clear();
      event_.start_ns.reset();
      event_.duration_ns = 0;
    }
  }

  void end(std::size_t path) override {
    if (path == kProperty && property_.id) models_[*property_.id] = property_.name;
    const bool is_event = path == kEvent || path == kEventFields;
    if (is_event && event_.is_complete && event_.kind != EventKind::other) add_event();
    if (is_event && event_.is_beginning && event_.kind == EventKind::gpu) ++trace_.paired_events;
  }

  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    if (path < kAllEvents) return member(static_cast<EventField>(path % kEventFields), text);
    if (path == kBaseTime) base_ns_ = from_text<std::int64_t>(text);
    if (path == kPropertyId && kind == JsonKind::integer)
      property_.id = from_text<std::int64_t>(text);
    if (path == kModel) property_.name = text;
  }

  void conclude() {
    const std::string& path = trace_.path;
    if (!has_events_) {
      throw Error(
          fmt::format("{}: it is not a trace of torch.profiler: it has no 'traceEvents'", path));
    }
    if (trace_.devices.empty() && trace_.paired_events > 0) {
      throw Error(fmt::format(
          "{}: its {} events of GPUs are pairs of a beginning and an end (\"ph\": \"B\" and \"E\"), which are not read: write complete events (\"ph\": \"X\")",
          path, trace_.paired_events));
    }
    if (trace_.devices.empty()) {
      throw Error(fmt::format(
          "{}: it has no event of a GPU (category kernel, gpu_memcpy or gpu_memset): was it recorded with ProfilerActivity.CUDA?",
          path));
    }
    for (auto& [number, found] : trace_.devices) {
      if (const auto known = models_.find(number); known != models_.end()) {
        found.model = known->second;
      }
    }
    trace_.iterations =
        gpu_iterations_.empty() ? std::move(host_iterations_) : std::move(gpu_iterations_);
    place();
  }

 private:
  struct Event {
    EventKind kind = EventKind::other;
    bool has_category = false;
    bool is_complete = false;
    bool is_beginning = false;  // its end is another event
    std::string name;
    std::string process;
    std::string thread;
    std::optional<std::int64_t> device;
    std::optional<std::int64_t> start_ns;
    std::optional<std::int64_t> duration_ns;
  };
  struct Property {
    std::optional<std::int64_t> id;
    std::string name;
  };
  using Iterations = std::map<std::int64_t, Window>;

  EventKind kind_of(std::string_view text) const {
    for (const std::string_view gpu :
         {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}) {
      if (text == gpu) return EventKind::gpu;
    }
    if (text == "user_annotation") return EventKind::host_range;
    if (text == "gpu_user_annotation") return EventKind::gpu_range;
    const bool is_layer = wanted_ == TraceRanges::layers && text == "python_function";
    return is_layer ? EventKind::host_range : EventKind::other;
  }

  void member(EventField field, std::string_view text) {
    // Nearly all events have their category before what is larger.
    if (event_.has_category && event_.kind == EventKind::other) return;
    switch (field) {
      case kEventPhase:
        event_.is_complete = text == "X";
        event_.is_beginning = text == "B";
        break;
      case kEventCategory:
        event_.has_category = true;
        event_.kind = kind_of(text);
        is_layer_ = text == "python_function";
        break;
      case kEventName:
        if (!text.empty()) event_.name = text;
        if (text.data() == nullptr) event_.name = "(a name of more than 5000 bytes)";
        break;
      case kEventProcess:
        event_.process = text;
        break;
      case kEventThread:
        event_.thread = text;
        break;
      case kEventTime:
        event_.start_ns = nanos_of_micros(text);
        break;
      case kEventDuration:
        event_.duration_ns = nanos_of_micros(text);
        break;
      case kEventDevice:
        event_.device = from_text<std::int64_t>(text);
        break;
      default:
        break;
    }
  }

  void add_event() {
    const auto& lasted_ns = event_.duration_ns;
    if (!event_.start_ns || !lasted_ns || *lasted_ns < 0 || *lasted_ns > kLongestNs) {
      ++trace_.unusable_events;
      return;
    }
    if (!origin_ns_) origin_ns_ = *event_.start_ns;
    const std::int64_t start_ns = *event_.start_ns - *origin_ns_;
    TraceInterval interval{static_cast<double>(start_ns) / 1e9,
                           static_cast<double>(start_ns + *lasted_ns) / 1e9, 0, 0};
    if (event_.kind == EventKind::gpu) {
      interval.name = trace_.names.number(event_.name);
      gpu().events.add(interval);
    } else {
      add_range(interval);
    }
  }

  TraceDevice& gpu() {
    if (!event_.device) event_.device = from_text<std::int64_t>(event_.process);
    if (!event_.device) {
      throw Error(fmt::format(
          "{}: an event of a GPU names no device, neither in 'args' nor as 'pid'", trace_.path));
    }
    return trace_.devices[*event_.device];
  }

  void add_range(TraceInterval interval) {
    constexpr std::string_view kStep = "ProfilerStep#";
    constexpr std::string_view kModule = "nn.Module: ";
    std::string_view text = event_.name;
    const bool is_gpu = event_.kind == EventKind::gpu_range;
    if (!is_layer_ && text.starts_with(kStep)) {
      if (const auto number = from_text<std::int64_t>(text.substr(kStep.size()))) {
        add_iteration(is_gpu ? gpu_iterations_ : host_iterations_, *number, interval);
        return;
      }
    }
    const bool wants_layers = wanted_ == TraceRanges::layers;
    if (wanted_ == TraceRanges::none || wants_layers != is_layer_) return;
    if (is_layer_ && !text.starts_with(kModule)) return;
    if (is_layer_) text.remove_prefix(kModule.size());
    interval.name = trace_.names.number(text);
    interval.track = tracks_.number(event_.process + '/' + event_.thread);
    (is_gpu ? gpu_ranges() : trace_.host_ranges).add(interval);
  }

  // A GPU that has a range may have no event, and then does not count.
  IntervalStore& gpu_ranges() {
    if (!event_.device) event_.device = from_text<std::int64_t>(event_.process);
    return ranges_[event_.device.value_or(-1)];
  }

  static void add_iteration(Iterations& iterations, std::int64_t number,
                            const TraceInterval& interval) {
    const Window window{interval.start_s, interval.end_s};
    const auto [known, is_new] = iterations.try_emplace(number, window);
    if (is_new) return;
    known->second.start_unix_s = std::min(known->second.start_unix_s, window.start_unix_s);
    known->second.end_unix_s = std::max(known->second.end_unix_s, window.end_unix_s);
  }

  // Times are either since 1970, or since 'baseTimeNanoseconds', which is usually at the end.
  void place() {
    for (auto& [number, found] : trace_.devices) {
      if (auto ranges = ranges_.extract(number)) found.ranges = std::move(ranges.mapped());
    }
    std::int64_t unix_ns = *origin_ns_;
    const auto first_absolute_ns = static_cast<std::int64_t>(kFirstAbsoluteUnixS) * kNanos;
    trace_.time_base = "microseconds since 1970";
    if (unix_ns < first_absolute_ns && base_ns_) {
      trace_.time_base = "microseconds since baseTimeNanoseconds";
      if (__builtin_add_overflow(unix_ns, *base_ns_, &unix_ns)) unix_ns = 0;
    }
    if (unix_ns < first_absolute_ns) {
      throw Error(fmt::format(
          "{}: its times are not since 1970, and no 'baseTimeNanoseconds' says since when: they cannot be placed on a recording",
          trace_.path));
    }
    trace_.origin_s = unix_ns / kNanos;
    trace_.origin_rest_s = static_cast<double>(unix_ns % kNanos) / 1e9;
  }

  GpuTrace& trace_;
  TraceRanges wanted_;
  bool has_events_ = false;
  Event event_;
  bool is_layer_ = false;  // the event is a function of Python
  Property property_;
  std::map<std::int64_t, std::string> models_;
  std::optional<std::int64_t> base_ns_;
  std::optional<std::int64_t> origin_ns_;  // the time of the first event, as written
  NameNumbers tracks_;
  std::map<std::int64_t, IntervalStore> ranges_;
  Iterations host_iterations_;
  Iterations gpu_iterations_;
};

}  // namespace

GpuTrace read_chrome_trace(ByteSource& source, const std::string& path, TraceRanges wanted) {
  GpuTrace trace{.path = path, .time_base = {}, .names = {}};
  TraceReader reader(trace, wanted);
  try {
    walk_json(source, trace_paths(), reader, JsonTexts::one);
  } catch (const JsonError& error) {
    throw Error(fmt::format("{}:{}", path, error.what()));
  }
  reader.conclude();
  return trace;
}

// ---- Sorts chunks of intervals, and merges them.

namespace {

constexpr std::size_t kChunk = 64 * 1024;

bool begins_before(const TraceInterval& a, const TraceInterval& b) {
  return std::tuple(a.start_s, -a.end_s, a.name, a.track) <
         std::tuple(b.start_s, -b.end_s, b.name, b.track);
}

}  // namespace

void IntervalStore::add(const TraceInterval& interval) {
  if (chunks_.empty() || chunks_.back().size() == kChunk) chunks_.emplace_back();
  chunks_.back().push_back(interval);
  first_start_s_ = size_ == 0 ? interval.start_s : std::min(first_start_s_, interval.start_s);
  last_end_s_ = size_ == 0 ? interval.end_s : std::max(last_end_s_, interval.end_s);
  ++size_;
  is_sorted_ = false;
}

void IntervalStore::sort() {
  if (is_sorted_) return;
  for (std::vector<TraceInterval>& chunk : chunks_) std::ranges::sort(chunk, begins_before);
  is_sorted_ = true;
}

void IntervalStore::each(const std::function<void(const TraceInterval&)>& take) {
  sort();
  struct Place {
    const TraceInterval* next;
    const TraceInterval* end;
  };
  const auto is_later = [](const Place& a, const Place& b) {
    return begins_before(*b.next, *a.next);
  };
  std::priority_queue<Place, std::vector<Place>, decltype(is_later)> places(is_later);
  for (const std::vector<TraceInterval>& chunk : chunks_) {
    places.push({chunk.data(), chunk.data() + chunk.size()});
  }
  while (!places.empty()) {
    Place place = places.top();
    places.pop();
    // Chunks overlap little: most of one comes before the next one begins.
    do {
      take(*place.next++);
    } while (place.next != place.end &&
             (places.empty() || !begins_before(*places.top().next, *place.next)));
    if (place.next != place.end) places.push(place);
  }
}

// ---- Reads the rows of a CSV of layers.

namespace {

constexpr std::array<std::string_view, 3> kLayerColumns = {"layer_name", "start_time", "end_time"};

std::array<std::size_t, 3> layer_columns(const std::vector<std::string>& header,
                                         const std::string& path) {
  std::array<std::size_t, 3> columns{};
  for (std::size_t i = 0; i < kLayerColumns.size(); ++i) {
    const auto found = std::ranges::find(header, kLayerColumns[i]);
    if (found == header.end()) {
      const bool has_kernels = std::ranges::find(header, "kernel_name") != header.end();
      throw Error(fmt::format(
          "{}: it has no column '{}'{}", path, kLayerColumns[i],
          has_kernels
              ? ": a profile of kernels has no times; give the trace that it came from"
              : ": expected a trace of torch.profiler, or a CSV of layers as GPUPP writes"));
    }
    columns[i] = static_cast<std::size_t>(found - header.begin());
  }
  return columns;
}

double time_of(std::string_view cell, std::string_view column, std::uint64_t row,
               const std::string& path) {
  const std::optional<double> unix_s = nearest_double(strip(cell));
  if (unix_s && *unix_s >= kFirstAbsoluteUnixS && *unix_s < 1e11) return *unix_s;
  throw Error(fmt::format("{}: row {} after the header: '{}' is not a Unix time: '{}'", path, row,
                          column, printable(cell)));
}

// Adds a run of a layer to its iteration.
void add_to_iteration(GpuTrace& trace, std::vector<std::int64_t>& runs,
                      const TraceInterval& layer) {
  if (layer.name >= runs.size()) runs.resize(layer.name + 1);
  const Window run{layer.start_s, layer.end_s};
  const auto [known, is_new] = trace.iterations.try_emplace(runs[layer.name]++, run);
  if (is_new) return;
  known->second.start_unix_s = std::min(known->second.start_unix_s, run.start_unix_s);
  known->second.end_unix_s = std::max(known->second.end_unix_s, run.end_unix_s);
}

}  // namespace

GpuTrace read_layer_intervals(ByteSource& source, const std::string& path) {
  const std::string head = read_up_to(source, kHeadBytes);
  const std::vector<CsvTextRow> rows = split_csv(head, 1, head.size() < kHeadBytes);
  if (rows.empty()) throw Error(fmt::format("{}: it has no header", path));
  GpuTrace trace{.path = path, .time_base = "Unix seconds", .names = {}};
  const auto columns = layer_columns(rows.front().cells, path);
  CsvReader reader(source, head);
  reader.select(columns, rows.front().cells.size());
  reader.skip(rows.front().end);
  std::vector<std::int64_t> runs;  // so far, by name
  std::uint64_t number = 0;
  for (auto batch = reader.next_batch(); !batch.empty(); batch = reader.next_batch()) {
    for (const CsvRow& row : batch) {
      ++number;
      if (row.blank) continue;
      const double start_unix_s = time_of(row.cells[1], kLayerColumns[1], number, path);
      const double end_unix_s = time_of(row.cells[2], kLayerColumns[2], number, path);
      if (end_unix_s < start_unix_s) {
        throw Error(
            fmt::format("{}: row {} after the header: it ends before it begins", path, number));
      }
      if (trace.host_ranges.size() == 0) {
        trace.origin_s = static_cast<std::int64_t>(std::floor(start_unix_s));
      }
      const auto origin_s = static_cast<double>(trace.origin_s);
      const TraceInterval layer{start_unix_s - origin_s, end_unix_s - origin_s,
                                trace.names.number(strip(row.cells[0])), 0};
      trace.host_ranges.add(layer);
      add_to_iteration(trace, runs, layer);
    }
  }
  if (trace.host_ranges.size() == 0) throw Error(fmt::format("{}: it has no row", path));
  return trace;
}

}  // namespace aggregate_power
