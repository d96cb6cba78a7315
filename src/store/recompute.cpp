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
#include "loads/aiperf_folder.h"
#include "results/aggregate_json.h"
#include "results/past_record.h"
#include "results/plan.h"
#include "results/record.h"
#include "store/artifact_names.h"
#include "store/layouts.h"
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
  std::string record;
  std::string root;           // that both lie in
  bool is_elsewhere = false;  // than the aggregate
};

Target target_of(const StoredRun& run, const RecomputeOptions& options) {
  const bool is_elsewhere = !options.output.empty();
  const auto in = [&](const std::string& name) {
    return is_elsewhere ? join_path(options.output, join_path(run.folder.below, name))
                        : join_path(run.folder.path, name);
  };
  return {is_elsewhere ? in(aggregate_name(run)) : run.aggregate.path,
          in(fmt::format("power_validation_{}.json", run.name)),
          is_elsewhere ? options.output : store_of(run.folder).path, is_elsewhere};
}

// Candidates without copies of each other.
std::vector<StorePath> distinct(std::vector<StorePath> places) {
  if (places.size() < 2) return places;
  std::vector<std::pair<std::uint64_t, std::string>> seen;
  std::vector<StorePath> result;
  for (StorePath& place : places) {
    const OpenedFile file = place.tree->open(place.path);
    std::pair<std::uint64_t, std::string> content{file.size(), hash_of(file)};
    if (std::ranges::find(seen, content) != seen.end()) continue;
    seen.push_back(std::move(content));
    result.push_back(std::move(place));
  }
  return result;
}

void drop_trees(StoredRun& run) {
  for (StorePath* place : {&run.folder, &run.aggregate}) {
    place->tree.reset();
    place->folder.reset();
  }
}

class Recomputation {
 public:
  Recomputation(const StoredRun& run, const RecomputeOptions& options,
                const OtherWitnesses* witnesses)
      : options_(options), witnesses_(witnesses) {
    recomputed_.run = run;
  }

  template <typename Pieces>
  Recomputed run(Pieces pieces) {
    of_agents_ = pieces.of_agents;
    try {
      work(std::move(pieces));
    } catch (const JsonError& error) {
      // Someone may have been writing to it while it was read.
      const bool is_changed = !target_.is_elsewhere && !holds(target_.aggregate, text_);
      fail(is_changed ? Reason::input_changed : Reason::aggregate_result_unwritable,
           fmt::format("{}:{}", recomputed_.run.aggregate.display, error.what()));
    } catch (const std::exception& error) {
      fail(Reason::input_unreadable, error.what());
    }
    drop_trees(recomputed_.run);
    return std::move(recomputed_);
  }

 private:
  void end(Outcome outcome, Reason reason, std::string detail = {}) {
    recomputed_.outcome = outcome;
    recomputed_.reasons.add(reason, std::move(detail));
  }
  void fail(Reason reason, std::string detail) { end(Outcome::failed, reason, std::move(detail)); }

  void work(OneNodePieces pieces) {
    const std::vector<StorePath>& telemetry = pieces.telemetry.places;
    const std::vector<StorePath>& loads = pieces.loads.places;
    if (!telemetry.empty()) recomputed_.telemetry = telemetry[0].display;
    if (!loads.empty()) recomputed_.benchmark = loads[0].display;
    if (telemetry.empty()) add_missing(Reason::telemetry_file_missing, "gpu_metrics.csv");
    if (loads.empty()) note_missing_load();
    if (!recomputed_.reasons.empty()) {
      recomputed_.outcome = Outcome::not_recomputable;
      return;
    }
    find_target();
    const bool is_one_pair = telemetry.size() == 1 && loads.size() == 1;
    if (!options_.force && is_one_pair && is_done(telemetry[0], loads[0])) return;
    read_aggregate();
    if (recomputed_.reasons.empty()) choose(std::move(pieces.telemetry), std::move(pieces.loads));
  }

  void work(PackagePieces pieces) {
    nodes_ = std::move(pieces.logs);
    if (!nodes_.empty() && nodes_[0].power) package_ = &nodes_[0];
    const std::vector<StorePath>& results = pieces.results.places;
    if (package_) recomputed_.telemetry = package_->power->display;
    if (!results.empty()) recomputed_.benchmark = results[0].display;
    if (!package_) note_missing_package();
    if (of_agents_ && results.size() != 1) note_missing_formal_result(results.size());
    if (!of_agents_ && results.empty()) note_missing_load();
    if (!recomputed_.reasons.empty()) {
      recomputed_.outcome = Outcome::not_recomputable;
      return;
    }
    find_target();
    work_on_package(std::move(pieces.results));
  }

  void find_target() {
    const StoredRun& run = recomputed_.run;
    text_ = read_all(*run.aggregate.tree->open(run.aggregate.path).source());
    target_ = target_of(run, options_);
  }

  void note_missing_package() {
    const StoredRun& run = recomputed_.run;
    recomputed_.reasons.add(
        Reason::power_artifacts_missing,
        nodes_.empty() ? fmt::format("no LOGS/power in {} or in power_audit_{} in it or beside it",
                                     run.folder.display, run.artifact)
                       : fmt::format("no power in {}", nodes_[0].logs.display));
  }

  void note_missing_formal_result(std::size_t results) {
    const std::optional<StorePath>& agentic = nodes_[0].agentic;
    recomputed_.reasons.add(Reason::formal_benchmark_result_missing,
                            agentic ? fmt::format("{} formal results of {} in {}", results,
                                                  recomputed_.run.name, agentic->display)
                                    : fmt::format("no agentic in {}", nodes_[0].logs.display));
  }

  void note_missing_load() {
    const StoredRun& run = recomputed_.run;
    if (!of_agents_) return add_missing(Reason::benchmark_result_missing, run.name + ".json");
    const auto results = agentic_results(run);
    recomputed_.reasons.add(
        Reason::profile_artifacts_missing,
        results ? fmt::format("no {} in {}", kProfileRecords, results->display)
                : fmt::format("no agentic_{} in {} or beside it", run.name, run.folder.display));
  }

  // Results and packages that are there several times must be the same each time.
  void work_on_package(Candidates benchmarks) {
    const bool is_one_pair = benchmarks.places.size() == 1 && nodes_.size() == 1;
    if (!options_.force && is_one_pair && package_is_done(benchmarks.places[0])) return;
    read_aggregate();
    if (!recomputed_.reasons.empty()) return;
    benchmarks.places = distinct(std::move(benchmarks.places));
    if (benchmarks.are_too_many || benchmarks.places.size() != 1) {
      return end(Outcome::ambiguous, Reason::pairing_ambiguous,
                 fmt::format("{} different files are named {}.json", benchmarks.places.size(),
                             recomputed_.run.name));
    }
    for (const MultinodeLogs& other : nodes_) {
      if (&other == package_ || is_same_package(*package_, other, benchmarks.places[0])) continue;
      return end(Outcome::ambiguous, Reason::pairing_ambiguous,
                 fmt::format("{} and {} differ", package_->power->display, other.power->display));
    }
    const StorePath& benchmark = benchmarks.places[0];
    PackagePairing pairing = try_package(*package_, benchmark, recomputed_.run, text_, options_);
    recomputed_.benchmark = benchmark.display;
    Result& result = pairing.result;
    recomputed_.reasons = result.reasons;
    recomputed_.inputs = std::move(pairing.opened);
    recomputed_.warnings = result.warnings;
    if (!result.load) {
      recomputed_.outcome = Outcome::not_recomputable;
      return;
    }
    recomputed_.timezone = "UTC";
    note_verdict(result.metrics);
    const std::string& folder = recomputed_.run.folder.below;
    result.telemetry_source = relative(folder, package_->power->below);
    result.benchmark_result = relative(folder, benchmark.below);
    if (of_agents_) result.window_source = kFormalWindowSource;
    result.origin = package_options_as_given();
    result.origin->inputs = std::move(pairing.inputs);
    publish_later(std::move(result));
  }

  Origin package_options_as_given() const {
    Origin origin;  // the other options are not for packages
    origin.expected_num_gpus = origin.timezone = "auto";
    origin.expected_producer_sha = options_.expected_producer_sha;
    origin.salvage = options_.salvage;
    return origin;
  }

  void note_verdict(const Metrics& metrics) {
    recomputed_.valid = recomputed_.reasons.empty();
    recomputed_.outcome = recomputed_.valid ? Outcome::patched : Outcome::not_valid;
    if (!recomputed_.valid) return;
    for (const Metric& metric : metrics) {
      recomputed_.metrics.emplace_back(metric.key, rounded(metric.value, metric.decimals));
    }
  }

  void add_missing(Reason reason, const std::string& name) {
    const bool is_searched = options_.is_searched;
    recomputed_.reasons.add(
        reason,
        fmt::format("no {} in {}, beside it{}", name, recomputed_.run.folder.display,
                    is_searched ? ", or by the run's name in the store"
                                : "; the rest of the store was not searched"),
        is_searched ? Obstacle::none : Obstacle::not_searched);
  }

  void read_aggregate() {
    if (std::string risk = target_.is_elsewhere ? "" : replacement_risk(target_.aggregate);
        !risk.empty()) {
      return end(Outcome::not_writable, Reason::replacement_unsafe,
                 fmt::format("{}: {}", recomputed_.run.aggregate.display, risk));
    }
    MemorySource source(text_);
    if (scan_json(source, [](const JsonMember&) {}).kind != JsonKind::object) {
      return fail(Reason::aggregate_result_unwritable,
                  recomputed_.run.aggregate.display + ": is no JSON object");
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
                 fmt::format("{} lies beside an aggregate of its own", recomputed_.benchmark));
    }
    telemetry.places = distinct(std::move(telemetry.places));
    benchmarks.places = distinct(std::move(benchmarks.places));
    const std::size_t pairs = telemetry.places.size() * benchmarks.places.size();
    const bool are_own =
        (telemetry.are_own && benchmarks.are_own) || are_its_only_namesakes(telemetry, benchmarks);
    std::vector<Pairing> fitting;
    std::vector<Pairing> others;
    for (const StorePath& recording : telemetry.places) {
      for (const StorePath& benchmark : benchmarks.places) {
        if (pairs > kMostCandidates) continue;
        Pairing tried = pairing(recording, benchmark);
        (fits(tried) || shows_window(tried) ? fitting : others).push_back(std::move(tried));
      }
    }
    if (fitting.size() == 1) return conclude_or_wait(std::move(fitting[0]), are_own);
    if (others.size() == 1 && pairs == 1 && (are_own || !is_apart(others[0]))) {
      return conclude_or_wait(std::move(others[0]), are_own);
    }
    std::vector<std::string> display;
    for (const StorePath& place : telemetry.places) display.push_back(place.display);
    for (const StorePath& place : benchmarks.places) display.push_back(place.display);
    display.resize(std::min(display.size(), kMostCandidates));
    end(Outcome::ambiguous, Reason::pairing_ambiguous,
        fmt::format("{} of {} pairs fit, among {}", fitting.size(), pairs,
                    fmt::join(display, ", ")));
  }

  // A result that was found by its name alone, but has an aggregate with it already.
  bool is_another_runs(const std::vector<StorePath>& benchmarks) const {
    const std::string name = fmt::format("agg_{}.json", recomputed_.run.name);
    return std::ranges::any_of(
        benchmarks, [&](const StorePath& place) { return find_beside(place, name).has_value(); });
  }

  // The one recording and the one result of the store that are named after this run, and after no
  // other. A result is always named so.
  bool are_its_only_namesakes(const Candidates& telemetry, const Candidates& benchmarks) const {
    const auto bears_its_name = [&](const StorePath& recording) {
      const std::string name = "gpu_metrics_" + recomputed_.run.name;
      return plain_stem(last_name(recording.path)) == name ||
             (recording.folder && archive_stem(last_name(recording.folder->display)) == name);
    };
    return telemetry.are_only_namesakes && benchmarks.are_only_namesakes &&
           std::ranges::all_of(telemetry.places, bears_its_name);
  }

  Pairing pairing(const StorePath& telemetry, const StorePath& benchmark) {
    return try_pair(telemetry, benchmark, options_, expected_num_gpus_, witnesses_);
  }

  // Whether a recording whose zone is still open shows the run's load, under one offset alone.
  static bool shows_window(const Pairing& pairing) {
    return pairing.zone_finding && pairing.zone_finding->by_edges;
  }

  void conclude_or_wait(Pairing pairing, bool are_own) {
    note_zone_case(pairing);
    const bool is_open = !pairing.has_zone && pairing.zone_finding && witnesses_ == nullptr;
    if (!is_open) return conclude(std::move(pairing));
    recomputed_.aggregate_text = store_path_text(recomputed_.run.aggregate);
    recomputed_.zone_case->waiting_telemetry = store_path_text(pairing.telemetry);
    recomputed_.zone_case->waiting_benchmark = store_path_text(pairing.benchmark);
    recomputed_.zone_case->are_own = are_own;
  }

  // What it says to the other runs of its recorder: nothing, where it has no window.
  void note_zone_case(const Pairing& pairing) {
    const auto& load = pairing.result.load;
    if (!load || options_.zone) return;
    ZoneCase zone_case;
    name_recorder(pairing.host, zone_case);
    zone_case.aggregate = recomputed_.run.aggregate.display;
    zone_case.start_unix_s = load->window.start_unix_s;
    zone_case.telemetry = pairing.telemetry.display;
    zone_case.written_ns = pairing.written_ns;
    zone_case.vote = vote_of(pairing, load->window);
    if (pairing.zone_finding) {
      zone_case.has_load_elsewhere = pairing.zone_finding->has_load_elsewhere;
    }
    recomputed_.zone_case = std::move(zone_case);
  }

  static std::optional<ZoneVote> vote_of(const Pairing& pairing, Window window) {
    if (const auto& finding = pairing.zone_finding; finding && finding->by_edges) {
      return ZoneVote{window.start_unix_s, finding->by_edges->offset_s, false,
                      finding->by_edges->idle_w, finding->by_edges->load_w};
    }
    // One under which the recording does not hold the window speaks for nothing.
    const bool is_stated = pairing.zone_report && pairing.result.is_valid() &&
                           pairing.zone_report->witnesses == std::vector{ZoneWitness::zone_file};
    if (!is_stated) return std::nullopt;
    const std::string& offset = pairing.result.telemetry->utc_offset;
    return ZoneVote{window.start_unix_s, Zone::parse(offset).offset_at(0), true};
  }

  // The artifact's label first: shards go by it.
  void name_recorder(const std::string& host, ZoneCase& zone_case) const {
    for (const std::string& name : {recomputed_.run.artifact, recomputed_.run.name}) {
      zone_case.recorder = recorder_label(name);
      if (!zone_case.recorder.empty()) return;
    }
    zone_case.recorder = host.empty() ? hardware_of(text_) : host;
    zone_case.is_hardware = host.empty();
  }

  void conclude(Pairing pairing) {
    Result& result = pairing.result;
    recomputed_.telemetry = pairing.telemetry.display;
    recomputed_.benchmark = pairing.benchmark.display;
    recomputed_.reasons = result.reasons;
    recomputed_.inputs = std::move(pairing.opened);
    if (!pairing.has_window || !pairing.has_zone) {
      recomputed_.outcome = pairing.has_window ? Outcome::ambiguous : Outcome::not_recomputable;
      return;
    }
    if (result.telemetry) recomputed_.timezone = result.telemetry->timezone;
    for (const std::string& hint : result.hints) {
      recomputed_.warnings.push_back(fmt::format("{}: {}", pairing.telemetry.display, hint));
    }
    std::ranges::copy(result.warnings, std::back_inserter(recomputed_.warnings));
    note_verdict(result.metrics);
    const std::string& folder = recomputed_.run.folder.below;
    result.telemetry_source = relative(folder, pairing.telemetry.below);
    result.benchmark_result = relative(folder, pairing.benchmark.below);
    recomputed_.zone_report = pairing.zone_report;
    if (pairing.zone_report) {
      result.zone_evidence = {*pairing.zone_report,
                              recomputed_.zone_case ? recomputed_.zone_case->recorder : "",
                              recomputed_.zone_case ? recomputed_.zone_case->vote : std::nullopt};
    }
    if (of_agents_) result.window_source = kProfileWindowSource;
    result.origin = options_as_given();
    result.origin->inputs = pairing.inputs;
    publish_later(std::move(result));
  }

  void publish_later(Result result) {
    result.origin->inputs.push_back(others_);
    WritePlan target;
    target.aggregate_path = target_.aggregate;
    target.record_path = target_.record;
    target.only_together = true;
    for (const auto& [path, facts] : recomputed_.inputs) target.inputs.push_back(path);
    target.inputs.push_back(path_on_disk(recomputed_.run.aggregate));
    if (target_.is_elsewhere) {
      target.aggregate_text = text_;
      target.make_record_folder = true;
      target.input_folders = options_.stores;
    }
    target.root = target_.root;
    target.is_as_read = [others = others_.hash](std::string_view aggregate) {
      try {
        return hashed_others(aggregate).hash == others;
      } catch (const JsonError&) {
        return false;
      }
    };
    recomputed_.plan = std::make_unique<WritePlan>(
        plan(std::make_shared<const Result>(std::move(result)), std::move(target), text_));
  }

  Origin options_as_given() const {
    Origin origin;
    origin.schema_version = options_.schema_version;
    origin.expected_num_gpus =
        options_.expected_num_gpus ? std::to_string(*options_.expected_num_gpus) : "auto";
    origin.timezone = options_.zone          ? options_.zone->name()
                      : options_.one_witness ? "evidence"
                                             : "auto";
    origin.max_sample_gap_s = options_.max_sample_gap_s;
    if (options_.columns.power_unit) {
      origin.power_unit = unit_symbol(*options_.columns.power_unit);
    }
    return origin;
  }

  // ---- Whether all was done before

  bool is_done(const StorePath& telemetry, const StorePath& benchmark) {
    return was_done(options_as_given(), telemetry.below, benchmark.below,
                    [&](const Origin& origin, std::int64_t record_ns) {
                      const PastInputs inputs{telemetry, benchmark, !options_.zone.has_value()};
                      return options_.verify ? have_the_hashes(inputs, origin)
                                             : have_the_sizes(inputs, origin, record_ns);
                    });
  }

  bool package_is_done(const StorePath& benchmark) {
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
    const auto facts = disk_tree()->find_file(target_.record);
    if (!facts) return false;
    const auto record = parse_record(read_file(target_.record));
    if (!record || record->tool_version != AGGREGATE_POWER_VERSION) return false;
    const Origin& origin = record->origin;
    if (!same_options(origin, wanted)) return false;
    const std::string& folder = recomputed_.run.folder.below;
    if (record->telemetry_source != printable_path(relative(folder, telemetry)) ||
        record->benchmark_result != printable_path(relative(folder, benchmark))) {
      return false;
    }
    if (!is_as_left(origin) || !is_as_read(origin, facts->modified_ns)) return false;
    recomputed_.outcome = Outcome::unchanged;
    recomputed_.valid = record->valid;
    recomputed_.timezone = record->timezone;
    if (const auto& evidence = record->zone_evidence) note_past_zone(*evidence);
    for (const std::string& code : record->reasons) {
      if (const auto reason = reason_of(code)) recomputed_.reasons.add(*reason);
    }
    if (record->valid) {
      recomputed_.metrics = metrics_in(target_.is_elsewhere ? read_file(target_.aggregate) : text_);
    }
    return true;
  }

  // Of a run that is up to date: it still speaks for its recorder's zone.
  void note_past_zone(const ZoneEvidenceRecord& evidence) {
    recomputed_.zone_report = evidence.report;
    ZoneCase zone_case;
    zone_case.recorder = evidence.recorder;
    zone_case.aggregate = recomputed_.run.aggregate.display;
    if (evidence.vote) zone_case.start_unix_s = evidence.vote->start_unix_s;
    zone_case.vote = evidence.vote;
    recomputed_.zone_case = std::move(zone_case);
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

  const RecomputeOptions& options_;
  const OtherWitnesses* witnesses_;
  bool of_agents_ = false;
  std::string text_;  // the aggregate's
  std::vector<MultinodeLogs> nodes_;
  const MultinodeLogs* package_ = nullptr;  // nothing: none is there
  Target target_;
  InputFile others_;
  std::optional<std::int64_t> expected_num_gpus_;
  Recomputed recomputed_;
};

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  constexpr std::array<std::string_view, kOutcomes> kNames = {
      "patched",      "unchanged", "not_valid", "not_recomputable",
      "not_writable", "ambiguous", "failed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::optional<Recomputed> refused(const StoredRun& run, const RecomputeOptions& options) {
  const bool has_aggregate = run.aggregate.tree != nullptr;
  if (has_aggregate && (!run.aggregate.tree->is_archive() || !options.output.empty())) {
    return std::nullopt;
  }
  Recomputed refused;
  refused.run = run;
  if (has_aggregate) {
    refused.outcome = Outcome::not_writable;
    refused.reasons.add(Reason::aggregate_in_archive, run.aggregate.display);
  } else {
    refused.outcome = Outcome::not_recomputable;
    refused.reasons.add(Reason::aggregate_result_missing, run.folder.display);
  }
  drop_trees(refused.run);
  return refused;
}

Recomputed recompute(const StoredRun& run, RunPieces pieces, const RecomputeOptions& options,
                     const OtherWitnesses* witnesses) {
  if (auto* const one_node = std::get_if<OneNodePieces>(&pieces)) {
    return Recomputation(run, options, witnesses).run(std::move(*one_node));
  }
  auto& package = std::get<PackagePieces>(pieces);
  StoredRun of_nodes = run;
  if (!package.of_agents) of_nodes.layout = Layout::multinode;
  return Recomputation(of_nodes, options, witnesses).run(std::move(package));
}

bool inputs_are_unchanged(const Recomputed& recomputed) {
  return std::ranges::all_of(recomputed.inputs, [](const auto& input) {
    const auto& [path, facts] = input;
    const auto now = disk_tree()->find_file(path);
    return now && now->modified_ns == facts.modified_ns &&
           (facts.bytes == 0 || now->bytes == facts.bytes);
  });
}

}  // namespace aggregate_power
