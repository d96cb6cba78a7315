// One finished run of a store, worked out anew.
#include "aggregate_power/jobs/revision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/analysis/zone.h"
#include "aggregate_power/base/archive.h"
#include "aggregate_power/base/error.h"
#include "aggregate_power/base/hash.h"
#include "aggregate_power/base/path.h"
#include "aggregate_power/base/python_number.h"
#include "aggregate_power/inputs/benchmark.h"
#include "aggregate_power/jobs/recording.h"

namespace aggregate_power {
namespace {

// What may stand beside a recording, and what it is for. The second zone file counts only when the
// first says nothing.
struct SideFile {
  const char* role;
  const char* end;  // behind the recording's stem
  const char* name;
};
constexpr SideFile kSideFiles[] = {
    {"timezone_file", "_context.json", ""},
    {"timezone_offset_file", "", "agentic_power_timezone_offset.txt"},
    {"energy_start", "_energy_start.csv", ""},
    {"energy_end", "_energy_end.csv", ""},
};

std::string side_name(const SideFile& side, const Place& telemetry) {
  return *side.end != '\0' ? plain_stem(telemetry.path) + side.end : side.name;
}

// ---- Contents

std::string hash_of(const OpenedFile& file) {
  ContentHash hash;
  HashingSource source(file.source(), hash);
  std::array<char, 65536> chunk;
  while (source.read(chunk) > 0) {
  }
  return hash.hex();
}

InputFile hashed(std::string role, const ContentHash& hash) {
  return {std::move(role), hash.bytes(), hash.hex()};
}

// The whole aggregate.
InputFile hashed_text(std::string_view text) {
  ContentHash hash;
  hash.add(text);
  return hashed("", hash);
}

// All of the aggregate that is not ours.
InputFile hashed_others(std::string_view text) {
  ContentHash hash;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    if (member.key_kept && is_our_key(member.key)) return;
    hash.add(text.substr(member.key_begin, member.value_end - member.key_begin));
    hash.add({"\0", 1});
  });
  return hashed("aggregate_result", hash);
}

// The GPUs that the aggregate says the run used; nothing where it does not.
std::optional<std::int64_t> gpus_of(std::string_view text) {
  constexpr std::array<std::string_view, 5> kKeys = {"tp", "pp", "pcp_size", "num_prefill_gpu",
                                                     "num_decode_gpu"};
  std::array<std::optional<std::int64_t>, kKeys.size()> counts;
  bool is_strange = false;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    const auto key = std::ranges::find(kKeys, member.key);
    if (key == kKeys.end()) return;
    const auto value =
        member.kind == JsonKind::integer ? python_int(std::string(member.scalar)) : std::nullopt;
    is_strange |= key < kKeys.begin() + 3 && !value;
    counts[static_cast<std::size_t>(key - kKeys.begin())] = value;
  });
  constexpr std::int64_t kMost = 1'000'000;  // no product of three overflows
  for (const auto& count : counts) {
    if (count && (*count < 0 || *count > kMost)) return std::nullopt;
  }
  if (counts[3] && counts[4] && *counts[3] + *counts[4] > 0) return *counts[3] + *counts[4];
  if (is_strange || (!counts[0] && !counts[1] && !counts[2])) return std::nullopt;
  const std::int64_t product =
      counts[0].value_or(1) * counts[1].value_or(1) * counts[2].value_or(1);
  return product > 0 ? std::optional(product) : std::nullopt;
}

// ---- Places

// As seen from a folder of the store.
std::string relative(std::string_view folder, std::string_view path) {
  const auto first = [](std::string_view text) { return text.substr(0, text.find('/')); };
  const auto drop = [&](std::string_view& text) {
    text.remove_prefix(std::min(first(text).size() + 1, text.size()));
  };
  while (!folder.empty() && path.find('/') != std::string_view::npos &&
         first(folder) == first(path)) {
    drop(folder);
    drop(path);
  }
  std::string result;
  for (; !folder.empty(); drop(folder)) result += "../";
  return result + std::string(path);
}

// Where the results go.
struct Target {
  std::string aggregate;
  std::string sidecar;
  bool is_elsewhere = false;  // than the aggregate
};

Target target_of(const StoredRun& run, const RevisionOptions& options) {
  const bool is_elsewhere = !options.output.empty();
  const auto in = [&](const std::string& name) {
    const auto join = [](const std::string& folder, const std::string& file) {
      return folder.empty() ? file : folder + '/' + file;
    };
    return is_elsewhere ? join(options.output, join(run.folder.below, name))
                        : join(run.folder.path, name);
  };
  return {is_elsewhere ? in(fmt::format("agg_{}.json", run.name)) : run.aggregate.path,
          in(fmt::format("power_validation_{}.json", run.name)), is_elsewhere};
}

// Candidates without copies of each other.
std::vector<Place> distinct(std::vector<Place> places) {
  if (places.size() < 2) return places;
  std::vector<std::pair<std::uint64_t, std::string>> seen;
  std::vector<Place> result;
  for (Place& place : places) {
    const OpenedFile file = place.tree->open(place.path);
    std::pair<std::uint64_t, std::string> content{file.size(), hash_of(file)};
    if (std::ranges::find(seen, content) != seen.end()) continue;
    seen.push_back(std::move(content));
    result.push_back(std::move(place));
  }
  return result;
}

// With most offsets the window is not in the recording at all; recorders are started a little
// before the load.
std::int32_t likely_offset_s(double first_wall_s, Window window) {
  constexpr double kStepS = 900;
  const double offset_s = std::ceil((first_wall_s - window.start_unix_s) / kStepS) * kStepS;
  return std::abs(offset_s) <= 14 * 3600 ? static_cast<std::int32_t>(offset_s) : 0;
}

// ---- One telemetry file with one benchmark result

struct Attempt {
  Place telemetry;
  Place benchmark;
  Verdict verdict;
  std::optional<ZoneReport> zone_report;
  std::vector<InputFile> inputs;
  std::vector<std::pair<std::string, FileFacts>> opened;
  bool has_window = false;
  bool has_zone = true;
};

class Attempting {
 public:
  Attempting(const RevisionOptions& options, std::optional<std::int64_t> expected_num_gpus)
      : options_(options), expected_num_gpus_(expected_num_gpus) {}

  // Throws FileError.
  Attempt run(const Place& telemetry, const Place& benchmark) {
    attempt_.telemetry = telemetry;
    attempt_.benchmark = benchmark;
    const BenchmarkReading reading = read_benchmark_result();
    attempt_.verdict.reasons = reading.reasons;
    attempt_.has_window = !reading.reasons.contains(Reason::invalid_benchmark_result) &&
                          !reading.reasons.contains(Reason::invalid_benchmark_window);
    if (attempt_.has_window) judge_recording(reading);
    return std::move(attempt_);
  }

 private:
  OpenedFile open(const Place& place) {
    OpenedFile file = place.tree->open(place.path);
    // Of an archive, its files have the time alone.
    const std::string path = path_on_disk(place);
    attempt_.opened.emplace_back(
        path, place.tree->is_archive() ? FileFacts{0, file.facts().modified_ns} : file.facts());
    return file;
  }

  BenchmarkReading read_benchmark_result() {
    const OpenedFile file = open(attempt_.benchmark);
    const std::string& name = attempt_.benchmark.shown;
    ContentHash hash;
    BenchmarkReading reading = read_benchmark(
        *decompressed(std::make_unique<HashingSource>(file.source(), hash), name), name,
        options_.schema_version == 2 ? BenchmarkRules::schema_2 : BenchmarkRules::schema_1);
    const bool is_whole = hash.bytes() == file.size();  // a faulty one is not read to its end
    attempt_.inputs.push_back(
        {"benchmark_result", file.size(), is_whole ? hash.hex() : hash_of(file)});
    return reading;
  }

  std::unique_ptr<ByteSource> open_beside(const std::string& name) {
    const auto place = find_beside(attempt_.telemetry, name);
    if (!place) return nullptr;
    auto file = std::make_unique<OpenedFile>(open(*place));
    for (const SideFile& side : kSideFiles) {
      if (name != side_name(side, attempt_.telemetry)) continue;
      attempt_.inputs.push_back({side.role, file->size(), hash_of(*file)});
    }
    side_files_.push_back(std::move(file));
    return side_files_.back()->source();
  }

  void judge_recording(const BenchmarkReading& reading) {
    Recording recording(
        attempt_.telemetry.shown, std::make_unique<OpenedFile>(open(attempt_.telemetry)),
        [this](const std::string& name) { return open_beside(name); }, options_.zone);
    MeasurementRequest request;
    request.schema_version = options_.schema_version;
    request.expected_num_gpus = expected_num_gpus_;
    request.max_sample_gap_s = options_.max_sample_gap_s;
    request.with_snapshots = true;
    const bool by_evidence = recording.zone_source() == "default" && reading.benchmark;
    if (by_evidence) {
      judge_by_evidence(request, recording, reading);
    } else {
      judge(request, recording, reading);
    }
    attempt_.inputs.insert(attempt_.inputs.begin(),
                           {"telemetry", recording.bytes(), recording.content_hash()});
  }

  void judge(const MeasurementRequest& request, const Recording& recording,
             const BenchmarkReading& reading) {
    std::erase_if(attempt_.inputs, [](const InputFile& input) {
      return input.role == "energy_start" || input.role == "energy_end";  // will be read again
    });
    attempt_.verdict = aggregate_power::judge(request, recording, reading);
    if (attempt_.verdict.measurement.could_not_read) {
      throw Error(attempt_.verdict.reasons.text());
    }
  }

  // Reads the recording as if its zone were known; mostly it then shows to be that, or is read
  // again.
  void judge_by_evidence(MeasurementRequest& request, Recording& recording,
                         const BenchmarkReading& reading) {
    const Window window = reading.benchmark->window;
    std::int32_t supposed_offset_s = 0;
    recording.suppose_zone([&](double first_wall_s) {
      supposed_offset_s = likely_offset_s(first_wall_s, window);
      return Zone::fixed(supposed_offset_s);
    });
    ZoneEvidence evidence(window);
    request.also = [&](std::span<const Reading> readings) {
      evidence.take(readings, supposed_offset_s);
    };
    request.explains = false;
    judge(request, recording, reading);
    request.also = nullptr;
    request.explains = true;
    std::optional<TelemetryFacts>& facts = attempt_.verdict.measurement.telemetry;
    if (!facts || facts->columns.naive_is_utc || facts->timezone_source == "stamps") return;
    if (facts->naive_stamps == 0) {  // there was nothing to read in any zone
      facts->timezone.clear();
      facts->timezone_source.clear();
      facts->utc_offset.clear();
      return;
    }
    ZoneFinding finding = evidence.finding();
    if (facts->naive_stamps != facts->stamps) {
      finding.winner.reset();
      finding.why_none = "some stamps carry an offset and others do not";
    }
    if (finding.winner) {
      use_winner(finding, supposed_offset_s, request, recording, reading);
    } else {
      refuse(finding, request, recording, reading);
    }
  }

  void use_winner(const ZoneFinding& finding, std::int32_t supposed_offset_s,
                  const MeasurementRequest& request, Recording& recording,
                  const BenchmarkReading& reading) {
    const ZoneCandidate& winner = *finding.winner;
    if (winner.step || winner.offset_s != supposed_offset_s) {
      recording.use_zone(winner.zone(), "evidence");
      judge(request, recording, reading);
    } else {
      attempt_.verdict.measurement.telemetry->timezone_source = "evidence";
    }
    ZoneReport report;
    for (const ZoneCandidate& left : finding.left) report.offsets.push_back(left.zone().name());
    report.margin = finding.margin;
    attempt_.zone_report = std::move(report);
  }

  // A recording that covers the window in no zone, or cannot be read to its end, is not valid in
  // any. All others wait for someone who knows.
  void refuse(const ZoneFinding& finding, const MeasurementRequest& request, Recording& recording,
              const BenchmarkReading& reading) {
    recording.use_zone(Zone::parse("UTC"), "default");
    judge(request, recording, reading);
    const Reasons& reasons = attempt_.verdict.reasons;
    const bool is_hopeless =
        reasons.contains(Reason::telemetry_file_unreadable) ||
        (finding.left.empty() && options_.schema_version == 2 && !reasons.empty());
    if (is_hopeless) return;
    attempt_.has_zone = false;
    constexpr std::size_t kMostShown = 8;
    std::vector<std::string> offsets;
    for (const ZoneCandidate& left : finding.left) {
      if (offsets.size() < kMostShown) offsets.push_back(left.zone().name());
    }
    std::string detail = finding.why_none;
    if (!offsets.empty()) {
      detail += fmt::format("; {} remain: {}{}", finding.left.size(), fmt::join(offsets, ", "),
                            finding.left.size() > kMostShown ? ", ..." : "");
    }
    attempt_.verdict.reasons = Reasons();
    attempt_.verdict.reasons.add(Reason::timezone_ambiguous, std::move(detail));
  }

  const RevisionOptions& options_;
  std::optional<std::int64_t> expected_num_gpus_;
  Attempt attempt_;
  std::vector<std::unique_ptr<OpenedFile>> side_files_;
};

// Whether the window lies inside the telemetry.
bool fits(const Attempt& attempt) {
  if (!attempt.has_window || !attempt.has_zone) return false;
  constexpr Reason kApart[] = {Reason::telemetry_file_empty, Reason::no_usable_power_samples,
                               Reason::insufficient_power_samples,
                               Reason::benchmark_window_not_bracketed};
  return std::ranges::none_of(
      kApart, [&](Reason reason) { return attempt.verdict.reasons.contains(reason); });
}

// ---- One run

class Reviser {
 public:
  Reviser(const StoredRun& run, const RevisionOptions& options) : options_(options) {
    revision_.run = run;
  }

  Revision run(Candidates telemetry, Candidates benchmarks) {
    try {
      work(std::move(telemetry), std::move(benchmarks));
    } catch (const JsonError& error) {
      fail(Reason::aggregate_result_unwritable,
           fmt::format("{}:{}", revision_.run.aggregate.shown, error.what()));
    } catch (const std::exception& error) {
      fail(Reason::input_unreadable, error.what());
    }
    for (Place* place : {&revision_.run.folder, &revision_.run.aggregate}) {
      place->tree.reset();
      place->folder.reset();
    }
    return std::move(revision_);
  }

 private:
  void end(Outcome outcome, Reason reason, std::string detail = {}) {
    revision_.outcome = outcome;
    revision_.reasons.add(reason, std::move(detail));
  }
  void fail(Reason reason, std::string detail) { end(Outcome::failed, reason, std::move(detail)); }

  void work(Candidates telemetry, Candidates benchmarks) {
    const StoredRun& run = revision_.run;
    if (run.layout == Layout::multinode) {
      return end(Outcome::not_recomputable, Reason::multi_node_run);
    }
    if (run.layout == Layout::agentic) return end(Outcome::not_recomputable, Reason::agentic_run);
    if (!run.aggregate.tree) {
      return end(Outcome::not_recomputable, Reason::aggregate_result_missing, run.folder.shown);
    }
    if (run.aggregate.tree->is_archive() && options_.output.empty()) {
      return end(Outcome::not_writable, Reason::aggregate_in_archive, run.aggregate.shown);
    }
    if (!telemetry.places.empty()) revision_.telemetry = telemetry.places[0].shown;
    if (!benchmarks.places.empty()) revision_.benchmark = benchmarks.places[0].shown;
    if (telemetry.places.empty()) {
      revision_.reasons.add(Reason::telemetry_file_missing, missing("gpu_metrics.csv"));
    }
    if (benchmarks.places.empty()) {
      revision_.reasons.add(Reason::benchmark_result_missing, missing(run.name + ".json"));
    }
    if (!revision_.reasons.empty()) {
      revision_.outcome = Outcome::not_recomputable;
      return;
    }
    text_ = read_all(*run.aggregate.tree->open(run.aggregate.path).source());
    target_ = target_of(run, options_);
    const bool is_one_pair = telemetry.places.size() == 1 && benchmarks.places.size() == 1;
    if (!options_.force && is_one_pair && is_done(telemetry.places[0], benchmarks.places[0])) {
      return;
    }
    read_aggregate();
    if (revision_.reasons.empty()) choose(std::move(telemetry), std::move(benchmarks));
  }

  std::string missing(const std::string& name) const {
    return fmt::format("no {} in {}, beside it, or by the run's name in the store", name,
                       revision_.run.folder.shown);
  }

  void read_aggregate() {
    MemorySource source(text_);
    if (scan_json(source, [](const JsonMember&) {}).kind != JsonKind::object) {
      return fail(Reason::aggregate_result_unwritable,
                  revision_.run.aggregate.shown + ": is no JSON object");
    }
    others_ = hashed_others(text_);
    expected_num_gpus_ = options_.expected_num_gpus ? options_.expected_num_gpus : gpus_of(text_);
  }

  void choose(Candidates telemetry, Candidates benchmarks) {
    if (telemetry.are_too_many || benchmarks.are_too_many) {
      return end(Outcome::ambiguous, Reason::pairing_ambiguous,
                 fmt::format("more than {} files of its name", kMostCandidates));
    }
    if (!benchmarks.are_own && is_another_runs(benchmarks.places)) {
      return end(Outcome::ambiguous, Reason::pairing_ambiguous,
                 fmt::format("{} lies beside an aggregate of its own", revision_.benchmark));
    }
    telemetry.places = distinct(std::move(telemetry.places));
    benchmarks.places = distinct(std::move(benchmarks.places));
    const std::size_t pairs = telemetry.places.size() * benchmarks.places.size();
    const bool are_own = telemetry.are_own && benchmarks.are_own;
    std::vector<Attempt> fitting;
    std::vector<Attempt> others;
    for (const Place& recording : telemetry.places) {
      for (const Place& benchmark : benchmarks.places) {
        if (pairs > kMostCandidates) continue;
        Attempt tried = attempt(recording, benchmark);
        (fits(tried) ? fitting : others).push_back(std::move(tried));
      }
    }
    if (fitting.size() == 1) return conclude(std::move(fitting[0]));
    if (others.size() == 1 && pairs == 1 &&
        (are_own || !others[0].has_window || !others[0].has_zone)) {
      return conclude(std::move(others[0]));
    }
    std::vector<std::string> shown;
    for (const Place& place : telemetry.places) shown.push_back(place.shown);
    for (const Place& place : benchmarks.places) shown.push_back(place.shown);
    shown.resize(std::min(shown.size(), kMostCandidates));
    end(Outcome::ambiguous, Reason::pairing_ambiguous,
        fmt::format("{} of {} pairs fit, among {}", fitting.size(), pairs, fmt::join(shown, ", ")));
  }

  // A result that was found by its name alone, but has an aggregate with it already.
  bool is_another_runs(const std::vector<Place>& benchmarks) const {
    const std::string name = fmt::format("agg_{}.json", revision_.run.name);
    return std::ranges::any_of(
        benchmarks, [&](const Place& place) { return find_beside(place, name).has_value(); });
  }

  Attempt attempt(const Place& telemetry, const Place& benchmark) {
    return Attempting(options_, expected_num_gpus_).run(telemetry, benchmark);
  }

  void conclude(Attempt attempt) {
    revision_.telemetry = attempt.telemetry.shown;
    revision_.benchmark = attempt.benchmark.shown;
    revision_.reasons = attempt.verdict.reasons;
    revision_.inputs = std::move(attempt.opened);
    if (!attempt.has_window || !attempt.has_zone) {
      revision_.outcome = attempt.has_window ? Outcome::ambiguous : Outcome::not_recomputable;
      return;
    }
    if (const auto& facts = attempt.verdict.measurement.telemetry) {
      revision_.timezone = facts->timezone;
    }
    revision_.valid = attempt.verdict.reasons.empty();
    revision_.outcome = revision_.valid ? Outcome::patched : Outcome::not_valid;
    if (revision_.valid) {
      for (const Metric& metric : attempt.verdict.metrics) {
        revision_.metrics.emplace_back(metric.key, rounded(metric.value, metric.decimals));
      }
    }
    publish_later(attempt);
  }

  void publish_later(const Attempt& attempt) {
    auto publication = std::make_unique<Publication>();
    publication->aggregate_path = target_.aggregate;
    publication->sidecar_path = target_.sidecar;
    publication->only_together = true;
    publication->valid = revision_.valid;
    publication->edits = verdict_edits(attempt.verdict, options_.schema_version);
    for (const auto& [path, facts] : revision_.inputs) publication->inputs.push_back(path);
    publication->inputs.push_back(path_on_disk(revision_.run.aggregate));
    if (target_.is_elsewhere) {
      publication->aggregate_text = text_;
      publication->make_sidecar_folder = true;
    }
    SidecarContent content = sidecar_content(attempt.verdict, options_.schema_version);
    const std::string& folder = revision_.run.folder.below;
    content.telemetry_source = relative(folder, attempt.telemetry.below);
    content.benchmark_result = relative(folder, attempt.benchmark.below);
    content.zone_report = attempt.zone_report;
    content.origin = options_as_given();
    content.origin->inputs = attempt.inputs;
    content.origin->inputs.push_back(others_);
    publication->sidecar = [content = std::move(content), others = others_, before = text_,
                            shown = revision_.run.aggregate.shown](
                               const Reasons&, std::string_view aggregate) mutable {
      const std::string_view text = aggregate.empty() ? before : aggregate;
      if (hashed_others(text).hash != others.hash) {
        throw Error(fmt::format("{}: was changed while it was worked on; run again", shown));
      }
      content.origin->patched = hashed_text(text);
      return sidecar_text(content);
    };
    revision_.publication = std::move(publication);
  }

  Origin options_as_given() const {
    Origin origin;
    origin.schema_version = options_.schema_version;
    origin.expected_num_gpus =
        options_.expected_num_gpus ? std::to_string(*options_.expected_num_gpus) : "auto";
    origin.timezone = options_.zone ? options_.zone->name() : "auto";
    origin.max_sample_gap_s = options_.max_sample_gap_s;
    return origin;
  }

  // ---- Whether all was done before

  bool is_done(const Place& telemetry, const Place& benchmark) {
    const auto facts = disk_tree()->find_file(target_.sidecar);
    if (!facts) return false;
    const auto record = read_sidecar(read_file(target_.sidecar));
    if (!record || record->tool_version != AGGREGATE_POWER_VERSION) return false;
    const Origin wanted = options_as_given();
    const Origin& origin = record->origin;
    if (origin.schema_version != wanted.schema_version ||
        origin.expected_num_gpus != wanted.expected_num_gpus ||
        origin.timezone != wanted.timezone || origin.max_sample_gap_s != wanted.max_sample_gap_s) {
      return false;
    }
    const std::string& folder = revision_.run.folder.below;
    if (record->telemetry_source != printable_path(relative(folder, telemetry.below)) ||
        record->benchmark_result != printable_path(relative(folder, benchmark.below))) {
      return false;
    }
    if (!is_as_left(origin) || !are_as_read(origin, telemetry, benchmark, facts->modified_ns)) {
      return false;
    }
    revision_.outcome = Outcome::unchanged;
    revision_.valid = record->valid;
    revision_.timezone = record->timezone;
    for (const std::string& code : record->reasons) {
      if (const auto reason = reason_of(code)) revision_.reasons.add(*reason);
    }
    if (record->valid) read_metrics(target_.is_elsewhere ? read_file(target_.aggregate) : text_);
    return true;
  }

  void read_metrics(std::string_view aggregate) {
    MemorySource source(aggregate);
    scan_json(source, [&](const JsonMember& member) {
      const auto keys = all_metric_keys();
      if (std::ranges::find(keys, member.key) == keys.end()) return;
      const auto value = python_float(std::string(member.scalar));
      if (value) revision_.metrics.emplace_back(member.key, *value);
    });
  }

  bool is_as_left(const Origin& origin) const {
    const auto is_patched = [&](std::string_view text) {
      return text.size() == origin.patched.bytes && hashed_text(text).hash == origin.patched.hash;
    };
    if (!target_.is_elsewhere) return is_patched(text_);
    const auto others = std::ranges::find(origin.inputs, "aggregate_result", &InputFile::role);
    return others != origin.inputs.end() && disk_tree()->find_file(target_.aggregate) &&
           is_patched(read_file(target_.aggregate)) && hashed_others(text_).hash == others->hash;
  }

  bool are_as_read(const Origin& origin, const Place& telemetry, const Place& benchmark,
                   std::int64_t record_ns) const {
    const auto recorded = [&](std::string_view role) -> const InputFile* {
      const auto found = std::ranges::find(origin.inputs, role, &InputFile::role);
      return found == origin.inputs.end() ? nullptr : &*found;
    };
    const auto is_same = [&](const Place& place, const InputFile* input) {
      if (input == nullptr) return false;
      const auto facts = place.facts ? place.facts : place.tree->find_file(place.path);
      if (!facts || facts->bytes != input->bytes) return false;
      // What was written in the same tick of the clock may have been written behind it.
      if (!options_.verify) return facts->modified_ns < record_ns;
      return hash_of(place.tree->open(place.path)) == input->hash;
    };
    if (!is_same(telemetry, recorded("telemetry")) ||
        !is_same(benchmark, recorded("benchmark_result"))) {
      return false;
    }
    for (const SideFile& side : kSideFiles) {
      const bool is_of_zone = std::strncmp(side.role, "timezone", 8) == 0;
      if (is_of_zone && options_.zone) continue;
      const InputFile* input = recorded(side.role);
      const bool is_second_zone = is_of_zone && *side.name != '\0';
      if (is_second_zone && input == nullptr && recorded("timezone_file") != nullptr) continue;
      const auto place = find_beside(telemetry, side_name(side, telemetry));
      if (place ? !is_same(*place, input) : input != nullptr) return false;
    }
    return true;
  }

  const RevisionOptions& options_;
  std::string text_;  // the aggregate's
  Target target_;
  InputFile others_;
  std::optional<std::int64_t> expected_num_gpus_;
  Revision revision_;
};

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  constexpr std::array<std::string_view, kOutcomes> kNames = {
      "patched",      "unchanged", "not_valid", "not_recomputable",
      "not_writable", "ambiguous", "failed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

Revision revise(const StoredRun& run, Candidates telemetry, Candidates benchmarks,
                const RevisionOptions& options) {
  return Reviser(run, options).run(std::move(telemetry), std::move(benchmarks));
}

bool inputs_are_unchanged(const Revision& revision) {
  return std::ranges::all_of(revision.inputs, [](const auto& input) {
    const auto& [path, facts] = input;
    const auto now = disk_tree()->find_file(path);
    return now && now->modified_ns == facts.modified_ns &&
           (facts.bytes == 0 || now->bytes == facts.bytes);
  });
}

}  // namespace aggregate_power
