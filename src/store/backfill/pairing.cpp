// Reads a recording and a load of a store, and assesses them.
#include "store/backfill/backfill.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "core/load/benchmark.h"
#include "core/load/load_files.h"
#include "generators/aiperf.h"
#include "generators/generator_table.h"
#include "recorders/recorder_context.h"
#include "recorders/recording.h"
#include "runs/deployment/agentic.h"
#include "runs/measure/aggregate_doubts.h"
#include "runs/measure/seen_power.h"
#include "runs/measure/uncertainty.h"
#include "runs/window/results_beside.h"
#include "runs/window/window.h"

namespace aggregate_power {
namespace {

struct PairInputs {
  std::vector<InputFile> files;                           // by role, with their hashes
  std::vector<std::pair<std::string, FileFacts>> opened;  // on disk, as they were then

  // These throw FileError. The second one also hashes the file, which must not be larger than its
  // kind may be.
  OpenedFile open(const StorePath& place);
  OpenedFile open_and_hash(const StorePath& place, const std::string& role,
                           const FileKind& kind = kContextFile);
};

OpenedFile PairInputs::open(const StorePath& place) {
  OpenedFile file = place.tree->open(place.path);
  // A file in an archive is as old as the archive.
  opened.emplace_back(path_on_disk(place), place.tree->is_archive()
                                               ? FileFacts{0, file.facts().modified_ns}
                                               : file.facts());
  return file;
}

OpenedFile PairInputs::open_and_hash(const StorePath& place, const std::string& role,
                                     const FileKind& kind) {
  OpenedFile file = open(place);
  if (file.size() > kind.most_bytes) throw FileError(file.name(), too_large(kind));
  files.push_back({role, file.size(), hash_of(file)});
  return file;
}

struct StoredLoad {
  LoadReading reading;
  std::optional<FailedRequestsRequest> failed_requests = {};  // for a profile
};

// Opens another file of a profile; all are few and short except the records.
LoadFile open_profile_file(const StorePath& records, const ProfileFiles& profile,
                           std::string_view role, PairInputs& inputs) {
  const bool is_summary = role == kProfileSummaryRole;
  const std::optional<StorePath>& place = is_summary ? profile.summary : profile.captured_zone;
  if (!place) {
    return {nullptr, is_summary ? fmt::format("no {} beside {}", kProfileSummary, records.display)
                                : fmt::format("no {} with {}", kCapturedZone, records.display)};
  }
  const OpenedFile file =
      inputs.open_and_hash(*place, std::string(role), is_summary ? kSummaryFile : kContextFile);
  // The zone is never compressed.
  return {is_summary ? decompressed(file.source(), place->display) : file.source(), place->display};
}

// `place` is a benchmark result, or the records of an AIPerf profile. Throws FileError.
StoredLoad read_stored_load(const StorePath& place, const RecomputeOptions& options,
                            PairInputs& inputs) {
  const std::string& name = place.display;
  const auto profile = profile_files(place);
  std::optional<OpenedFile> file;
  ContentHash hash;  // of the file that identifies the load, as it is read
  LoadFiles files;
  files.name = name;
  files.open = [&] {
    file = inputs.open(place);
    return decompressed(std::make_unique<HashingSource>(file->source(), hash), name);
  };
  if (profile) {
    files.other = [&](std::string_view role) {
      return open_profile_file(place, *profile, role, inputs);
    };
  }
  files.rules = options.schema_version == 2 ? LoadRules::schema_2 : LoadRules::schema_1;
  if (!profile) files.zone = options.zone;  // a profile's clock need not be the recorder's
  StoredLoad load{read_selected_load(files, options.select)};
  if (!file) return load;
  const bool is_whole = hash.bytes() == file->size();  // a faulty one is not read to its end
  inputs.files.push_back(
      {"benchmark_result", file->size(), is_whole ? hash.hex() : hash_of(*file)});
  if (!profile) return load;
  FailedRequestsRequest& failed = load.failed_requests.emplace();
  failed.count = load.reading.failed_requests;
  failed.records = [file = *file, name] { return decompressed(file.source(), name); };
  return load;
}

// Opens a file beside the recording on its request.
std::unique_ptr<ByteSource> open_beside(const StorePath& telemetry, const std::string& name,
                                        PairInputs& inputs) {
  const auto place = find_beside(telemetry, name);
  if (!place) return nullptr;
  for (const SideFile& side : kSideFiles) {
    if (name != side_name(side, telemetry.path)) continue;
    return inputs.open_and_hash(*place, side.role, side.kind).source();
  }
  return inputs.open(*place).source();
}

Recording open_recording(const StorePath& telemetry, const RecomputeOptions& options,
                         const std::optional<Zone>& captured_zone, PairInputs& inputs) {
  Recording recording(
      telemetry.display, std::make_unique<OpenedFile>(inputs.open(telemetry)),
      [&](const std::string& name) { return open_beside(telemetry, name, inputs); }, options.zone,
      options.columns);
  recording.add_clock_offset(options.clock_offset_s);
  if (captured_zone && recording.lacks_zone()) recording.use_zone(*captured_zone, "file");
  return recording;
}

// Throws Error if the recording or a file beside it could not be read.
Result assess_readable(const MeasurementRequest& request, const Recording& recording,
                       const LoadReading& reading, PairInputs& inputs) {
  std::erase_if(inputs.files, [](const InputFile& input) {
    return input.role == "energy_start" || input.role == "energy_end";  // they will be read again
  });
  Result result = assess(request, recording, reading);
  if (!result.could_not_read) return result;
  throw Error(result.reasons.empty()
                  ? fmt::format("{}: an energy snapshot beside it cannot be read", recording.path())
                  : result.reasons.text());
}

// The host, if the recording names only one; else empty.
std::string only_host(const Result& result) {
  if (!result.telemetry || !result.telemetry->series.names_hosts) return {};
  std::set<std::string> hosts;
  for (const std::string& id : result.observed_gpu_ids) {
    hosts.insert(id.substr(0, id.rfind('/')));
  }
  return hosts.size() == 1 ? *hosts.begin() : std::string();
}

// Notes what an interval depends on. One that cannot be read is not noted, so that it is tried
// again each time.
void note_model_files(const StorePath& telemetry, PairInputs& inputs) {
  for (const ModelFile& file : kModelFiles) {
    try {
      const auto place = find_beside(telemetry, plain_stem(telemetry.path) + file.end);
      if (place) inputs.open_and_hash(*place, file.role);
    } catch (const FileError&) {
    }
  }
}

MeasurementRequest measured_for(const PairRequest& request) {
  MeasurementRequest wanted{request.options};
  wanted.expected_num_gpus = request.expected_num_gpus;
  wanted.with_snapshots = true;
  if (!request.hardware) {
    wanted.uncertainty.is_wanted = false;
    wanted.salvage = false;
    wanted.idle.clear();
    wanted.calibration.clear();
  }
  return wanted;
}

// As many GPUs as the aggregate states, else as many as the result does.
void expect_stated(const PairRequest& request, LoadReading& reading, MeasurementRequest& wanted) {
  if (wanted.expected_num_gpus) return;
  const std::string& fault = request.gpus_fault.empty() ? reading.gpus_fault : request.gpus_fault;
  if (!fault.empty()) reading.reasons.add(Reason::invalid_expected_gpu_count, fault);
  wanted.expected_num_gpus = reading.gpus;
}

// Whether the files of the run belong together, for people.
void add_pair_doubts(const PairRequest& request, const LoadReading& load, Pairing& pairing) {
  Result& result = pairing.result;
  if (!result.is_valid() || !load.load) return;
  const auto add = [&](std::vector<std::string> doubts) {
    append(result.warnings, std::move(doubts));
  };
  if (!request.aggregate.empty()) {
    add(runs::count_doubts(request.aggregate, load, result.observed_gpus));
    add(runs::aggregate_doubts({request.aggregate_name, request.aggregate}, load, result));
  }
  add(runs::shared_energy_doubts(
      {*pairing.benchmark.tree, pairing.benchmark.path, pairing.telemetry.path}, load));
}

}  // namespace

Pairing try_pair(const StorePath& telemetry, const StorePath& benchmark,
                 const PairRequest& request) {
  PairInputs inputs;
  const StoredLoad load = read_stored_load(benchmark, request.options, inputs);
  Pairing pairing;
  pairing.telemetry = telemetry;
  pairing.benchmark = benchmark;
  PlacedLoad placed{.reading = load.reading};
  refuse_failed(request.options.contract, placed.reading);
  std::optional<Recording> opened;
  if (load.reading.has_window || !load.reading.no_window.empty()) {
    opened.emplace(open_recording(telemetry, request.options, load.reading.captured_zone, inputs));
  }
  if (opened && !load.reading.has_window) {
    WindowOptions window = window_options(request.options);
    window.takes_wrapped_as_long = false;
    window.finds_zone = opened->lacks_zone();
    placed = place_load(load.reading, *opened, window);
  }
  MeasurementRequest wanted = measured_for(request);
  expect_stated(request, placed.reading, wanted);
  pairing.has_window = placed.reading.has_window;
  if (pairing.has_window) {
    RunRecordings recordings(std::move(*opened));
    const Recording& recording = recordings.open.front();
    pairing.written_ns = own_time_ns(telemetry.tree->written_ns(telemetry.path),
                                     benchmark.tree->written_ns(benchmark.path));
    const StorePair pair{request.witnesses, request.hardware, [&](const MeasurementRequest& now) {
                           return assess_readable(now, recording, placed.reading, inputs);
                         }};
    SeenPower power;
    if (load.failed_requests && load.failed_requests->count > 0 && placed.reading.load) {
      power.watch(wanted, placed.reading.load->window);
    }
    static_cast<ZonedResult&>(pairing) = evaluate(wanted, recordings, placed, {"", "", &pair});
    if (!load.reading.generator.empty()) add_window_facts(placed, placed.reading, pairing.result);
    add_pair_doubts(request, placed.reading, pairing);
    pairing.host = only_host(pairing.result);
    if (load.failed_requests && request.options.schema_version == 2) {
      pairing.result.failed_requests =
          failed_requests(*load.failed_requests, pairing.result, power.curve());
    }
    if (request.hardware && request.options.may_need_interval()) {
      note_model_files(telemetry, inputs);
    }
    if (const auto profile = disk_file(wanted.calibration)) {
      inputs.open_and_hash(*profile, "calibration");
    }
    inputs.files.insert(inputs.files.begin(),
                        {"telemetry", recording.bytes(), recording.content_hash()});
  } else {
    pairing.result.reasons = placed.reading.reasons;
  }
  pairing.inputs = std::move(inputs.files);
  pairing.opened = std::move(inputs.opened);
  return pairing;
}

bool fits(const Pairing& pairing) {
  if (!pairing.has_window || !pairing.has_zone) return false;
  return pairing.result.fits_window;
}

bool is_apart(const Pairing& pairing) {
  if (!pairing.has_window || !pairing.has_zone || fits(pairing)) return false;
  constexpr Reason kApart[] = {Reason::no_usable_power_samples, Reason::insufficient_power_samples,
                               Reason::benchmark_window_not_bracketed};
  return std::ranges::any_of(
      kApart, [&](Reason reason) { return pairing.result.reasons.contains(reason); });
}

// ---- Tries the candidates for a run's recording and benchmark result.

namespace {

// Whether a result was found only by its name, but already has an aggregate beside it.
bool is_another_runs(const StoredRun& run, const std::vector<StorePath>& results) {
  const std::string name = fmt::format("agg_{}.json", run.name);
  return std::ranges::any_of(
      results, [&](const StorePath& place) { return find_beside(place, name).has_value(); });
}

// Whether these are the only recording and the only result in the store that are named after this
// run and no other. Results are always named like that. `telemetry`: without copies.
bool are_only_namesakes(const StoredRun& run, const OneNodePieces& pieces,
                        const std::vector<StorePath>& telemetry) {
  const auto bears_its_name = [&](const StorePath& recording) {
    const std::string name = "gpu_metrics_" + run.name;
    return plain_stem(last_name(recording.path)) == name ||
           (recording.folder && archive_stem(last_name(recording.folder->display)) == name);
  };
  return pieces.telemetry.are_only_namesakes && pieces.loads.are_only_namesakes &&
         std::ranges::all_of(telemetry, bears_its_name);
}

// Whether a recording whose zone is still open shows the run's load under exactly one offset.
bool shows_window(const Pairing& pairing) {
  return pairing.zone_finding && pairing.zone_finding->by_edges;
}

std::string names_of(const std::vector<StorePath>& telemetry, const std::vector<StorePath>& loads) {
  auto names = mapped<std::string>(telemetry, &StorePath::display);
  for (const StorePath& place : loads) names.push_back(place.display);
  names.resize(std::min(names.size(), kMostCandidates));
  return joined_text(names, ", ");
}

PairChoice none(std::string why) { return {std::nullopt, false, std::move(why)}; }

}  // namespace

std::vector<StorePath> distinct_files(std::vector<StorePath> files) {
  if (files.size() < 2) return files;
  std::vector<std::pair<std::uint64_t, std::string>> seen;
  std::vector<StorePath> result;
  for (StorePath& place : files) {
    const OpenedFile file = place.tree->open(place.path);
    std::pair<std::uint64_t, std::string> content{file.size(), hash_of(file)};
    if (std::ranges::find(seen, content) != seen.end()) continue;
    seen.push_back(std::move(content));
    result.push_back(std::move(place));
  }
  return result;
}

PairChoice choose_pair(const StoredRun& run, const OneNodePieces& pieces, const TryPair& try_pair) {
  if (pieces.telemetry.are_too_many || pieces.loads.are_too_many) {
    return none(fmt::format("more than {} files with its name", kMostCandidates));
  }
  if (!pieces.loads.are_own && is_another_runs(run, pieces.loads.places)) {
    return none(
        fmt::format("{} is beside an aggregate of its own", pieces.loads.places[0].display));
  }
  const std::vector<StorePath> telemetry = distinct_files(pieces.telemetry.places);
  const std::vector<StorePath> loads = distinct_files(pieces.loads.places);
  const std::size_t pairs = telemetry.size() * loads.size();
  if (pairs > kMostCandidates) {
    return none(fmt::format("{} pairs of a recording and a result, at most {} are tried, among {}",
                            pairs, kMostCandidates, names_of(telemetry, loads)));
  }
  const bool are_own = (pieces.telemetry.are_own && pieces.loads.are_own) ||
                       are_only_namesakes(run, pieces, telemetry);
  std::vector<Pairing> fitting;
  std::vector<Pairing> others;
  for (const StorePath& recording : telemetry) {
    for (const StorePath& load : loads) {
      Pairing tried = try_pair(recording, load);
      (fits(tried) || shows_window(tried) ? fitting : others).push_back(std::move(tried));
    }
  }
  if (fitting.size() == 1) return {std::move(fitting[0]), are_own, {}};
  if (others.size() == 1 && pairs == 1 && (are_own || !is_apart(others[0]))) {
    return {std::move(others[0]), are_own, {}};
  }
  return none(fmt::format("{} of {} pairs fit, among {}", fitting.size(), pairs,
                          names_of(telemetry, loads)));
}

}  // namespace aggregate_power
