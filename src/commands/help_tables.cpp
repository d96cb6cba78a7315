// Builds the tables of the help pages.
#include "commands/help_tables.h"

#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/assumption.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/refusal.h"
#include "aggregate_power/verdict.h"
#include "commands/commands.h"
#include "commands/surroundings.h"
#include "energy/energy_interval.h"
#include "energy/gpu_sensors.h"
#include "energy/metrics.h"
#include "loads/load_generator.h"
#include "loads/stated_settings.h"
#include "recorders/power_limits.h"
#include "recorders/recorder.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {
namespace {

using markdown::Table;

std::string code_span(std::string_view text) { return fmt::format("`{}`", text); }

// The options of a command ("agentic"), of a group ("agentic: On one node"), or of the program
// ("").
Table options_table(std::string_view wanted) {
  const std::size_t colon = wanted.find(": ");
  const std::string_view word = wanted.substr(0, colon);
  const std::string_view group =
      colon == std::string_view::npos ? "Options" : wanted.substr(colon + 2);
  const std::string name = fmt::format("aggregate-power {}", word.empty() ? "patch" : word);
  Table table{{"option", "meaning"}, {}};
  for (const Command& command : all_commands()) {
    if (command.name != name) continue;
    for (const Option& option : command.options.all()) {
      if (option.group != group || option.is_positional()) continue;
      std::string text = option.long_name();
      if (option.takes_value()) text += " " + option.value_name;
      table.rows.push_back({code_span(text), option.help});
    }
  }
  return table;
}

std::string what_to_do(Reason reason) {
  std::string text(remedy(reason));
  if (is_acceptable(reason))
    text += fmt::format(". It can be accepted: `--accept {}`", code(reason));
  return text;
}

Table reasons_table(std::string_view wanted) {
  constexpr std::pair<std::string_view, ReasonGroup> kGroups[] = {
      {"run", ReasonGroup::run},       {"nodes", ReasonGroup::nodes},
      {"cpu", ReasonGroup::cpu},       {"agents", ReasonGroup::agents},
      {"header", ReasonGroup::header}, {"agent_nodes", ReasonGroup::agent_nodes},
      {"store", ReasonGroup::store},
  };
  Table table{{"code", "what happened", "usual causes", "what to do"}, {}};
  for (const auto& [name, of] : kGroups) {
    if (name != wanted) continue;
    for (const Reason reason : all_reasons()) {
      if (group(reason) != of) continue;
      table.rows.push_back({code_span(code(reason)), std::string(meaning(reason)),
                            std::string(causes(reason)), what_to_do(reason)});
    }
  }
  return table;
}

Table words_table(std::string_view wanted) {
  const std::pair<std::string_view, std::span<const ExplainedWord>> lists[] = {
      {"verdicts", verdict_words()},       {"components", component_words()},
      {"assumptions", assumption_words()}, {"interval-refusals", interval_refusals()},
      {"idle-refusals", idle_refusals()},  {"request-refusals", request_refusals()}};
  Table table{{"word", "when", "what to do"}, {}};
  for (const auto& [name, words] : lists) {
    if (name != wanted) continue;
    for (const ExplainedWord& word : words) {
      table.rows.push_back(
          {code_span(word.code), std::string(word.rule), std::string(word.remedy)});
    }
  }
  return table;
}

Table sensors_table(std::string_view) {
  Table table{{"boards", "`power.draw`, or the only power", "average", "instant"}, {}};
  for (const GpuSensorRow& row : gpu_sensor_rows()) {
    table.rows.push_back({row.boards, row.usage, row.average, row.instant});
  }
  return table;
}

Table power_limits_table(std::string_view) {
  Table table{{"GPU", "W", "stated by"}, {}};
  for (const PowerLimit& limit : power_limits()) {
    table.rows.push_back(
        {std::string(limit.gpu), fmt::format("{}", limit.watts), std::string(limit.source)});
  }
  return table;
}

// The members that make a configuration, and the keys of results that state them.
Table configuration_table(std::string_view) {
  Table table{{"key", "stated by"}, {}};
  for (const std::string_view key : configuration_keys()) {
    std::vector<std::string> from;
    if (key == "hw" || key == "gpu_count" || key == "driver" || key == "clock_setting_mhz") {
      from.emplace_back("the recording");
    }
    for (const loads::SettingName& setting : loads::setting_names()) {
      if (setting.name == key) from.push_back(code_span(setting.key));
    }
    if (from.empty()) from.emplace_back("aggregates");
    table.rows.push_back({code_span(key), fmt::format("{}", fmt::join(from, ", "))});
  }
  return table;
}

Table metrics_table(std::string_view) {
  Table table{{"key", "schema", "meaning", "decimals"}, {}};
  for (const MetricRow& row : metric_rows()) {
    table.rows.push_back({code_span(row.key), std::string(row.schemas), std::string(row.meaning),
                          std::to_string(row.decimals)});
  }
  return table;
}

Table schemas_table(std::string_view) {
  Table table{{"schema", "power column, the first that exists", "devices"}, {}};
  for (const Recorder& recorder : recorders()) {
    for (const SchemaRow& row : recorder.schemas()) {
      table.rows.push_back({code_span(row.name), std::string(row.power), std::string(row.devices)});
    }
  }
  return table;
}

Table generators_table(std::string_view) {
  Table table{{"result", "file", "window"}, {}};
  for (const LoadGenerator& generator : load_generators()) {
    table.rows.push_back({generator.name, generator.files, generator.window});
  }
  return table;
}

Table exit_statuses_table(std::string_view) {
  Table table{{"command", "exit status"}, {}};
  for (const Command& command : all_commands()) {
    table.rows.push_back({code_span(command.name), command.exit_statuses});
  }
  return table;
}

Table surroundings_table(std::string title, std::span<const Surrounding> all) {
  Table table{{std::move(title), "meaning"}, {}};
  for (const Surrounding& one : all) {
    table.rows.push_back({code_span(one.name), std::string(one.text)});
  }
  return table;
}

Table environment_table(std::string_view) {
  return surroundings_table("variable", environment_variables());
}

Table files_table(std::string_view) { return surroundings_table("file", files()); }

struct Source {
  std::string_view name;
  Table (*table)(std::string_view wanted);
};
constexpr Source kSources[] = {
    {"options", options_table},
    {"reasons", reasons_table},
    {"metrics", metrics_table},
    {"schemas", schemas_table},
    {"generators", generators_table},
    {"environment", environment_table},
    {"words", words_table},
    {"sensors", sensors_table},
    {"configuration", configuration_table},
    {"files", files_table},
    {"exit-statuses", exit_statuses_table},
    {"power-limits", power_limits_table},
};

}  // namespace

Table help_table(std::string_view name) {
  const std::string_view word = name.substr(0, name.find(' '));
  const std::string_view wanted = word.size() < name.size() ? name.substr(word.size() + 1) : "";
  for (const Source& source : kSources) {
    if (source.name != word) continue;
    Table table = source.table(wanted);
    if (!table.rows.empty()) return table;
  }
  throw std::logic_error(fmt::format("a help page wants an unknown table '{}'", name));
}

}  // namespace aggregate_power
