// The keys by which results, and scripts that add to them, say how a run was run.
#pragma once

#include <span>
#include <string_view>

namespace aggregate_power::loads {

struct SettingName {
  std::string_view key;   // the last part of its path in a result
  std::string_view name;  // as aggregates have it
};
std::span<const SettingName> setting_names();

// The name of a setting by its path, "server_info.tp_size"; empty: the path is not a setting.
std::string_view setting_name(std::string_view path);

}  // namespace aggregate_power::loads
