// Explains failures of a recording by what was seen while it was read.
#include "runs/evaluate/explain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "core/telemetry/gpu_names.h"
#include "energy/zones/zone_evidence.h"
#include "recorders/recorder_context.h"
#include "runs/deployment/hosts.h"

namespace aggregate_power {
namespace {

// "the recording goes from A to B, the window from C to D, 9 h later".
std::string apart_text(Span span, Window window) {
  const std::string text =
      fmt::format("the recording goes from {} to {}, the window from {} to {}",
                  unix_and_iso(span.first_unix_s), unix_and_iso(span.last_unix_s),
                  unix_and_iso(window.start_unix_s), unix_and_iso(window.end_unix_s));
  const std::string unit = wrong_unit_text(window.start_unix_s);
  if (!unit.empty()) return fmt::format("{}: the window's times are {}", text, unit);
  const double later_s = window.start_unix_s - span.last_unix_s;
  return later_s > 0 ? fmt::format("{}, {} later", text, difference_in_words(later_s))
                     : fmt::format("{}, {} earlier", text,
                                   difference_in_words(span.first_unix_s - window.end_unix_s));
}

// Leaves those in which the power may be the load's.
void try_offsets(const Recording& recording, const Zone& zone, Window window,
                 std::vector<std::int32_t>& offsets) {
  ZoneEvidence evidence(window);
  const std::int32_t own_s = zone.offset_at(whole_second(window.start_unix_s));
  read_whole(recording,
             {.take = [&](const Batch& batch) { evidence.take(batch.readings, own_s); }});
  const ZoneFinding finding = evidence.finding();
  std::erase_if(offsets, [&](std::int32_t offset_s) {
    const auto tried = std::ranges::find(finding.candidates, offset_s, &ZoneCandidate::offset_s);
    return tried != finding.candidates.end() &&
           tried->standing == ZoneCandidate::Standing::excluded;
  });
}

std::optional<std::string> tried_hint(const Recording& recording, const Telemetry& telemetry,
                                      Span span, Window window) {
  if (telemetry.naive_stamps() == 0) return std::nullopt;
  std::vector<std::int32_t> offsets = covering_offsets(telemetry.zone(), span, window);
  if (!offsets.empty()) try_offsets(recording, telemetry.zone(), window, offsets);
  return zone_hint(offsets);
}

NoSamples why_none(const Recording& recording, const RowExtent& extent, const Telemetry& telemetry,
                   Window window) {
  const Span span = extent.span();
  if (span.last_unix_s < span.first_unix_s) return {};
  if (span.last_unix_s < kFirstAbsoluteUnixS) {
    return {"its times are seconds from some start, not absolute", {}};
  }
  if (span.last_unix_s < window.start_unix_s || span.first_unix_s > window.end_unix_s) {
    return {apart_text(span, window), tried_hint(recording, telemetry, span, window)};
  }
  if (!extent.has_power()) return {"no row has a usable power reading", {}};
  return {"the file has rows, but none contains a power reading", {}};
}

}  // namespace

std::string bad_stamps_text(const Telemetry& telemetry) {
  if (telemetry.skipped().bad_timestamp == 0) return {};
  return fmt::format("{} of {} rows, the first {}", telemetry.skipped().bad_timestamp,
                     telemetry.rows(), telemetry.first_bad_stamp());
}

void RowExtent::take(std::span<const Reading> readings) {
  Span span = span_;  // in registers
  bool has_power = has_power_;
  for (const Reading& reading : readings) {
    if (reading.kind == Reading::Kind::bad_timestamp) continue;
    if (reading.kind == Reading::Kind::power) {
      has_power = true;
      if (reading.device >= readings_.size()) readings_.resize(reading.device + 1);
      ++readings_[reading.device];
    }
    span.first_unix_s = std::min(span.first_unix_s, reading.unix_s);
    span.last_unix_s = std::max(span.last_unix_s, reading.unix_s);
  }
  span_ = span;
  has_power_ = has_power;
}

std::optional<Span> extent_of(const Recording& recording) {
  RowExtent extent;
  read_whole(recording, {.take = [&](const Batch& batch) { extent.take(batch.readings); }});
  const Span span = extent.span();
  return span.last_unix_s < span.first_unix_s ? std::nullopt : std::optional(span);
}

NoSamples explain_no_samples(const Recording& recording, const RowExtent& extent,
                             const Telemetry& telemetry, Window window) {
  if (telemetry.rows() == 0) return {"the file has no rows after the header", {}};
  if (telemetry.facts().time_of_day) return {"its times have no date", {}};
  if (telemetry.stamps() == 0) {
    return {telemetry.first_bad_stamp().empty()
                ? "no row of the power has a time"
                : "no row has a readable time: " + telemetry.first_bad_stamp(),
            {}};
  }
  return why_none(recording, extent, telemetry, window);
}

// ---- Compares files by their identity, whatever they are called.

namespace {

constexpr std::size_t kFewestSamples = 5;

constexpr double kAlike = 0.1;  // of the higher mean power

// A GPU and its recording.
struct Recorded {
  const GpusOfFile* file;
  const GpuOfFile* gpu;
};

std::string in_two_files(const Recorded& a, const Recorded& b, const char* verb) {
  const std::string& uuid = b.gpu->key.uuid;
  const bool adds_uuid = !uuid.empty() && uuid != b.gpu->name && !a.gpu->key.uuid.empty();
  return fmt::format("GPU {} of {} {} GPU {} of {}{} and would count twice", printable(a.gpu->name),
                     printable_path(a.file->path), verb, printable(b.gpu->name),
                     printable_path(b.file->path),
                     adds_uuid ? fmt::format(", with the UUID {},", printable(uuid)) : "");
}

// Two hosts are recorded in one way, and name their GPUs alike.
bool are_recorded_alike(const Recorded& a, const Recorded& b) {
  return a.file->schema == b.file->schema && !is_spelled_otherwise(a.gpu->key, b.gpu->key) &&
         a.gpu->key.host.empty() == b.gpu->key.host.empty();
}

bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }

// What follows a word in a path and names one of several: "1" in "node-1.csv", "a" in "host_a",
// "10-0-0-7" in "ip-10-0-0-7". Empty: nothing does.
std::string_view id_after(std::string_view path, std::string_view word) {
  for (std::size_t at = path.find(word); at != path.npos; at = path.find(word, at + 1)) {
    if (at > 0 && is_small_letter(path[at - 1])) continue;
    std::string_view rest = path.substr(at + word.size());
    if (rest.starts_with('s')) continue;  // "nodes"
    if (rest.starts_with('-') || rest.starts_with('_') || rest.starts_with('.')) {
      rest.remove_prefix(1);
    }
    const std::string_view digits = word == "ip" ? "0123456789-." : "0123456789";
    const std::size_t end = std::min(rest.find_first_not_of(digits), rest.size());
    if (end > 0) return rest.substr(0, end);
    const bool is_letter = !rest.empty() && is_small_letter(rest[0]) &&
                           (rest.size() == 1 || !is_small_letter(rest[1]));
    if (is_letter) return rest.substr(0, 1);
  }
  return {};
}

// Whose GPUs a recorder can read; empty: anyone's.
std::string_view vendor_of(std::string_view schema) {
  constexpr std::pair<std::string_view, std::string_view> kVendors[] = {{"amd-smi", "AMD"},
                                                                        {"rocm-smi", "AMD"},
                                                                        {"xpu-smi", "Intel"},
                                                                        {"nvidia", "NVIDIA"},
                                                                        {"dcgm", "NVIDIA"}};
  for (const auto& [start, vendor] : kVendors) {
    if (schema.starts_with(start)) return vendor;
  }
  return {};
}

// "NVIDIA H100" and "NVIDIA-H100-80GB-HBM3": recorders name a model in more or in fewer words.
bool may_be_one_model(std::string_view a, std::string_view b) {
  const auto words_of = [](std::string_view model) {
    std::set<std::string> words;
    std::string word;
    for (const char c : lower_ascii(model) + ' ') {
      if (is_ascii_digit(c) || is_small_letter(c)) {
        word += c;
      } else if (!word.empty()) {
        words.insert(std::exchange(word, {}));
      }
    }
    return words;
  };
  const std::set<std::string> one = words_of(a);
  const std::set<std::string> other = words_of(b);
  const auto is_in = [](const auto& few, const auto& many) {
    return std::ranges::includes(many, few);
  };
  return is_in(one, other) || is_in(other, one);
}

bool have_other_models(const GpusOfFile& a, const GpusOfFile& b) {
  const auto has = [&](const std::string& model) {
    return std::ranges::any_of(
        b.models, [&](const std::string& other) { return may_be_one_model(model, other); });
  };
  return !a.models.empty() && !b.models.empty() && std::ranges::none_of(a.models, has);
}

// Whether the recordings cannot have a GPU in common, whatever its names are.
bool are_apart(const GpusOfFile& a, const GpusOfFile& b) {
  const std::string_view vendor_a = vendor_of(a.schema);
  const std::string_view vendor_b = vendor_of(b.schema);
  const bool have_other_boots = !a.boot.empty() && !b.boot.empty() && a.boot != b.boot;
  return have_other_boots || (!vendor_a.empty() && !vendor_b.empty() && vendor_a != vendor_b) ||
         have_other_models(a, b) || name_two_hosts(a.path, b.path);
}

double mean_in(std::span<const Sample> samples, Window window) {
  double sum_w = 0;
  std::size_t count = 0;
  for (const Sample& sample : samples) {
    if (!window.contains(sample.unix_s)) continue;
    sum_w += sample.watts;
    ++count;
  }
  return count == 0 ? 0 : sum_w / static_cast<double>(count);
}

// Whether two GPUs may have drawn the same: one that two recorders measure did.
bool are_of_one_form(const GpuOfFile& a, const GpuOfFile& b) {
  std::optional<double> a_w = a.mean_w;
  std::optional<double> b_w = b.mean_w;
  if (!a.samples.empty() && !b.samples.empty()) {
    const Window both = {std::max(a.samples.front().unix_s, b.samples.front().unix_s),
                         std::min(a.samples.back().unix_s, b.samples.back().unix_s)};
    if (both.start_unix_s >= both.end_unix_s) return false;  // one after the other
    a_w = mean_in(a.samples, both);
    b_w = mean_in(b.samples, both);
  }
  return !a_w || !b_w || std::abs(*a_w - *b_w) <= kAlike * std::max(*a_w, *b_w);
}

enum class Repeat { none, possible, unclear, sure };

// Without a name of one kind there is nothing to compare.
bool share_a_kind(const GpuKey& a, const GpuKey& b) {
  return (!a.uuid.empty() && !b.uuid.empty()) || (!a.pci.empty() && !b.pci.empty()) ||
         (!a.index.empty() && !b.index.empty());
}

Repeat repeat_of(const Recorded& a, const Recorded& b, bool are_files_apart) {
  const SameGpu same = same_gpu(a.gpu->key, b.gpu->key);
  if (same == SameGpu::yes) return Repeat::sure;
  if (are_files_apart) return Repeat::none;
  const bool is_comparable = share_a_kind(a.gpu->key, b.gpu->key);
  if (is_comparable && same == SameGpu::no) return Repeat::none;
  if (!is_comparable && are_of_two_hosts(a.gpu->key, b.gpu->key)) return Repeat::none;
  const bool is_one_boot = !a.file->boot.empty() && a.file->boot == b.file->boot;
  if (is_comparable && is_one_boot) return Repeat::sure;
  const bool is_alike = are_of_one_form(*a.gpu, *b.gpu);
  if (is_comparable && are_recorded_alike(a, b)) return is_alike ? Repeat::possible : Repeat::none;
  return is_alike ? Repeat::unclear : is_comparable ? Repeat::possible : Repeat::none;
}

constexpr const char* kTellApart =
    "; if they are of two hosts, name the files after them (node-1.csv), record the UUIDs, or state the number of all GPUs, where the command has --expected-num-gpus; else give one of them";

// Whether one recording goes on where the other ends.
bool follow_each_other(const GpusOfFile& a, const GpusOfFile& b) {
  if (!a.recorded || !b.recorded || a.schema != b.schema) return false;
  const bool is_first = a.recorded->start_unix_s < b.recorded->start_unix_s;
  const Window& first = is_first ? *a.recorded : *b.recorded;
  const Window& second = is_first ? *b.recorded : *a.recorded;
  const double both_s = first.end_unix_s - second.start_unix_s;
  return first.end_unix_s < second.end_unix_s &&
         both_s < std::min(first.duration_s(), second.duration_s()) / 2;
}

std::string rotated_text(const GpusOfFile& a, const GpusOfFile& b) {
  const bool is_first = a.recorded->start_unix_s < b.recorded->start_unix_s;
  const std::string first = printable_path(is_first ? a.path : b.path);
  const std::string second = printable_path(is_first ? b.path : a.path);
  return fmt::format(
      "{} goes on where {} ends, with GPUs of the same names: if one recorder wrote both, as where a log is rotated, append the rows of {} to {}, without a second header, and give that file alone",
      second, first, second, first);
}

// The GPUs of a file that may be one of others, by what they have in common.
using ByName = std::map<std::string, std::vector<std::size_t>>;
ByName by_names(const GpusOfFile& file) {
  ByName places;
  for (std::size_t i = 0; i < file.gpus.size(); ++i) {
    for (std::string& name : comparable_names(file.gpus[i].key)) {
      places[std::move(name)].push_back(i);
    }
  }
  return places;
}

std::set<std::size_t> comparable_with(const GpuKey& key, const ByName& places) {
  std::set<std::size_t> found;
  for (const std::string& name : comparable_names(key)) {
    const auto same = places.find(name);
    if (same != places.end()) found.insert(same->second.begin(), same->second.end());
  }
  return found;
}

// What two recordings have in common: the first GPU of the gravest kind.
struct Found {
  Repeat kind = Repeat::none;
  std::string text = {};

  void take(Repeat other, const Recorded& a, const Recorded& b) {
    if (other <= kind) return;
    kind = other;
    text = in_two_files(a, b, other == Repeat::sure ? "is" : "may be");
  }
};

// Those without a name of one kind: that they are one is never sure.
void find_alike(const GpusOfFile& first, const GpusOfFile& second, Found& found) {
  for (const GpuOfFile& a : first.gpus) {
    for (const GpuOfFile& b : second.gpus) {
      if (found.kind >= Repeat::unclear) return;
      if (share_a_kind(a.key, b.key) || !are_of_one_form(a, b)) continue;
      const Recorded one{&first, &a};
      const Recorded other{&second, &b};
      found.take(repeat_of(one, other, false), one, other);
    }
  }
}

void note_repeats(const GpusOfFile& first, const GpusOfFile& second, RepeatedGpus& repeated) {
  const bool are_files_apart = are_apart(first, second);
  const ByName places = by_names(second);
  Found found;
  for (const GpuOfFile& a : first.gpus) {
    for (const std::size_t place : comparable_with(a.key, places)) {
      const Recorded one{&first, &a};
      const Recorded other{&second, &second.gpus[place]};
      found.take(repeat_of(one, other, are_files_apart), one, other);
    }
    if (found.kind == Repeat::sure) break;
  }
  if (!are_files_apart) find_alike(first, second, found);
  if (found.kind != Repeat::none && follow_each_other(first, second)) {
    (found.kind == Repeat::sure ? repeated.sure : repeated.possible)
        .push_back(rotated_text(first, second));
    return;
  }
  if (found.kind == Repeat::sure) repeated.sure.push_back(found.text + ": give one of them");
  if (found.kind == Repeat::unclear) repeated.unclear.push_back(found.text + kTellApart);
  if (found.kind == Repeat::possible) repeated.possible.push_back(found.text + kTellApart);
}

bool has_same_readings(const PowerTrace& a, const PowerTrace& b) {
  return std::ranges::equal(a.samples(), b.samples(), [](const Sample& x, const Sample& y) {
    return x.unix_s == y.unix_s && x.watts == y.watts;
  });
}

bool changes(const PowerTrace& trace) {
  const auto [low, high] = std::ranges::minmax(trace.samples(), {}, &Sample::watts);
  return low.watts != high.watts;
}

}  // namespace

void refuse_repeated_recordings(std::span<const std::string> paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool is_same =
          paths[i] == paths[j] || (is_regular_file(paths[i]) && is_regular_file(paths[j]) &&
                                   file_identity(paths[i]) == file_identity(paths[j]));
      if (!is_same) continue;
      throw Error(fmt::format("{} and {} are one recording: give it once", printable_path(paths[j]),
                              printable_path(paths[i])));
    }
  }
}

bool name_two_hosts(const std::string& path, const std::string& other) {
  constexpr std::string_view kWords[] = {"node",    "host", "server", "srv", "machine", "vm",
                                         "nid",     "cn",   "dgx",    "hgx", "blade",   "compute",
                                         "gpunode", "rack", "ip",     "gpu", "card",    "device"};
  const std::string lower = lower_ascii(path);
  const std::string other_lower = lower_ascii(other);
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    const std::string_view id = id_after(lower, word);
    const std::string_view other_id = id_after(other_lower, word);
    return !id.empty() && !other_id.empty() && id != other_id;
  });
}

void add_files_beside(const Recording& recording, GpusOfFile& file) {
  const RecorderContext context = recorder_context(recording);
  if (!context.clock_pairs.empty()) file.boot = context.clock_pairs.front().boot_id;
  const GpuIdentity identity = identity_beside(recording);
  for (GpuOfFile& gpu : file.gpus) {
    const auto found = identity.find(gpu.key.index);
    if (gpu.key.uuid.empty() && found != identity.end()) gpu.key.uuid = found->second;
  }
}

RepeatedGpus repeated_gpus(std::span<const GpusOfFile> files) {
  RepeatedGpus repeated;
  for (std::size_t i = 1; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) note_repeats(files[j], files[i], repeated);
  }
  return repeated;
}

void refuse_repeated_devices(std::span<const RecordedDevice> devices) {
  std::map<std::pair<std::size_t, double>, std::vector<const RecordedDevice*>> by_shape;
  for (const RecordedDevice& device : devices) {
    const std::span<const Sample> samples = device.trace->samples();
    if (samples.size() < kFewestSamples || !changes(*device.trace)) continue;
    auto& alike = by_shape[{samples.size(), samples.front().unix_s}];
    for (const RecordedDevice* const other : alike) {
      if (other->path == device.path || !has_same_readings(*other->trace, *device.trace)) continue;
      throw Error(fmt::format(
          "GPU {} of {} and GPU {} of {} have the same readings at the same times: one is a copy of the other; give one of them",
          printable(other->trace->device()), printable_path(std::string(other->path)),
          printable(device.trace->device()), printable_path(std::string(device.path))));
    }
    alike.push_back(&device);
  }
}

}  // namespace aggregate_power
