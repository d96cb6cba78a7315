// Chooses and parses the columns of GPU states.
#include "core/telemetry/telemetry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/pattern.h"
#include "core/telemetry/column_names.h"

namespace aggregate_power {
namespace {

// In lower case, trimmed, and without the unit in brackets at the end; empty: the quantity is
// missing.
struct Names {
  std::string_view schema;  // empty: any, where its own names are missing
  GpuQuantity quantity;
  std::array<std::string_view, 3> names;  // the first that is found counts
};

constexpr Names kNames[] = {
    {"nvidia-smi", GpuQuantity::temperature_c, {"temperature.gpu"}},
    {"nvidia-smi", GpuQuantity::utilization_pct, {"utilization.gpu"}},
    {"nvidia-smi", GpuQuantity::memory_used_mb, {"memory.used"}},
    {"nvidia-smi", GpuQuantity::power_limit_w, {"enforced.power.limit", "power.limit"}},
    {"nvidia-smi",
     GpuQuantity::clock_reasons,
     {"clocks_event_reasons.active", "clocks_throttle_reasons.active"}},
    {"amd-smi", GpuQuantity::temperature_c, {"hotspot", "edge"}},
    {"amd-smi", GpuQuantity::utilization_pct, {"gfx_activity"}},
    {"amd-smi", GpuQuantity::memory_used_mb, {"used_vram"}},
    {"amd-smi",
     GpuQuantity::power_limit_w,
     {"power_cap", "current_power_cap", "socket_power_limit"}},
    {"amd-smi-monitor", GpuQuantity::power_limit_w, {"power_cap", "max_power"}},
    {"rocm-smi",
     GpuQuantity::temperature_c,
     {"temperature (sensor junction)", "temperature (sensor edge)"}},
    {"rocm-smi", GpuQuantity::utilization_pct, {"gpu use"}},
    {"dcgm-wide", GpuQuantity::temperature_c, {"dcgm_fi_dev_gpu_temp"}},
    {"dcgm-wide", GpuQuantity::utilization_pct, {"dcgm_fi_dev_gpu_util"}},
    {"dcgm-wide", GpuQuantity::memory_used_mb, {"dcgm_fi_dev_fb_used"}},
    {"dcgm-wide",
     GpuQuantity::power_limit_w,
     {"dcgm_fi_dev_enforced_power_limit", "dcgm_fi_dev_power_mgmt_limit"}},
    {"dcgm-wide",
     GpuQuantity::clock_reasons,
     {"dcgm_fi_dev_clocks_event_reasons", "dcgm_fi_dev_clock_throttle_reasons"}},
    {"dcgm-wide", GpuQuantity::clock_mhz, {"dcgm_fi_dev_sm_clock"}},
    {"generic",
     GpuQuantity::clock_reasons,
     {"throttle_reasons", "clocks_event_reasons", "clocks_throttle_reasons"}},
    {"nvidia-smi", GpuQuantity::power_limit_w, {"power.max"}},  // of hl-smi
    {"amd-smi", GpuQuantity::power_limit_w, {"power_cap"}},
    {"srt-slurm", GpuQuantity::utilization_pct, {"gpu_util_pct"}},
    {"xpu-smi", GpuQuantity::utilization_pct, {"gpu utilization"}},
    {"", GpuQuantity::power_limit_w, {"enforced.power.limit", "power.limit", "power_limit"}},
    {"", GpuQuantity::power_limit_w, {"power_limit_w", "gpu_power_limit_w", "power_limit_watts"}},
    {"", GpuQuantity::power_limit_w, {"gpu_power_limit", "power_cap_w", "power_cap_watts"}},
    {"", GpuQuantity::power_limit_w, {"power_limit_mw", "power_cap_mw"}},
    {"", GpuQuantity::clock_mhz, {"clocks.current.sm", "clocks.sm", "clocks.current.graphics"}},
    {"", GpuQuantity::clock_mhz, {"clocks.gr", "gfx_clk", "gfx_0_clk"}},
};

// How a column of any recorder may be called that has the limit in W.
constexpr Pattern kAnyLimit =
    "(gpu[ _.]?[0-9]*[ _.])?(enforced|current|socket|board)?[ _.]?power[ _.](limit|cap)[ _.](w|watts)";

// Of nvidia-smi, which named them differently before driver 535.
struct ReasonName {
  std::string_view name;  // behind "clocks_event_reasons."
  std::uint64_t bit;      // nvmlClocksEventReason
};
constexpr ReasonName kReasonNames[kReasonColumns] = {{"sw_power_cap", 0x4},
                                                     {"hw_slowdown", 0x8},
                                                     {"sw_thermal_slowdown", 0x20},
                                                     {"hw_thermal_slowdown", 0x40},
                                                     {"hw_power_brake_slowdown", 0x80}};

std::optional<std::size_t> last_column(std::span<const std::string> names, std::string_view name) {
  const auto last = std::ranges::find(names.rbegin(), names.rend(), name);
  if (last == names.rend()) return std::nullopt;
  return static_cast<std::size_t>(std::distance(last, names.rend())) - 1;
}

void choose_reasons(std::span<const std::string> plain, GpuStateColumns& columns) {
  for (std::size_t i = 0; i < kReasonColumns; ++i) {
    for (const char* const group : {"clocks_event_reasons.", "clocks_throttle_reasons."}) {
      if (columns.reasons[i]) continue;
      columns.reasons[i] = last_column(plain, group + std::string(kReasonNames[i].name));
    }
  }
}

std::string plain_name(std::string_view text) {
  std::string name = lower_ascii(strip(text));
  const char open = name.ends_with(']') ? '[' : '(';
  const bool has_unit = name.ends_with(']') || name.ends_with(')');
  const std::size_t at = has_unit ? name.rfind(open) : std::string::npos;
  if (at != std::string::npos) name = strip(std::string_view(name).substr(0, at));
  return name;
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// "97 %", " 60", "700.00 W": most cells.
std::optional<double> parse_common(std::string_view cell) {
  if (cell.starts_with(' ')) cell.remove_prefix(1);
  const ShortDecimal found = short_decimal(first_eight(cell));
  if (found.size == 0 || found.size == 8) return std::nullopt;
  const std::string_view unit = cell.substr(found.size);
  return unit.empty() || unit == " %" || unit == " W" ? std::optional(found.value) : std::nullopt;
}

double parse_mask(std::string_view digits) {
  std::uint64_t mask = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, mask, 16);
  return error == std::errc() && stop == end ? static_cast<double>(mask) : kNone;
}

}  // namespace

GpuStateColumns choose_state_columns(std::span<const std::string> header, std::string_view schema) {
  const auto plain = mapped<std::string>(header, plain_name);
  GpuStateColumns columns;
  for (const Names& row : kNames) {
    if (!row.schema.empty() && row.schema != schema) continue;
    auto& column = columns.quantities[static_cast<std::size_t>(row.quantity)];
    for (const std::string_view name : row.names) {
      if (name.empty()) continue;
      const bool is_other = column && row.quantity == GpuQuantity::power_limit_w;
      if (is_other && !columns.other_limit) columns.other_limit = last_column(plain, name);
      if (!column) column = last_column(plain, name);
    }
  }
  auto& limit = columns.quantities[static_cast<std::size_t>(GpuQuantity::power_limit_w)];
  for (std::size_t i = 0; i < plain.size() && !limit; ++i) {
    if (kAnyLimit.matches(plain[i])) limit = i;
  }
  if (schema == "nvidia-smi") choose_reasons(plain, columns);
  const auto unit_w = [&](const std::optional<std::size_t>& column) -> std::optional<double> {
    const auto unit =
        column ? columns::read_names(header.subspan(*column, 1))[0].unit : PowerUnit();
    if (!unit.stated) return std::nullopt;
    return in_watts(1, unit.size);
  };
  columns.limit_unit_w =
      unit_w(columns.quantities[static_cast<std::size_t>(GpuQuantity::power_limit_w)]);
  columns.other_limit_unit_w = unit_w(columns.other_limit);
  return columns;
}

std::uint64_t clock_reason(std::size_t reason_column) { return kReasonNames[reason_column].bit; }

double parse_state(std::string_view cell) {
  constexpr std::string_view kUnits[] = {"", "%", "C", "\u00B0C", "MiB", "MB", "W", "MHz"};
  if (const auto common = parse_common(cell)) return *common;
  const std::string_view text = strip(cell);
  if (text == "Active") return 1;
  if (text == "Not Active") return 0;
  if (text.starts_with("0x")) return parse_mask(text.substr(2));
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return kNone;
  const std::string_view unit = strip(text.substr(static_cast<std::size_t>(end - text.data())));
  return std::ranges::find(kUnits, unit) != std::end(kUnits) ? value : kNone;
}

}  // namespace aggregate_power
