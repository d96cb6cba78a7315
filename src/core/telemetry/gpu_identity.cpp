// Matches the names of GPUs that a user gives with those of a recording.
#include "core/telemetry/gpu_identity.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "aggregate_power/gpu.h"
#include "base/text/ascii.h"
#include "base/text/characters.h"
#include "core/telemetry/gpu_names.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kLeastPrefix = 8;
constexpr std::uint32_t kLastIndex = 9999;
constexpr std::size_t kMostShown = 16;

// A device's index; kLastIndex + 1 if the text is not one.
std::uint32_t gpu_index(std::string_view text) {
  std::uint32_t index = kLastIndex + 1;
  if (!is_ascii_digits(text)) return index;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && index <= kLastIndex ? index : kLastIndex + 1;
}

bool is_gpu_index(std::string_view text) { return gpu_index(text) <= kLastIndex; }

bool fits_device(std::string_view wanted, std::string_view device, bool names_hosts) {
  const std::string name = lower_ascii(wanted);
  const std::string whole = lower_ascii(device);
  if (name == whole) return true;
  const std::string own = names_hosts ? whole.substr(whole.rfind('/') + 1) : whole;
  if (name == own) return true;
  const std::string index = plain_index(name);
  if (is_gpu_index(index)) return plain_index(own) == index;
  const bool is_bus_id = own.find(':') != own.npos;
  if (is_bus_id) return name.find(':') != name.npos && plain_pci(own) == plain_pci(name);
  if (name.size() >= kLeastPrefix && own.starts_with(name)) return true;
  const std::string uuid = plain_uuid(name);
  return uuid.size() >= kLeastPrefix && plain_uuid(own).starts_with(uuid);
}

// "0-3": both ends. Anything else is one name.
void add_names(std::string_view text, std::vector<std::string>& names) {
  const auto add = [&](std::string name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  };
  const std::size_t dash = text.find('-');
  const std::string_view from = text.substr(0, dash);
  const std::string_view to = dash == text.npos ? from : text.substr(dash + 1);
  if (!is_gpu_index(from) || !is_gpu_index(to)) {
    add(std::string(text));
    return;
  }
  if (gpu_index(from) > gpu_index(to)) {
    throw Error(fmt::format("--gpus: '{}' begins after its end", printable(text)));
  }
  for (std::uint32_t index = gpu_index(from); index <= gpu_index(to); ++index) {
    add(std::to_string(index));
  }
}

std::string list_of(std::vector<std::string> devices) {
  std::ranges::sort(devices, device_name_less);
  const std::size_t count = devices.size();
  if (count == 0) return "none";
  devices.resize(std::min(count, kMostShown));
  for (std::string& device : devices) device = printable(device);
  if (count > kMostShown) devices.push_back(fmt::format("{} more", count - kMostShown));
  return fmt::format("{}", fmt::join(devices, ", "));
}

std::vector<std::string> fitting(std::string_view wanted, const SelectableGpus& recording) {
  const GpuSelection only{{std::string(wanted)}};
  std::vector<std::string> found;
  for (std::size_t i = 0; i < recording.devices.size(); ++i) {
    const GpuKey key = i < recording.keys.size() ? recording.keys[i] : GpuKey();
    if (only.has(recording.devices[i], key, recording.series.names_hosts)) {
      found.push_back(recording.devices[i]);
    }
  }
  return found;
}

// Where the device that is missed may be by another name.
std::string column_hint(std::string_view wanted, const SeriesFacts& series) {
  for (const SeriesFacts::OtherNames& other : series.other_names) {
    if (fitting(wanted, {.devices = other.names}).empty()) continue;
    return fmt::format("; column '{}' has it: add --device-column {}", printable(other.column),
                       shell_word(other.column));
  }
  return {};
}

}  // namespace

bool GpuSelection::has(std::string_view device, bool names_hosts) const {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return fits_device(name, device, names_hosts); });
}

bool GpuSelection::has(std::string_view device, const GpuKey& key, bool names_hosts) const {
  return has(device, names_hosts) ||
         std::ranges::any_of(names_of(key),
                             [&](const std::string& name) { return has(name, false); });
}

GpuSelection parse_gpus(std::string_view text) {
  GpuSelection gpus;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = strip(text.substr(begin, end - begin));
    if (name.empty()) {
      throw Error(fmt::format(
          "--gpus: expected a list such as 0-3,5 or GPU-5f0c1a2b,GPU-77d01c3e, got '{}'",
          printable(text)));
    }
    add_names(name, gpus.names);
    begin = end + 1;
  }
  return gpus;
}

std::string selection_fault(const GpuSelection& gpus, std::span<const SelectableGpus> recordings) {
  std::vector<std::string> all;
  for (const SelectableGpus& recording : recordings) {
    std::ranges::copy(recording.devices, std::back_inserter(all));
  }
  for (const std::string& name : gpus.names) {
    bool is_there = false;
    std::string hint;
    for (const SelectableGpus& recording : recordings) {
      const std::vector<std::string>& measured = recording.measured;
      const std::vector<std::string> found = fitting(name, recording);
      if (found.size() > 1) {
        return fmt::format("GPU {} may be any of {}", printable(name), list_of(found));
      }
      is_there = is_there || !found.empty();
      if (hint.empty()) hint = column_hint(name, recording.series);
      const bool lacks_power = !found.empty() && !measured.empty() &&
                               std::ranges::find(measured, found[0]) == measured.end();
      if (lacks_power) {
        return fmt::format("GPU {} has no power reading in or near the window", printable(name));
      }
    }
    if (is_there) continue;
    return fmt::format("GPU {} is not in the recording{}, which {} {}{}", printable(name),
                       recordings.size() > 1 ? "s" : "", recordings.size() > 1 ? "have" : "has",
                       list_of(all), hint);
  }
  return {};
}

}  // namespace aggregate_power
