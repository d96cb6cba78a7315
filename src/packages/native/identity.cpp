// Reads identities strictly, as CSV and as JSON.
#include "packages/native/identity.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/json_value.h"
#include "packages/native/node.h"

namespace aggregate_power {
namespace {

constexpr std::uint64_t kMostIdentityBytes = 16 << 20;

struct IdentityNames {
  NativeVendor vendor;
  const char* begin;
  const char* end;
};
constexpr IdentityNames kIdentityNames[] = {
    {NativeVendor::nvidia, "gpu_metrics_identity.csv", "gpu_metrics_identity_end.csv"},
    {NativeVendor::amd, "gpu_metrics_devices.json", "gpu_metrics_devices_end.json"}};

bool names_no_gpu(std::string_view uuid) {
  constexpr std::string_view kNothing[] = {"", "n/a", "[n/a]", "none", "null"};
  return std::ranges::find(kNothing, lower_ascii(uuid)) != std::end(kNothing);
}

// The GPUs of a file, each once.
class IdentityBuilder {
 public:
  void add(std::string_view index, std::string_view uuid) {
    if (!is_ascii_digits(index) || names_no_gpu(uuid)) {
      throw native_value_fault("invalid_device_identity");
    }
    const bool is_new = identity_.emplace(index, uuid).second && uuids_.emplace(uuid).second;
    if (!is_new) throw native_value_fault("duplicate_device_identity");
  }
  NativeIdentity take() && {
    if (identity_.empty()) throw native_value_fault("device_identity_missing");
    return std::move(identity_);
  }

 private:
  NativeIdentity identity_;
  std::set<std::string> uuids_;
};

void add_gpus_of_csv(const std::string& text, IdentityBuilder& identity) {
  std::optional<std::pair<std::size_t, std::size_t>> columns;  // of index and UUID
  for (const CsvTextRow& row : split_csv(text, text.size() + 1, true)) {
    if (row.blank) continue;
    if (columns) {
      const auto cell = [&](std::size_t column) {
        return column < row.cells.size() ? strip(row.cells[column]) : std::string_view();
      };
      identity.add(cell(columns->first), cell(columns->second));
      continue;
    }
    const std::size_t none = row.cells.size();
    const auto column = [&](std::string_view name) {
      const auto found = std::ranges::find_if(
          row.cells, [&](const std::string& cell) { return lower_ascii(strip(cell)) == name; });
      return static_cast<std::size_t>(found - row.cells.begin());
    };
    const std::size_t index = column("index") < none ? column("index") : column("gpu");
    if (index == none || column("uuid") == none) {
      throw native_value_fault("invalid_device_identity");
    }
    columns = {index, column("uuid")};
  }
}

std::string scalar_text(const JsonValue& value) {
  const bool is_scalar = value.is_string() || value.is_number();
  return is_scalar ? std::string(strip(value.text)) : std::string();
}

// The last one by this name, in whatever case.
const JsonValue* member_named(const JsonValue& value, std::string_view name) {
  const JsonValue* found = nullptr;
  for (const auto& [key, member] : value.members) {
    if (lower_ascii(key) == name) found = &member;
  }
  return found;
}

void add_gpus_in(const JsonValue& value, IdentityBuilder& identity) {
  const JsonValue* const gpu = member_named(value, "gpu");
  const JsonValue* const index = member_named(value, "index");
  const JsonValue* const uuid = member_named(value, "uuid");
  if (gpu != nullptr && uuid != nullptr) {
    identity.add(scalar_text(index != nullptr ? *index : *gpu), scalar_text(*uuid));
    return;
  }
  for (const JsonValue& item : value.items) add_gpus_in(item, identity);
  for (const auto& [key, member] : value.members) add_gpus_in(member, identity);
}

}  // namespace

NativeIdentity read_native_identity(const OpenedFile& file, NativeVendor vendor) {
  if (file.size() > kMostIdentityBytes) throw FileError(file.name(), "is larger than 16 MiB");
  const std::string text = read_whole(file, kPackageFile);
  IdentityBuilder identity;
  try {
    if (vendor == NativeVendor::nvidia) {
      add_gpus_of_csv(text, identity);
    } else {
      add_gpus_in(parse_json(text), identity);
    }
  } catch (const JsonError& error) {
    throw NativeFault("JSONDecodeError", error.what());
  } catch (const CsvError& error) {
    throw NativeFault("Error", error.what());
  }
  return std::move(identity).take();
}

const char* native_identity_name(NativeVendor vendor, bool at_end) {
  const auto& names = *std::ranges::find(kIdentityNames, vendor, &IdentityNames::vendor);
  return at_end ? names.end : names.begin;
}

}  // namespace aggregate_power
