// Reads power timelines as Zeus' PowerMonitor gives them out, in JSON: by domain and GPU, or by GPU
// only, pairs of Unix seconds and watts. A pair is there only when the power changed.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/text/characters.h"
#include "base/text/json.h"
#include "base/text/pattern.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

struct Domain {
  const char* name;
  const char* scope;
  const char* averaging;
};

// Those of GPUs first, in the order in which they are chosen: Zeus' own.
constexpr Domain kDomains[] = {{"device_instant", "gpu", "instantaneous"},
                               {"device_average", "gpu", "1 s"},
                               {"memory_average", "rail", "1 s"},
                               {"package_average", "package", "unknown"},
                               {"dram_average", "rail", "unknown"}};
constexpr std::size_t kGpuDomains = 2;

// For each domain, and at the end without one: the pairs' GPU, a pair, and its numbers.
constexpr std::size_t kPathsEach = 3;
constexpr std::array<std::string_view, 18> kTimelinePaths = {"device_instant.*",
                                                             "device_instant.*[]",
                                                             "device_instant.*[][]",
                                                             "device_average.*",
                                                             "device_average.*[]",
                                                             "device_average.*[][]",
                                                             "memory_average.*",
                                                             "memory_average.*[]",
                                                             "memory_average.*[][]",
                                                             "package_average.*",
                                                             "package_average.*[]",
                                                             "package_average.*[][]",
                                                             "dram_average.*",
                                                             "dram_average.*[]",
                                                             "dram_average.*[][]",
                                                             "*",
                                                             "*[]",
                                                             "*[][]"};
constexpr std::size_t kNoDomain = 5;

// The domains that have pairs, up to the point where a text was cut off.
class TimelineWalk : public JsonVisitor {
 public:
  TimelineWalk(std::size_t domain, ReadingSink* sink) : domain_(domain), sink_(sink) {}

  void begin(std::size_t path) override {
    if (path % kPathsEach == 1) size_ = 0;
  }
  void end(std::size_t path) override {
    const std::size_t domain = path / kPathsEach;
    if (path % kPathsEach != 1 || size_ != 2) return;
    has_pairs_[domain] = true;
    if (domain == domain_ && sink_ != nullptr && sink_->start_row(pair_[0])) {
      sink_->add(gpu_, pair_[1]);
    }
  }
  void key(std::size_t /*path*/, std::string_view key) override { gpu_ = key; }
  void scalar(std::size_t path, JsonKind /*kind*/, std::string_view text) override {
    if (path % kPathsEach == 2 && size_++ < 2) pair_[size_ - 1] = text;
  }
  bool has_pairs(std::size_t domain) const { return has_pairs_[domain]; }

 private:
  std::size_t domain_;
  ReadingSink* sink_;
  std::string gpu_;
  std::array<std::string, 2> pair_;
  std::size_t size_ = 0;
  std::array<bool, kNoDomain + 1> has_pairs_{};
};

void walk_timeline(ByteSource& source, TimelineWalk& walk) {
  static const JsonPaths paths(kTimelinePaths);
  walk_json(source, paths, walk, JsonTexts::one);
}

// The domain to read; those that are only further on in the file are chosen by name.
std::size_t domain_of(std::string_view head, const std::string& wanted) {
  for (std::size_t i = 0; i < std::size(kDomains); ++i) {
    if (wanted == kDomains[i].name) return i;
  }
  TimelineWalk walk(kNoDomain, nullptr);
  MemorySource source(head);
  try {
    walk_timeline(source, walk);
  } catch (const JsonError&) {  // cut off
  }
  for (std::size_t i = 0; i < kGpuDomains; ++i) {
    if (walk.has_pairs(i)) return i;
  }
  return kNoDomain;
}

SeriesFacts timeline_facts(std::size_t domain, const TelemetryOptions& options) {
  const bool has_domain = domain != kNoDomain;
  const std::string name = has_domain ? kDomains[domain].name : "power";
  const std::string& wanted = options.columns.power;
  SeriesNames names = {.schema = "zeus-timeline", .timestamp = "first of each pair"};
  names.power = name;
  names.device = "GPU";
  if (!wanted.empty()) names.power_why = "named by --power-column";
  SeriesFacts facts = facts_of_names(names, options);
  if (!wanted.empty() && wanted != name) {
    facts.reasons.add(Reason::named_column_missing,
                      "--power-column: the domains are device_instant, device_average, "
                      "memory_average, package_average and dram_average");
  }
  facts.interpolation = Interpolation::hold;
  facts.lines.push_back({"between", "the last value holds", "the recorder writes only changes"});
  facts.sensor.collector = "Zeus";
  facts.sensor.name = name;
  if (has_domain) facts.sensor.scope = kDomains[domain].scope;
  if (has_domain) facts.sensor.averaging = kDomains[domain].averaging;
  return facts;
}

double fits_zeus_timeline(std::string_view head) {
  static constexpr Pattern start =
      "\\{\\s*(\"(device_instant|device_average|memory_average|package_average|dram_average)\"\\s*:"
      "\\s*\\{[^\\[]*)?(\"[0-9]+\"\\s*:\\s*\\[\\s*\\[|\\}).*";
  const std::string_view text = strip(head.substr(0, 1024));
  std::string line(text.substr(0, 512));
  std::ranges::replace(line, '\n', ' ');
  std::ranges::replace(line, '\r', ' ');
  return line.starts_with('{') && line.find('[') != line.npos && start.matches(line) ? 0.9 : 0;
}

Telemetry open_zeus_timeline(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  std::string head = read_up_to(*source, kHeadBytes);
  const std::size_t domain = domain_of(head, options.columns.power);
  return open_stream(std::make_unique<ResumedSource>(std::move(head), std::move(source)), options,
                     {.facts_of = [&](std::string_view) { return timeline_facts(domain, options); },
                      .read =
                          [domain](ByteSource& bytes, ReadingSink& sink) {
                            TimelineWalk walk(domain, &sink);
                            walk_timeline(bytes, walk);
                          },
                      .has_lines = false});
}

std::vector<SchemaRow> zeus_timeline_schemas() {
  return {
      {"zeus-timeline",
       "the timelines of Zeus' `PowerMonitor` in JSON: `device_instant`, else `device_average`, in W",
       "GPU"}};
}

}  // namespace

const Recorder kZeusTimelineRecorder = {.name = "Zeus timeline",
                                        .fits = fits_zeus_timeline,
                                        .open = open_zeus_timeline,
                                        .schemas = zeus_timeline_schemas};

}  // namespace aggregate_power
