// Reads runs and recordings, several at a time.
#include "views/page/page.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "aggregate_power/sample.h"
#include "base/files/file.h"
#include "base/files/nameless_file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/system/parallel.h"
#include "base/text/json_value.h"
#include "core/telemetry/power_limits.h"
#include "decide/compare/compare.h"
#include "decide/recommend/recommend.h"
#include "decide/recommend/run_limits.h"
#include "recorders/energy_rate.h"
#include "recorders/recording.h"
#include "runs/picture/curves.h"
#include "store/backfill/backfill.h"
#include "store/catalogue/published_runs.h"
#include "store/catalogue/retained_files.h"
#include "store/catalogue/run_record.h"
#include "store/catalogue/unmeasured_runs.h"
#include "views/export/export.h"

namespace aggregate_power {
namespace {

void apply_edits(const std::vector<JsonEdit>& edits, JsonValue& members) {
  for (const JsonEdit& edit : edits) {
    std::erase_if(members.members,
                  [&](const JsonValue::Member& member) { return member.first == edit.key; });
    if (!edit.value.empty()) members.members.emplace_back(edit.key, parse_json(edit.value));
  }
}

// Puts what would be written of a run in its place; else why nothing would be.
void take_computed(const Recomputed& computed, ReportRun& run) {
  if (!computed.plan || !computed.is_written()) {
    run.run.reasons = computed.reasons.codes();
    return;
  }
  const JsonValue record = parse_json(computed.plan->record({}, {}));
  JsonValue members = run.run.members.all();
  apply_edits(computed.plan->edits, members);
  PublishedRun published = published_run_of(members, &record);
  published.name = std::move(run.run.name);
  published.identity = std::move(run.run.identity);
  published.has_aggregate = run.run.has_aggregate;
  set_computed_telemetry(published, computed.telemetry);
  published.read_as = reading_in(record);
  run.run = std::move(published);
  run.is_computed_here = true;
}

// Replaces those of `runs` without power that are in `stores` by what a backfill with its default
// options would make of them; of a run that it cannot compute, the reasons. Returns notes for
// people.
std::vector<std::string> compute_missing_runs(const std::vector<std::string>& stores,
                                              unsigned most_threads, const StoreAccess& access,
                                              std::vector<ReportRun>& runs) {
  std::vector<ReportRun*> missing;
  for (ReportRun& run : runs) {
    if (run.run.state == PowerState::none && run.run.has_aggregate) missing.push_back(&run);
  }
  if (missing.empty() || stores.empty()) return {};
  const auto identity = [](const ReportRun* run) { return std::string_view(run->run.identity); };
  std::ranges::sort(missing, {}, identity);
  BackfillRequest request;
  request.stores = stores;
  request.jobs = most_threads;
  request.recompute.dry_run = true;
  request.recompute.stores = stores;
  request.recompute.access = access;
  // So that aggregates in archives are computed, too.
  request.recompute.output = unforeseen_path();
  std::size_t taken = 0;
  BackfillWatcher watcher;
  watcher.trouble = [](const std::string&) {};
  watcher.progress = [](const BackfillProgress&) {};
  watcher.done = [&](const Recomputed& recomputed) {
    const std::string wanted = file_identity(recomputed.run.aggregate.display);
    const auto found = std::ranges::lower_bound(missing, wanted, {}, identity);
    if (found == missing.end() || identity(*found) != wanted || (*found)->is_computed_here) return;
    take_computed(recomputed, **found);
    taken += (*found)->is_computed_here ? 1 : 0;
  };
  try {
    Backfill(request, watcher).run();
  } catch (const std::runtime_error& error) {
    return {fmt::format("{}: {}",
                        taken == 0 ? "runs without power were not computed"
                                   : "not all runs without power were computed",
                        error.what())};
  }
  if (taken == 0) return {};
  return {fmt::format(
      "{} had no power yet: computed for this report, not written ('aggregate-power backfill' writes it)",
      taken == 1 ? "1 run" : fmt::format("{} runs", taken))};
}

struct RecordedCurve {
  RunCurve curve;
  // The one limit that all GPUs reported throughout; nullopt: none, or several.
  std::optional<double> limit_w = {};
  std::vector<std::string> gpu_uuids = {};  // as PublishedRun has them
};

std::optional<double> only_limit(const PowerCurves& curves) {
  std::optional<double> limit_w;
  for (const DeviceCurve& device : curves.devices) {
    for (const double each : device.limits_w) {
      if (limit_w && *limit_w != each) return std::nullopt;
      limit_w = each;
    }
  }
  return limit_w;
}

// Returns nullopt if the recording has no power at the window. Reads it once. Throws FileError and
// TelemetryError.
std::optional<RecordedCurve> recorded_curve(const Recording& recording, const PublishedRun& run) {
  if (!recording.faults().empty()) return std::nullopt;
  const Window window{run.start_unix_s, run.start_unix_s + run.duration_s};
  PowerCurvesOptions options{.window = window};
  std::optional<CurveRows> rows;
  Samples samples(kAlways);
  const auto begin = [&](const Telemetry& opened) {
    options.interpolation = opened.facts().interpolation;
    options.with_limits = opened.facts().has_power_limit;
    return rows.emplace(options).states();
  };
  const auto take = [&](const Batch& batch) {
    rows->take(batch);
    samples.take(batch.readings);
  };
  const Telemetry telemetry =
      read_whole(recording, {.take = take, .begin = begin, .may_use_threads = false});
  if (!rows) return std::nullopt;
  samples.sort();
  const PowerCurves curves =
      power_curves(options, samples, *rows, telemetry.devices(), telemetry.pauses());
  RecordedCurve recorded{run_curve(curves.sum, curves.devices.size(), window), only_limit(curves),
                         recorded_boards(run, telemetry)};
  if (!(recorded.curve.peak_w > 0)) return std::nullopt;
  return recorded;
}

// A larger one is read if its curve is asked for.
constexpr std::uint64_t kMostBytesUnasked = std::uint64_t{256} << 20;

struct ReportPlaces {
  std::vector<std::string> runs;
  std::vector<std::string> stores;  // the folders and archives among them
  std::vector<std::string> tables;
};

ReportPlaces sorted_places(const std::vector<std::string>& paths) {
  ReportPlaces places;
  for (const std::string& path : paths) {
    if (!holds_runs(path)) {
      places.tables.push_back(path);
      continue;
    }
    places.runs.push_back(path);
    if (!is_regular_file(path) || is_archive_name(path)) places.stores.push_back(path);
  }
  return places;
}

std::vector<ReportRun> read_report_runs(const ReportPlaces& places, const ReportRequest& request,
                                        Report& report) {
  if (places.runs.empty()) return {};
  PublishedRuns found = read_published_runs(places.runs, request.most_threads, request.access);
  if (add_unmeasured_runs(places.stores, request.measuring, request.most_threads, found) == 0) {
    note_unused_options(request.measuring, found.notes);
  }
  report.warnings = std::move(found.warnings);
  std::vector<ReportRun> runs;
  runs.reserve(found.runs.size());
  for (PublishedRun& run : std::exchange(found.runs, {})) runs.push_back({.run = std::move(run)});
  report.notes = compute_missing_runs(places.stores, request.most_threads, request.access, runs);
  std::ranges::move(found.notes, std::back_inserter(report.notes));
  return runs;
}

// The limit may be in recordings alone, unless its member is named.
void require_known_members(const ReportRequest& request, const std::vector<ReportRun>& runs) {
  std::vector<std::string> keys = request.keys;
  std::erase(keys, kLimitKey);
  std::vector<const PublishedRun*> all;
  for (const ReportRun& run : runs) all.push_back(&run.run);
  if (all.empty()) return;
  require_members("--group-by", all, keys);
  if (!request.limit_key.empty()) require_members("--limit-key", all, {request.limit_key});
}

// ---- Curves

// Nullopt: it has none that can be read. May throw FileError and TelemetryError.
std::optional<RecordedCurve> curve_of(const ReportRun& run, bool is_asked) {
  const PublishedRun& published = run.run;
  const std::optional<StorePath> place = telemetry_of(published);
  if (!place || !place->facts || !(published.duration_s > 0)) return std::nullopt;
  const OpenedFile opened = place->tree->open(place->path);
  if (!is_asked && opened.size() > kMostBytesUnasked) return std::nullopt;
  return recorded_curve(*recording_of_run(*place, record_of(published)), published);
}

void read_curve(const ReportRequest& request, ReportRun& run) {
  try {
    auto recorded = curve_of(run, request.curves.has_value());
    if (!recorded) return;
    run.curve = std::move(recorded->curve);
    if (!run.limit_w) run.limit_w = recorded->limit_w;
    if (run.run.gpu_uuids.empty()) run.run.gpu_uuids = std::move(recorded->gpu_uuids);
  } catch (const std::runtime_error&) {  // it is gone, or damaged: there is no curve
  }
}

std::size_t curves_wanted(const ReportRequest& request, std::size_t runs) {
  const bool are_few = runs <= kMostRunsWithCurves;
  return std::min(request.curves.value_or(are_few ? runs : 0), runs);
}

// What the page says of runs without a curve.
std::string read_curves(const ReportRequest& request, std::vector<ReportRun>& runs) {
  const std::size_t wanted = curves_wanted(request, runs.size());
  in_parallel(wanted, request.most_threads, [&](std::size_t i) { read_curve(request, runs[i]); });
  const auto read = static_cast<std::size_t>(
      std::ranges::count_if(runs, [](const ReportRun& run) { return run.curve.has_value(); }));
  if (runs.empty() || read == runs.size()) return {};
  if (wanted > 0 && read == 0) return "No recording was found for a power curve.";
  if (wanted == 0 && !request.curves) {
    return fmt::format(
        "The power curves of more than {} runs are read only on request: --curves all.",
        kMostRunsWithCurves);
  }
  if (wanted == 0) return {};
  return fmt::format(
      "{} of {} runs have a power curve; of the others no recording was read or found.", read,
      runs.size());
}

// Where the recordings of only some of the runs that are equal otherwise say a limit, because the
// others were not read, or are gone, limits would tell equal runs apart: they are forgotten.
// Returns whether that was so.
bool forget_some_recorded_limits(const ReportRequest& request, std::vector<ReportRun>& runs) {
  std::map<Configuration, std::vector<ReportRun*>> groups;
  for (ReportRun& run : runs) {
    if (run.run.state != PowerState::valid) continue;
    groups[configuration_of(run.run, request.keys)].push_back(&run);
  }
  bool were_forgotten = false;
  for (const auto& [configuration, group] : groups) {
    const auto has_limit = [](const ReportRun* run) { return run->limit_w.has_value(); };
    if (std::ranges::all_of(group, has_limit)) continue;
    were_forgotten = were_forgotten || std::ranges::any_of(group, has_limit);
    for (ReportRun* const run : group) run->limit_w = asked_limit_w(run->run, request.limit_key);
  }
  return were_forgotten;
}

// Fills in the limits that aggregates name, reads the curves with the limits that recordings state,
// and returns what the page says of both.
std::string read_limits_and_curves(const ReportRequest& request, std::vector<ReportRun>& runs) {
  for (ReportRun& run : runs) run.limit_w = asked_limit_w(run.run, request.limit_key);
  const bool all_name_limits =
      std::ranges::all_of(runs, [](const ReportRun& run) { return run.limit_w.has_value(); });
  std::string note = read_curves(request, runs);
  if (all_name_limits) return note;
  const bool is_any_read =
      std::ranges::any_of(runs, [](const ReportRun& run) { return run.curve.has_value(); });
  const bool are_some_unread = curves_wanted(request, runs.size()) < runs.size();
  const bool were_forgotten = is_any_read && forget_some_recorded_limits(request, runs);
  if (are_some_unread || were_forgotten) {
    note +=
        " Power limits that only recordings state are not known where these were not all read: runs that differ in nothing else count as one configuration.";
  }
  return note;
}

// Returns a note on the runs whose limit is not their own.
std::string fill_limits(const ReportRequest& request, std::vector<ReportRun>& runs) {
  std::size_t filled = 0;
  for (ReportRun& run : runs) {
    if (run.limit_w || !request.otherwise_limit_w) continue;
    if (*request.otherwise_limit_w > 0) run.limit_w = request.otherwise_limit_w;
    for (const char* const key : {"hw", "hardware", "gpu_model", "gpu"}) {
      const auto limit = power_limit_of(run.run.text_of(key));
      if (!run.limit_w && limit) run.limit_w = limit->watts;
    }
    if (run.limit_w) ++filled;
  }
  if (filled == 0) return {};
  return fmt::format("{} run(s) do not state a power limit: it is the one of --tdp", filled);
}

// ---- Links

// To the record of a run, from the folder of the page: by their names, as a browser resolves them.
std::function<std::string(const PublishedRun&)> record_links(const std::string& out) {
  const auto absolute = [here = std::filesystem::current_path().string()](const std::string& path) {
    return path.starts_with('/') ? path : here + "/" + path;
  };
  const std::string page = std::filesystem::path(absolute(out)).lexically_normal().string();
  const std::string folder = page.substr(0, page.rfind('/') + 1);
  return [absolute, folder](const PublishedRun& run) {
    return link_text(path_between(folder, absolute(path_on_disk(run.record.place()))));
  };
}

// ---- The whole

Recommendation read_sweep_tables(const ReportPlaces& places, const ReportRequest& request,
                                 Report& report) {
  Recommendation recommendation =
      recommend({.results = places.tables, .keys = request.keys, .limit_key = request.limit_key});
  std::ranges::move(recommendation.warnings, std::back_inserter(report.warnings));
  std::ranges::move(recommendation.notes, std::back_inserter(report.notes));
  return recommendation;
}

void add_good_work(const ReportRequest& request, std::vector<ReportRun>& runs, Report& report) {
  if (!request.slo.is_asked()) return;
  std::vector<PublishedRun*> changed;
  for (ReportRun& run : runs) changed.push_back(&run.run);
  compare::add_good_numbers(request.slo, request.most_threads, changed, report.warnings);
}

void add_fronts(const ReportRequest& request, ReportPage& page) {
  if (!request.slo.is_asked()) return;
  std::vector<const PublishedRun*> runs;
  for (const ReportRun& run : page.runs.runs) runs.push_back(&run.run);
  page.slo = request.slo;
  page.fronts = slo_fronts(runs, {request.slo, request.keys, request.limit_key});
}

std::string places_text(const std::vector<std::string>& places) {
  constexpr std::size_t kFew = 3;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(places.size(), kFew); ++i) {
    shown.push_back(printable_path(last_name(places[i])));
  }
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (places.size() > kFew) text += fmt::format(" and {} more", places.size() - kFew);
  return text;
}

}  // namespace

Report make_report(const ReportRequest& request) {
  Report report;
  const ReportPlaces places = sorted_places(request.places);
  std::vector<ReportRun> runs = read_report_runs(places, request, report);
  ReportPage page{.source = places_text(request.places)};
  require_known_members(request, runs);
  page.curves_note = read_limits_and_curves(request, runs);
  if (std::string note = fill_limits(request, runs); !note.empty()) {
    report.notes.push_back(std::move(note));
  }
  add_good_work(request, runs, report);
  page.runs = arrange_runs(std::move(runs), request.keys);
  page.runs.record_link = record_links(request.out);
  page.runs.rates = read_facility_rates(request.facility);
  page.sweeps = sweeps_of_runs(page.runs, {request.keys, request.limit_key, request.most_threads});
  if (!places.tables.empty()) {
    std::ranges::move(sweeps_of_tables(read_sweep_tables(places, request, report)),
                      std::back_inserter(page.sweeps));
  }
  add_fronts(request, page);
  page.title = request.title.empty() ? "Power and energy: " + page.source : request.title;
  if (!request.title.empty()) page.subtitle = page.source;
  page.notes.assign(report.warnings.begin(), report.warnings.end());
  page.notes.insert(page.notes.end(), report.notes.begin(), report.notes.end());
  report.runs = page.runs.runs.size();
  report.valid = page.runs.count(PowerState::valid);
  report.sweeps = page.sweeps.size();
  report.clock_sweeps =
      static_cast<std::size_t>(std::ranges::count_if(page.sweeps, &LimitSweep::is_of_clocks));
  const bool has_csv = page.runs.is_sampled() && !request.out.empty();
  if (has_csv) page.csv_name = last_name(csv_of_page(request.out));
  report.html = page_html(page);
  if (has_csv) {
    report.write_csv =
        [all = std::make_shared<ReportRuns>(std::move(page.runs))](const TextSink& sink) {
          const auto run = [&](std::size_t i) -> PublishedRun& { return all->runs[i].run; };
          rows_csv(exported_runs(all->runs.size(), run, all->rates), sink);
        };
  }
  return report;
}

std::string csv_of_page(const std::string& page) {
  return std::filesystem::path(page).replace_extension(".csv").string();
}

}  // namespace aggregate_power
