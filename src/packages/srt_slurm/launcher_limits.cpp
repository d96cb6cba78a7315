// Reads small tables of node, GPU and limit.
#include "packages/srt_slurm/launcher_limits.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/csv.h"
#include "base/text/decimal.h"

namespace aggregate_power::packages {
namespace {

constexpr std::size_t kMostBytes = 16 << 20;
constexpr std::size_t kMostRows = 1 << 20;
constexpr const char* kApplied = "gpu_power_limits_applied.csv";

std::map<DeviceKey, double> limits_in(std::string_view text) {
  const std::vector<CsvTextRow> rows = split_csv(text, kMostRows, true);
  const std::vector<std::string> header = {"node", "gpu_index", "power_limit_w"};
  if (rows.empty() || rows[0].cells != header) {
    throw CsvError("expected the header node,gpu_index,power_limit_w");
  }
  std::map<DeviceKey, double> limits;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].blank) continue;
    const std::vector<std::string>& cells = rows[i].cells;
    const auto index = cells.size() == 3 ? python_int(cells[1]) : std::nullopt;
    const auto watts = cells.size() == 3 ? python_float(cells[2]) : std::nullopt;
    if (!index || !watts || !std::isfinite(*watts) || *watts <= 0) {
      throw CsvError(fmt::format("row {} after the header: expected a node, a GPU and watts", i));
    }
    const auto [limit, is_new] = limits.try_emplace({cells[0], *index}, *watts);
    if (!is_new && limit->second != *watts) {
      throw CsvError(fmt::format("row {} after the header: the GPU has another limit above", i));
    }
  }
  return limits;
}

std::map<DeviceKey, double> limits_of(const PackagePlace& place, const char* name,
                                      std::vector<std::string>& warnings) {
  const std::string path = path_below(place.logs_root, name);
  try {
    if (!place.tree->find_file(path)) return {};
    const OpenedFile file = place.tree->open(path);
    if (file.size() > kMostBytes) throw CsvError("too large for a list of power limits");
    return limits_in(read_whole(file, kPackageFile));
  } catch (const CsvError& error) {
    warnings.push_back(fmt::format("{}: not read: {}", path, error.what()));
  } catch (const FileError& error) {
    warnings.push_back(fmt::format("{}; the power limits are not known", error.what()));
  }
  return {};
}

std::string short_name(const std::string& host) { return host.substr(0, host.find('.')); }

std::optional<double> limit_of(const std::map<DeviceKey, double>& limits, const DeviceKey& device) {
  if (const auto exact = limits.find(device); exact != limits.end()) return exact->second;
  for (const auto& [key, watts] : limits) {
    const bool is_same = key.gpu_index == device.gpu_index &&
                         short_name(key.hostname) == short_name(device.hostname) &&
                         (key.hostname.find('.') == std::string::npos ||
                          device.hostname.find('.') == std::string::npos);
    if (is_same) return watts;
  }
  return std::nullopt;
}

}  // namespace

LauncherLimits::LauncherLimits(const PackagePlace& place, std::vector<std::string>& warnings)
    : before_(limits_of(place, "gpu_power_limits_before.csv", warnings)),
      applied_(limits_of(place, kApplied, warnings)),
      restored_(limits_of(place, "gpu_power_limits_restored.csv", warnings)) {}

std::vector<double> LauncherLimits::different_w() const {
  std::vector<double> different;
  for (const auto& [device, watts] : applied_) {
    if (std::ranges::count(different, watts) == 0) different.push_back(watts);
  }
  return different;
}

std::optional<GpuLimit> LauncherLimits::of(const DeviceKey& device) const {
  const auto applied = limit_of(applied_, device);
  if (!applied) return std::nullopt;
  GpuLimit limit{.gpu = device.text(), .source = kApplied, .limits_w = {*applied}};
  limit.before_w = limit_of(before_, device);
  limit.restored_w = limit_of(restored_, device);
  return limit;
}

}  // namespace aggregate_power::packages
