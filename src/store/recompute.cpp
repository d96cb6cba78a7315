// One finished run of a store, worked out anew.
#include "store/recompute.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/hash.h"
#include "base/files/mount.h"
#include "base/files/path.h"
#include "results/aggregate_json.h"
#include "results/dashboard_keys.h"
#include "store/artifact_names.h"
#include "store/package_pairing.h"
#include "store/pairing.h"
#include "store/pieces.h"
#include "store/up_to_date.h"

namespace aggregate_power {
namespace {

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
  std::string root;           // that both lie in
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
  const char* const aggregate = run.layout == Layout::agentic ? "{}.json" : "agg_{}.json";
  return {is_elsewhere ? in(fmt::format(fmt::runtime(aggregate), run.name)) : run.aggregate.path,
          in(fmt::format("power_validation_{}.json", run.name)),
          is_elsewhere ? options.output : store_of(run.folder).path, is_elsewhere};
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

class Reviser {
 public:
  Reviser(const StoredRun& run, const RevisionOptions& options, const OtherWitnesses* witnesses)
      : options_(options), witnesses_(witnesses) {
    revision_.run = run;
  }

  Revision run(RunPieces pieces) {
    try {
      work(std::move(pieces));
    } catch (const JsonError& error) {
      // Someone may have been writing to it while it was read.
      const bool is_changed = !target_.is_elsewhere && !holds(target_.aggregate, text_);
      fail(is_changed ? Reason::input_changed : Reason::aggregate_result_unwritable,
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

  void work(RunPieces pieces) {
    const StoredRun& run = revision_.run;
    if (!run.aggregate.tree) {
      return end(Outcome::not_recomputable, Reason::aggregate_result_missing, run.folder.shown);
    }
    if (run.aggregate.tree->is_archive() && options_.output.empty()) {
      return end(Outcome::not_writable, Reason::aggregate_in_archive, run.aggregate.shown);
    }
    nodes_ = std::move(pieces.nodes);
    if (!nodes_.empty() && nodes_[0].power) package_ = &nodes_[0];
    Candidates& telemetry = pieces.telemetry;
    Candidates& benchmarks = pieces.benchmarks;
    if (package_) revision_.telemetry = package_->power->shown;
    if (!telemetry.places.empty()) revision_.telemetry = telemetry.places[0].shown;
    if (!benchmarks.places.empty()) revision_.benchmark = benchmarks.places[0].shown;
    note_what_is_missing(telemetry.places.empty(), benchmarks.places.size());
    if (!revision_.reasons.empty()) {
      revision_.outcome = Outcome::not_recomputable;
      return;
    }
    text_ = read_all(*run.aggregate.tree->open(run.aggregate.path).source());
    target_ = target_of(run, options_);
    if (package_) return work_on_package(std::move(benchmarks));
    const bool is_one_pair = telemetry.places.size() == 1 && benchmarks.places.size() == 1;
    if (!options_.force && is_one_pair && is_done(telemetry.places[0], benchmarks.places[0])) {
      return;
    }
    read_aggregate();
    if (revision_.reasons.empty()) choose(std::move(telemetry), std::move(benchmarks));
  }

  void note_what_is_missing(bool no_telemetry, std::size_t benchmarks) {
    const StoredRun& run = revision_.run;
    const auto add = [&](Reason reason, std::string detail) {
      revision_.reasons.add(reason, std::move(detail));
    };
    const bool is_of_nodes = run.layout == Layout::multinode || !nodes_.empty();
    if (is_of_nodes && !package_) {
      add(Reason::power_artifacts_missing,
          nodes_.empty()
              ? fmt::format("no LOGS/power in {} or in power_audit_{} in it or beside it",
                            run.folder.shown, run.artifact)
              : fmt::format("no power in {}", nodes_[0].logs.shown));
    } else if (!is_of_nodes && no_telemetry) {
      add_missing(Reason::telemetry_file_missing, "gpu_metrics.csv");
    }
    if (run_is_agentic() && is_of_nodes) {
      if (benchmarks == 1) return;
      add(Reason::formal_benchmark_result_missing,
          nodes_[0].agentic ? fmt::format("{} formal results of {} in {}", benchmarks, run.name,
                                          nodes_[0].agentic->shown)
                            : fmt::format("no agentic in {}", nodes_[0].logs.shown));
    } else if (benchmarks == 0 && run_is_agentic()) {
      const auto results = agentic_results(run);
      add(Reason::profile_artifacts_missing,
          results ? fmt::format("no {} in {}", kProfileRecords, results->shown)
                  : fmt::format("no agentic_{} in {} or beside it", run.name, run.folder.shown));
    } else if (benchmarks == 0) {
      add_missing(Reason::benchmark_result_missing, run.name + ".json");
    }
  }

  // Results and packages that are there several times must be the same each time.
  void work_on_package(Candidates benchmarks) {
    const bool is_one_pair = benchmarks.places.size() == 1 && nodes_.size() == 1;
    if (!options_.force && is_one_pair && package_is_done(benchmarks.places[0])) return;
    read_aggregate();
    if (!revision_.reasons.empty()) return;
    benchmarks.places = distinct(std::move(benchmarks.places));
    if (benchmarks.are_too_many || benchmarks.places.size() != 1) {
      return end(Outcome::ambiguous, Reason::pairing_ambiguous,
                 fmt::format("{} different files are named {}.json", benchmarks.places.size(),
                             revision_.run.name));
    }
    for (const NodeLogs& other : nodes_) {
      if (&other == package_ || is_same_package(*package_, other, benchmarks.places[0])) continue;
      return end(Outcome::ambiguous, Reason::pairing_ambiguous,
                 fmt::format("{} and {} differ", package_->power->shown, other.power->shown));
    }
    const Place& benchmark = benchmarks.places[0];
    PackageAttempt attempt = attempt_package(*package_, benchmark, revision_.run, text_, options_);
    revision_.benchmark = benchmark.shown;
    revision_.reasons = attempt.verdict.reasons;
    revision_.inputs = std::move(attempt.opened);
    revision_.warnings = std::move(attempt.warnings);
    if (!attempt.verdict.benchmark) {
      revision_.outcome = Outcome::not_recomputable;
      return;
    }
    revision_.timezone = "UTC";
    note_verdict(attempt.verdict.metrics);
    PackageRecord record;
    const std::string& folder = revision_.run.folder.below;
    record.telemetry_source = relative(folder, package_->power->below);
    record.benchmark_result = relative(folder, benchmark.below);
    record.expected_producer_sha = attempt.producer_sha;
    record.is_pin_of_package = options_.expected_producer_sha.empty();
    record.salvage = options_.salvage;
    record.failed_requests = attempt.failed_requests;
    if (run_is_agentic()) record.window_source = kFormalWindowSource;
    record.origin = package_options_as_given();
    record.origin->inputs = std::move(attempt.inputs);
    record.origin->inputs.push_back(others_);
    std::vector<JsonEdit> edits =
        package_edits(attempt.verdict, target_.sidecar.substr(target_.sidecar.rfind('/') + 1));
    const bool claims = claims_power(attempt.verdict);
    publish_later(std::move(edits), claims,
                  [record = std::move(record),
                   verdict = std::move(attempt.verdict)](const InputFile& patched) mutable {
                    record.origin->patched = patched;
                    return package_record_text(verdict, record, {});
                  });
  }

  Origin package_options_as_given() const {
    Origin origin;  // the other options are not for packages
    origin.expected_num_gpus = origin.timezone = "auto";
    origin.expected_producer_sha = options_.expected_producer_sha;
    origin.salvage = options_.salvage;
    return origin;
  }

  void note_verdict(const Metrics& metrics) {
    revision_.valid = revision_.reasons.empty();
    revision_.outcome = revision_.valid ? Outcome::patched : Outcome::not_valid;
    if (!revision_.valid) return;
    for (const Metric& metric : metrics) {
      revision_.metrics.emplace_back(metric.key, rounded(metric.value, metric.decimals));
    }
  }

  void add_missing(Reason reason, const std::string& name) {
    const bool is_searched = options_.is_searched;
    revision_.reasons.add(reason,
                          fmt::format("no {} in {}, beside it{}", name, revision_.run.folder.shown,
                                      is_searched ? ", or by the run's name in the store"
                                                  : "; the rest of the store was not searched"),
                          is_searched ? Obstacle::none : Obstacle::not_searched);
  }

  void read_aggregate() {
    if (std::string risk = target_.is_elsewhere ? "" : replacement_risk(target_.aggregate);
        !risk.empty()) {
      return end(Outcome::not_writable, Reason::replacement_unsafe,
                 fmt::format("{}: {}", revision_.run.aggregate.shown, risk));
    }
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
    const bool are_own =
        (telemetry.are_own && benchmarks.are_own) || are_its_only_namesakes(telemetry, benchmarks);
    std::vector<Attempt> fitting;
    std::vector<Attempt> others;
    for (const Place& recording : telemetry.places) {
      for (const Place& benchmark : benchmarks.places) {
        if (pairs > kMostCandidates) continue;
        Attempt tried = attempt(recording, benchmark);
        (fits(tried) || shows_window(tried) ? fitting : others).push_back(std::move(tried));
      }
    }
    if (fitting.size() == 1) return conclude_or_wait(std::move(fitting[0]), are_own);
    if (others.size() == 1 && pairs == 1 && (are_own || !is_apart(others[0]))) {
      return conclude_or_wait(std::move(others[0]), are_own);
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

  // The one recording and the one result of the store that are named after this run, and after no
  // other. A result is always named so.
  bool are_its_only_namesakes(const Candidates& telemetry, const Candidates& benchmarks) const {
    const auto bears_its_name = [&](const Place& recording) {
      const std::string name = "gpu_metrics_" + revision_.run.name;
      return plain_stem(last_name(recording.path)) == name ||
             (recording.folder && archive_stem(last_name(recording.folder->shown)) == name);
    };
    return telemetry.are_only_namesakes && benchmarks.are_only_namesakes &&
           std::ranges::all_of(telemetry.places, bears_its_name);
  }

  Attempt attempt(const Place& telemetry, const Place& benchmark) {
    return attempt_pair(telemetry, benchmark, options_, expected_num_gpus_, witnesses_);
  }

  // Whether a recording whose zone is still open shows the run's load, under one offset alone.
  static bool shows_window(const Attempt& attempt) {
    return attempt.zone_finding && attempt.zone_finding->by_edges;
  }

  void conclude_or_wait(Attempt attempt, bool are_own) {
    note_zone_case(attempt);
    const bool is_open = !attempt.has_zone && attempt.zone_finding && witnesses_ == nullptr;
    if (!is_open) return conclude(std::move(attempt));
    revision_.aggregate_text = place_text(revision_.run.aggregate);
    revision_.zone_case->waiting_telemetry = place_text(attempt.telemetry);
    revision_.zone_case->waiting_benchmark = place_text(attempt.benchmark);
    revision_.zone_case->are_own = are_own;
  }

  // What it says to the other runs of its recorder: nothing, where it has no window.
  void note_zone_case(const Attempt& attempt) {
    const auto& benchmark = attempt.verdict.benchmark;
    if (!benchmark || options_.zone) return;
    ZoneCase zone_case;
    name_recorder(attempt.host, zone_case);
    zone_case.aggregate = revision_.run.aggregate.shown;
    zone_case.start_unix_s = benchmark->window.start_unix_s;
    zone_case.telemetry = attempt.telemetry.shown;
    zone_case.written_ns = attempt.written_ns;
    zone_case.vote = vote_of(attempt, benchmark->window);
    if (attempt.zone_finding) {
      zone_case.has_load_elsewhere = attempt.zone_finding->has_load_elsewhere;
    }
    revision_.zone_case = std::move(zone_case);
  }

  static std::optional<ZoneVote> vote_of(const Attempt& attempt, Window window) {
    if (const auto& finding = attempt.zone_finding; finding && finding->by_edges) {
      return ZoneVote{window.start_unix_s, finding->by_edges->offset_s, false,
                      finding->by_edges->idle_w, finding->by_edges->load_w};
    }
    // One under which the recording does not hold the window speaks for nothing.
    const bool is_stated = attempt.zone_report && attempt.verdict.reasons.empty() &&
                           attempt.zone_report->witnesses == std::vector{ZoneWitness::zone_file};
    if (!is_stated) return std::nullopt;
    const std::string& offset = attempt.verdict.measurement.telemetry->utc_offset;
    return ZoneVote{window.start_unix_s, Zone::parse(offset).offset_at(0), true};
  }

  // The artifact's label first: shards go by it.
  void name_recorder(const std::string& host, ZoneCase& zone_case) const {
    for (const std::string& name : {revision_.run.artifact, revision_.run.name}) {
      zone_case.recorder = recorder_label(name);
      if (!zone_case.recorder.empty()) return;
    }
    zone_case.recorder = host.empty() ? hardware_of(text_) : host;
    zone_case.is_hardware = host.empty();
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
    if (const auto& hint = attempt.verdict.measurement.zone_hint) {
      revision_.warnings.push_back(fmt::format("{}: {}", attempt.telemetry.shown, *hint));
    }
    std::ranges::copy(attempt.verdict.warnings, std::back_inserter(revision_.warnings));
    note_verdict(attempt.verdict.metrics);
    SidecarContent content = sidecar_content(attempt.verdict, options_.schema_version);
    const std::string& folder = revision_.run.folder.below;
    content.telemetry_source = relative(folder, attempt.telemetry.below);
    content.benchmark_result = relative(folder, attempt.benchmark.below);
    revision_.zone_report = attempt.zone_report;
    if (attempt.zone_report) {
      content.zone_evidence = {*attempt.zone_report,
                               revision_.zone_case ? revision_.zone_case->recorder : "",
                               revision_.zone_case ? revision_.zone_case->vote : std::nullopt};
    }
    content.failed_requests = attempt.failed_requests;
    if (run_is_agentic()) content.window_source = kProfileWindowSource;
    content.origin = options_as_given();
    content.origin->inputs = attempt.inputs;
    content.origin->inputs.push_back(others_);
    publish_later(verdict_edits(attempt.verdict, options_.schema_version), revision_.valid,
                  [content = std::move(content)](const InputFile& patched) mutable {
                    content.origin->patched = patched;
                    return sidecar_text(content);
                  });
  }

  // `claims`: the edits say that some power is valid. `record` gives the record's text, given the
  // aggregate as it is left.
  using Record = std::function<std::string(const InputFile& patched)>;

  void publish_later(std::vector<JsonEdit> edits, bool claims, Record record) {
    auto publication = std::make_unique<Publication>();
    publication->aggregate_path = target_.aggregate;
    publication->sidecar_path = target_.sidecar;
    publication->only_together = true;
    publication->valid = claims;
    publication->edits = std::move(edits);
    if (options_.schema_version == 2 || package_) publication->leftovers = {extended_leftovers()};
    if (package_) publication->leftovers.push_back(cpu_leftovers());
    for (const auto& [path, facts] : revision_.inputs) publication->inputs.push_back(path);
    publication->inputs.push_back(path_on_disk(revision_.run.aggregate));
    if (target_.is_elsewhere) {
      publication->aggregate_text = text_;
      publication->make_sidecar_folder = true;
      publication->input_folders = options_.stores;
    }
    publication->root = target_.root;
    publication->is_as_read = [others = others_.hash](std::string_view aggregate) {
      try {
        return hashed_others(aggregate).hash == others;
      } catch (const JsonError&) {
        return false;
      }
    };
    publication->sidecar = [record = std::move(record), before = text_](
                               const Reasons&, std::string_view aggregate) {
      return record(hashed_text(aggregate.empty() ? before : aggregate));
    };
    revision_.publication = std::move(publication);
  }

  bool run_is_agentic() const { return revision_.run.layout == Layout::agentic; }

  Origin options_as_given() const {
    Origin origin;
    origin.schema_version = options_.schema_version;
    origin.expected_num_gpus =
        options_.expected_num_gpus ? std::to_string(*options_.expected_num_gpus) : "auto";
    origin.timezone = options_.zone          ? options_.zone->name()
                      : options_.one_witness ? "evidence"
                                             : "auto";
    origin.max_sample_gap_s = options_.max_sample_gap_s;
    if (options_.power_unit) origin.power_unit = unit_symbol(*options_.power_unit);
    return origin;
  }

  // ---- Whether all was done before

  bool is_done(const Place& telemetry, const Place& benchmark) {
    return was_done(options_as_given(), telemetry.below, benchmark.below,
                    [&](const Origin& origin, std::int64_t record_ns) {
                      const PastInputs inputs{telemetry, benchmark, !options_.zone.has_value()};
                      return options_.verify ? have_the_hashes(inputs, origin)
                                             : have_the_sizes(inputs, origin, record_ns);
                    });
  }

  bool package_is_done(const Place& benchmark) {
    return was_done(package_options_as_given(), package_->power->below, benchmark.below,
                    [&](const Origin& origin, std::int64_t record_ns) {
                      return package_is_as_read(*package_, benchmark, origin, record_ns,
                                                options_.verify);
                    });
  }

  // `is_as_read` tells whether the inputs are what they were, given when the record was written.
  template <typename IsAsRead>
  bool was_done(const Origin& wanted, std::string_view telemetry, std::string_view benchmark,
                const IsAsRead& is_as_read) {
    const auto facts = disk_tree()->find_file(target_.sidecar);
    if (!facts) return false;
    const auto record = read_sidecar(read_file(target_.sidecar));
    if (!record || record->tool_version != AGGREGATE_POWER_VERSION) return false;
    const Origin& origin = record->origin;
    if (!same_options(origin, wanted)) return false;
    const std::string& folder = revision_.run.folder.below;
    if (record->telemetry_source != printable_path(relative(folder, telemetry)) ||
        record->benchmark_result != printable_path(relative(folder, benchmark))) {
      return false;
    }
    if (!is_as_left(origin) || !is_as_read(origin, facts->modified_ns)) return false;
    revision_.outcome = Outcome::unchanged;
    revision_.valid = record->valid;
    revision_.timezone = record->timezone;
    if (const auto& evidence = record->zone_evidence) note_past_zone(*evidence);
    for (const std::string& code : record->reasons) {
      if (const auto reason = reason_of(code)) revision_.reasons.add(*reason);
    }
    if (record->valid) {
      revision_.metrics = metrics_in(target_.is_elsewhere ? read_file(target_.aggregate) : text_);
    }
    return true;
  }

  // Of a run that is up to date: it still speaks for its recorder's zone.
  void note_past_zone(const ZoneEvidenceRecord& evidence) {
    revision_.zone_report = evidence.report;
    ZoneCase zone_case;
    zone_case.recorder = evidence.recorder;
    zone_case.aggregate = revision_.run.aggregate.shown;
    if (evidence.vote) zone_case.start_unix_s = evidence.vote->start_unix_s;
    zone_case.vote = evidence.vote;
    revision_.zone_case = std::move(zone_case);
  }

  static bool same_options(const Origin& a, const Origin& b) {
    const auto options = [](const Origin& origin) {
      return std::tie(origin.schema_version, origin.expected_num_gpus, origin.timezone,
                      origin.max_sample_gap_s, origin.expected_producer_sha, origin.salvage,
                      origin.power_unit);
    };
    return options(a) == options(b);
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

  const RevisionOptions& options_;
  const OtherWitnesses* witnesses_;
  std::string text_;  // the aggregate's
  std::vector<NodeLogs> nodes_;
  const NodeLogs* package_ = nullptr;  // nothing: none is there
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

Revision revise(const StoredRun& run, RunPieces pieces, const RevisionOptions& options,
                const OtherWitnesses* witnesses) {
  return Reviser(run, options, witnesses).run(std::move(pieces));
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
