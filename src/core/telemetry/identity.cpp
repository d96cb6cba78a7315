// Reads identity files as CSV and as JSON.
#include "core/telemetry/identity.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/report/json_parts.h"
#include "base/text/csv.h"
#include "base/text/encoding.h"
#include "base/text/characters.h"
#include "core/telemetry/gpu_names.h"

namespace aggregate_power {
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
  const auto document = Json::parse(read_text(std::move(source)), nullptr, false);
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
