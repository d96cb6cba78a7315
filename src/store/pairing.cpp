// One telemetry file with one benchmark result, tried.
#include "store/pairing.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/archive.h"
#include "base/files/hash.h"
#include "energy/zone_evidence.h"
#include "loads/aiperf.h"
#include "loads/aiperf_folder.h"
#include "loads/load_generator.h"
#include "recorders/recording.h"
#include "recorders/side_files.h"
#include "runs/failed_requests.h"
#include "store/pieces.h"

namespace aggregate_power {
namespace {

// With most offsets the window is not in the recording at all; recorders are started a little
// before the load.
std::int32_t likely_offset_s(double first_wall_s, Window window) {
  constexpr double kStepS = 900;
  const double offset_s = std::ceil((first_wall_s - window.start_unix_s) / kStepS) * kStepS;
  return std::abs(offset_s) <= 14 * 3600 ? static_cast<std::int32_t>(offset_s) : 0;
}

class PairTrial {
 public:
  PairTrial(const RecomputeOptions& options, std::optional<std::int64_t> expected_num_gpus,
            const OtherWitnesses* witnesses)
      : options_(options), expected_num_gpus_(expected_num_gpus), witnesses_(witnesses) {}

  // Throws FileError.
  Pairing run(const StorePath& telemetry, const StorePath& benchmark) {
    pairing_.telemetry = telemetry;
    pairing_.benchmark = benchmark;
    const std::optional<ProfileFiles> profile = profile_files(benchmark);
    const LoadReading reading = read_load_of(profile);
    pairing_.result.reasons = reading.reasons;
    pairing_.has_window = reading.has_window;
    if (pairing_.has_window) judge_recording(reading);
    return std::move(pairing_);
  }

 private:
  OpenedFile open(const StorePath& place) {
    OpenedFile file = place.tree->open(place.path);
    // A file in an archive is as old as the archive.
    const std::string path = path_on_disk(place);
    pairing_.opened.emplace_back(
        path, place.tree->is_archive() ? FileFacts{0, file.facts().modified_ns} : file.facts());
    return file;
  }

  // The file that stands for the load is hashed as it is read.
  LoadReading read_load_of(const std::optional<ProfileFiles>& profile) {
    const std::string& name = pairing_.benchmark.display;
    std::optional<OpenedFile> file;
    ContentHash hash;
    LoadFiles files;
    files.name = name;
    files.open = [&] {
      file = open(pairing_.benchmark);
      return decompressed(std::make_unique<HashingSource>(file->source(), hash), name);
    };
    if (profile) {
      files.other = [&](std::string_view role) { return open_profile_file(*profile, role); };
    }
    files.rules = options_.schema_version == 2 ? LoadRules::schema_2 : LoadRules::schema_1;
    files.zone = options_.zone;
    LoadReading reading = read_load(files);
    if (!file) return reading;
    const bool is_whole = hash.bytes() == file->size();  // a faulty one is not read to its end
    pairing_.inputs.push_back(
        {"benchmark_result", file->size(), is_whole ? hash.hex() : hash_of(*file)});
    if (!profile) return reading;
    failed_.count = reading.failed_requests;
    failed_.max_sample_gap_s = options_.max_sample_gap_s;
    failed_.records = [file = *file, name] { return decompressed(file.source(), name); };
    captured_zone_ = reading.captured_zone;
    return reading;
  }

  // Its files are few and short but for the records.
  LoadFile open_profile_file(const ProfileFiles& profile, std::string_view role) {
    const bool is_summary = role == kProfileSummaryRole;
    const std::optional<StorePath>& place = is_summary ? profile.summary : profile.captured_zone;
    if (!place) {
      const std::string& records = pairing_.benchmark.display;
      return {nullptr, is_summary ? fmt::format("no {} beside {}", kProfileSummary, records)
                                  : fmt::format("no {} with {}", kCapturedZone, records)};
    }
    const OpenedFile file = open(*place);
    pairing_.inputs.push_back({std::string(role), file.size(), hash_of(file)});
    // The zone is never compressed.
    return {is_summary ? decompressed(file.source(), place->display) : file.source(),
            place->display};
  }

  std::unique_ptr<ByteSource> open_beside(const std::string& name) {
    const auto place = find_beside(pairing_.telemetry, name);
    if (!place) return nullptr;
    auto file = std::make_unique<OpenedFile>(open(*place));
    for (const SideFile& side : kSideFiles) {
      if (name != side_name(side, pairing_.telemetry.path)) continue;
      pairing_.inputs.push_back({side.role, file->size(), hash_of(*file)});
    }
    side_files_.push_back(std::move(file));
    return side_files_.back()->source();
  }

  void judge_recording(const LoadReading& reading) {
    Recording recording(
        pairing_.telemetry.display, std::make_unique<OpenedFile>(open(pairing_.telemetry)),
        [this](const std::string& name) { return open_beside(name); }, options_.zone,
        options_.columns);
    if (captured_zone_ && recording.lacks_zone()) {
      recording.use_zone(*captured_zone_, "file");
    }
    MeasurementRequest request{options_};
    request.expected_num_gpus = expected_num_gpus_;
    request.with_snapshots = true;
    pairing_.written_ns = written_ns();
    const bool by_evidence = recording.lacks_zone() && reading.load;
    if (by_evidence) {
      judge_by_evidence(request, recording, reading);
    } else {
      judge(request, recording, reading);
    }
    note_host();
    note_stated_zone();
    if (failed_.records && options_.schema_version == 2) {
      pairing_.result.failed_requests = failed_requests(failed_, recording, pairing_.result);
    }
    pairing_.inputs.insert(pairing_.inputs.begin(),
                           {"telemetry", recording.bytes(), recording.content_hash()});
  }

  void judge(const MeasurementRequest& request, const Recording& recording,
             const LoadReading& reading) {
    std::erase_if(pairing_.inputs, [](const InputFile& input) {
      return input.role == "energy_start" || input.role == "energy_end";  // will be read again
    });
    pairing_.result = assess(request, recording, reading);
    if (pairing_.result.could_not_read) {
      const Reasons& reasons = pairing_.result.reasons;
      throw Error(reasons.empty() ? fmt::format("{}: an energy snapshot beside it cannot be read",
                                                pairing_.telemetry.display)
                                  : reasons.text());
    }
  }

  // Reads the recording as if its zone were known; mostly it then shows to be that, or is read
  // again.
  void judge_by_evidence(MeasurementRequest& request, Recording& recording,
                         const LoadReading& reading) {
    const Window window = reading.load->window;
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
    std::optional<TelemetryFacts>& facts = pairing_.result.telemetry;
    if (!facts || facts->series.naive_is_utc || facts->timezone_source == "stamps") return;
    if (facts->naive_stamps == 0) {  // there was nothing to read in any zone
      facts->timezone.clear();
      facts->timezone_source.clear();
      facts->utc_offset.clear();
      return;
    }
    ZoneFinding finding = evidence.finding();
    if (facts->naive_stamps != facts->stamps) {
      finding = {.why_no_edges = "some stamps carry an offset and others do not"};
    }
    pairing_.zone_finding = finding;
    const ZoneDecision decision =
        witnesses_ ? decide_zone(finding, window, *witnesses_, options_.one_witness)
                   : ZoneDecision{.winner = {}, .report = {}, .why_none = finding.why_no_edges};
    if (decision.winner) {
      use_winner(*decision.winner, supposed_offset_s, request, recording, reading);
      pairing_.zone_report = decision.report;
    } else {
      refuse(decision.why_none, request, recording, reading);
    }
  }

  void use_winner(const ZoneCandidate& winner, std::int32_t supposed_offset_s,
                  const MeasurementRequest& request, Recording& recording,
                  const LoadReading& reading) {
    if (winner.step || winner.offset_s != supposed_offset_s) {
      recording.use_zone(winner.zone(), "evidence");
      judge(request, recording, reading);
    } else {
      pairing_.result.telemetry->timezone_source = "evidence";
    }
  }

  // A recording that covers the window in no zone, or cannot be read to its end, is not valid in
  // any. All others wait for someone who knows.
  void refuse(const std::string& why, const MeasurementRequest& request, Recording& recording,
              const LoadReading& reading) {
    const ZoneFinding& finding = *pairing_.zone_finding;
    const bool is_unreadable = pairing_.result.reasons.contains(Reason::telemetry_file_unreadable);
    if (is_unreadable || (finding.none_covers && options_.schema_version == 2)) {
      recording.use_zone(Zone::parse("UTC"), "default");
      judge(request, recording, reading);
      if (!pairing_.result.reasons.empty()) {
        pairing_.zone_finding.reset();
        return;
      }
    }
    pairing_.has_zone = false;
    constexpr std::size_t kMostShown = 8;
    std::vector<std::string> offsets;
    for (const ZoneCandidate& left : finding.candidates) {
      if (left.covers) offsets.push_back(left.zone().name());
    }
    std::string detail = why;
    if (!offsets.empty()) {
      const std::size_t count = offsets.size();
      offsets.resize(std::min(count, kMostShown));
      detail += fmt::format("; the window is covered in {}{}", fmt::join(offsets, ", "),
                            count > kMostShown ? ", ..." : "");
    }
    pairing_.result.reasons = Reasons();
    pairing_.result.reasons.add(Reason::timezone_ambiguous, std::move(detail));
  }

  // A file copied together with another one has the time of the copy.
  std::optional<std::int64_t> written_ns() const {
    constexpr std::int64_t kTogether_ns = 1'000'000'000;
    const auto of = [](const StorePath& place) { return place.tree->written_ns(place.path); };
    const auto recording_ns = of(pairing_.telemetry);
    const auto result_ns = of(pairing_.benchmark);
    if (!recording_ns || !result_ns) return recording_ns;
    const bool is_together = std::abs(*recording_ns - *result_ns) < kTogether_ns;
    return is_together ? std::nullopt : recording_ns;
  }

  void note_host() {
    const Result& result = pairing_.result;
    if (!result.telemetry || !result.telemetry->series.names_hosts) return;
    std::set<std::string> hosts;
    for (const std::string& id : result.observed_gpu_ids) {
      hosts.insert(id.substr(0, id.rfind('/')));
    }
    if (hosts.size() == 1) pairing_.host = *hosts.begin();
  }

  void note_stated_zone() {
    const auto& facts = pairing_.result.telemetry;
    if (!facts) return;
    constexpr std::pair<std::string_view, ZoneWitness> kSources[] = {
        {"stamps", ZoneWitness::stamps},
        {"file", ZoneWitness::zone_file},
        {"option", ZoneWitness::option}};
    for (const auto& [source, witness] : kSources) {
      if (facts->timezone_source == source)
        pairing_.zone_report = {ZoneLevel::stated, {witness}, {}};
    }
  }

  const RecomputeOptions& options_;
  std::optional<std::int64_t> expected_num_gpus_;
  const OtherWitnesses* witnesses_;
  Pairing pairing_;
  std::vector<std::unique_ptr<OpenedFile>> side_files_;
  FailedRequestsRequest failed_;       // with records: it is an agentic run
  std::optional<Zone> captured_zone_;  // of its profile; its recording may lie elsewhere
};

}  // namespace

Pairing try_pair(const StorePath& telemetry, const StorePath& benchmark,
                 const RecomputeOptions& options, std::optional<std::int64_t> expected_num_gpus,
                 const OtherWitnesses* witnesses) {
  return PairTrial(options, expected_num_gpus, witnesses).run(telemetry, benchmark);
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

}  // namespace aggregate_power
