// Matches the names of GPUs that a user gives with those of a recording.
#include "core/telemetry/gpu_identity.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/encoding.h"
#include "base/text/pattern.h"
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
  return joined_text(devices, ", ");
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
  for (const std::string_view part : separated(text, ',')) {
    const std::string_view name = strip(part);
    if (name.empty()) {
      throw Error(fmt::format(
          "--gpus: expected a list such as 0-3,5 or GPU-5f0c1a2b,GPU-77d01c3e, got '{}'",
          printable(text)));
    }
    add_names(name, gpus.names);
  }
  return gpus;
}

std::string selection_fault(const GpuSelection& gpus, std::span<const SelectableGpus> recordings) {
  std::vector<std::string> all;
  for (const SelectableGpus& recording : recordings) {
    append(all, recording.devices);
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

// ---- Knows GPUs' models by the words that makers use.

namespace {

// Keys, as they end.
constexpr std::string_view kModelKeys[] = {"modelName",    "model_name",  "market_name", "gpu_name",
                                           "product_name", "card_series", "card_model",  "\"name\"",
                                           "Device Name",  "\"gpu\"",     "Product Name"};

// The value after a key: ="NVIDIA H100", ": "AMD Instinct MI300X", >NVIDIA H100</product_name>, and
//     : NVIDIA H100
std::string_view quoted_value(std::string_view text) {
  const std::size_t open = text.find_first_not_of("\"=: \t>");
  if (open == text.npos || open == 0) return {};
  const bool is_line = text[open - 1] == ' ' && text.substr(0, open).find(" : ") != text.npos;
  if (text[open - 1] != '"' && text[open - 1] != '>' && !is_line) return {};
  const std::size_t close = text.find(is_line ? '\n' : text[open - 1] == '>' ? '<' : '"', open);
  return close == text.npos ? std::string_view() : text.substr(open, close - open);
}

}  // namespace

bool is_model_name(std::string_view text) {
  static constexpr Pattern model = {
      "(nvidia|amd|intel|tesla|geforce|quadro|radeon|instinct|titan|rtx|gtx|hgx|dgx)[ _-].*"
      "|(a|h|b|l|v|p|t|k|gh|gb|mi|rtx|gtx)[0-9]{2,4}[a-z]{0,2}([ _-].*)?|(t4|l4|a2)"
      "|rx[ _-]?[5-9][0-9]{3}.*|w[5-9][0-9]00x?([ _-].*)?|navi[ _-]?[1-4][0-9].*",
      Pattern::Case::either};
  return model.matches(text);
}

bool is_large_gpu(std::string_view model) {
  static const Pattern large = {
      R"((.*\b)?(V100|A30|A40|A100|A800|L40S?|H20|H100|H200|H800|B[123]00|G[BH][23]00|MI3[0-9]{2}[AX]?)(\b.*)?)",
      Pattern::Case::either};
  static const Pattern part = {R"(.*\b(GRID|vGPU|MIG)\b.*)", Pattern::Case::either};
  return large.matches(model) && !part.matches(model);
}

bool is_module_gpu(std::string_view model) {
  static const Pattern module = {R"((.*\b)?(G[BH][23]00|GB10|Grace)(\b.*)?)",
                                 Pattern::Case::either};
  return module.matches(model);
}

std::vector<std::string> gpu_models_in(std::string_view text) {
  std::vector<std::string> models;
  for (const std::string_view key : kModelKeys) {
    for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      const std::string_view value = strip(quoted_value(text.substr(at + key.size())));
      if (is_model_name(value)) note_model(value, models);
    }
  }
  return models;
}

void note_model(std::string_view model, std::vector<std::string>& models) {
  if (std::ranges::find(models, model) == models.end()) models.emplace_back(model);
}

// ---- Reads identity files as CSV and as JSON.

namespace {

constexpr std::size_t kMostBytes = 16 << 20;
constexpr int kMostDepth = 16;

std::string read_text(std::unique_ptr<ByteSource> source) {
  const auto utf8 = as_utf8(std::move(source));
  std::string text;
  while (true) {
    const std::string piece = read_up_to(*utf8, kHeadBytes);
    text += piece;
    if (piece.size() < kHeadBytes) return text;
    if (text.size() > kMostBytes) throw Error("it is larger than 16 MiB");
  }
}

void add(GpuIdentity& identity, const std::string& index, const std::string& uuid) {
  if (names_no_gpu(index) || names_no_gpu(uuid)) return;
  const auto [known, is_new] = identity.try_emplace(index, uuid);
  if (!is_new && known->second != uuid) {
    throw Error(fmt::format("it gives GPU {} two UUIDs", printable(index)));
  }
}

const GpuIdentity& some(const GpuIdentity& identity) {
  if (identity.empty()) throw Error("it names no GPU by index and UUID");
  return identity;
}

// The first text with that name, in the file's own order.
std::optional<std::string> find_text(const Json& value, const char* name, int depth = 0) {
  if (!value.is_structured() || depth > kMostDepth) return std::nullopt;
  for (const auto& [key, member] : value.items()) {
    if (value.is_object() && key == name && member.is_string()) {
      auto text = std::string(strip(member.get_ref<const std::string&>()));
      if (!names_no_gpu(text)) return text;
    }
    if (auto found = find_text(member, name, depth + 1)) return found;
  }
  return std::nullopt;
}

std::string index_of(const Json& gpu) {
  for (const char* name : {"gpu", "index"}) {
    if (!gpu.is_object() || !gpu.contains(name)) continue;
    const auto& index = gpu.at(name);
    if (index.is_string()) return std::string(strip(index.get_ref<const std::string&>()));
    if (index.is_number_integer()) return line_text(index);
  }
  return {};
}

}  // namespace

GpuIdentity read_identity_csv(std::unique_ptr<ByteSource> source) {
  const std::string text = read_text(std::move(source));
  GpuIdentity identity;
  std::optional<std::size_t> index;
  std::optional<std::size_t> uuid;
  for (const CsvTextRow& row : split_csv(text, text.size() + 1, true)) {
    if (row.blank) continue;
    if (!index || !uuid) {  // the header is still to come
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        const std::string name = lower_ascii(strip(row.cells[i]));
        if (name == "index" || name == "gpu") index = i;
        if (name == "uuid") uuid = i;
      }
      if (!index || !uuid) throw Error("its header has no columns index and uuid");
      continue;
    }
    if (row.cells.size() <= std::max(*index, *uuid)) continue;
    add(identity, replace_invalid_utf8(strip(row.cells[*index])),
        replace_invalid_utf8(strip(row.cells[*uuid])));
  }
  return some(identity);
}

GpuIdentity read_identity_json(std::unique_ptr<ByteSource> source) {
  const auto document = parsed_json(read_text(std::move(source)));
  if (document.is_discarded()) throw Error("it is not JSON");
  const bool is_wrapped = document.is_object() && document.contains("gpu_data");
  const auto& gpus = is_wrapped ? document.at("gpu_data") : document;
  if (!gpus.is_array()) throw Error("it is not a list of GPUs");
  GpuIdentity identity;
  for (const auto& gpu : gpus) {
    auto uuid = find_text(gpu, "uuid");
    if (!uuid) uuid = find_text(gpu, "asic_serial");
    if (uuid) add(identity, index_of(gpu), *uuid);
  }
  return some(identity);
}

}  // namespace aggregate_power
