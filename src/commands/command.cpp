// The command line's habits: those of Python's argparse, on CLI11's parser.
#include "commands/command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/text/python_number.h"
#include "base/text/unicode.h"

namespace aggregate_power {
namespace {

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The option that `word` names or abbreviates.
std::string full_name(const Command& command, const std::string& word) {
  const std::vector<std::string> names = long_names(*command.options);
  if (std::ranges::find(names, word) != names.end()) return word;
  const auto matching = [&](const std::vector<std::string>& among) {
    std::vector<std::string> found;
    std::ranges::copy_if(among, std::back_inserter(found),
                         [&](const std::string& name) { return name.starts_with(word); });
    return found;
  };
  const std::vector<std::string> preferred = matching(command.first_choice);
  if (preferred.size() == 1) return preferred[0];
  const std::vector<std::string> found = matching(names);
  if (found.size() == 1) return found[0];
  if (found.empty()) throw UsageError(fmt::format("unknown option '{}'", word));
  throw UsageError(
      fmt::format("ambiguous option '{}': it could be {}", word, fmt::join(found, ", ")));
}

// "-" is a value, and so are numbers, offsets such as -07:00, and what has blanks in it.
bool looks_like_an_option(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  const bool is_number = (word[1] >= '0' && word[1] <= '9') || word[1] == '.';
  return !is_number && word.find(' ') == std::string::npos;
}

// The arguments with options in full and each value in a word of its own.
std::vector<std::string> spell_out(const Command& command, const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      result.insert(result.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (looks_like_an_option(word) && !word.starts_with("--") && word != "-h") {
      throw UsageError(fmt::format("unknown option '{}'", word));
    }
    if (!word.starts_with("--")) {
      result.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = full_name(command, word.substr(0, equals));
    const bool takes_value = command.options->get_option(name)->get_items_expected_max() > 0;
    result.push_back(name);
    if (!takes_value) {
      if (equals != std::string::npos) throw UsageError(name + ": takes no value");
    } else if (equals != std::string::npos) {
      result.push_back(word.substr(equals + 1));
    } else if (i + 1 < words.size() && !looks_like_an_option(words[i + 1])) {
      result.push_back(words[++i]);
    } else {
      throw UsageError(name + ": expected a value");
    }
  }
  return result;
}

int usage_fault(const Command& command, const std::string& message) {
  say(stderr, fmt::format("usage: {} {}\naggregate-power: error: {}; see '{} --help'\n",
                          command.options->get_name(), command.usage, message,
                          command.options->get_name()));
  return 2;
}

}  // namespace

// The help of a command, in our order: usage, what it does, options, examples, notes.
std::string help(const Command& command) {
  class Formatter : public CLI::Formatter {
   public:
    explicit Formatter(const Command& described) : command_(described) { column_width(34); }
    std::string make_usage(const CLI::App*, std::string) const override { return {}; }
    std::string make_option_opts(const CLI::Option* option) const override {
      return option->get_items_expected_max() > 0 && !option->get_positional()
                 ? " " + option->get_type_name()
                 : "";
    }
    std::string make_footer(const CLI::App*) const override {
      std::string footer = "\nExamples:\n";
      std::string_view rest = command_.examples;
      while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        footer += fmt::format("  {}\n", line);
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      }
      footer += fmt::format("\nExit status: {}.\n", command_.exit_statuses);
      return command_.notes.empty() ? footer : footer + command_.notes + "\n";
    }

   private:
    const Command& command_;
  };
  command.options->formatter(std::make_shared<Formatter>(command));
  return fmt::format("usage: {} {}\n\n{}", command.options->get_name(), command.usage,
                     command.options->help());
}

int run_command(const Command& command, const std::vector<std::string>& arguments) {
  try {
    std::vector<std::string> words = spell_out(command, arguments);
    std::ranges::reverse(words);  // as CLI11 wants them
    command.options->parse(std::move(words));
    return command.run();
  } catch (const CLI::CallForHelp&) {
    say(stdout, help(command));
    return 0;
  } catch (const CLI::CallForVersion& version) {
    say(stdout, fmt::format("{}\n", version.what()));
    return 0;
  } catch (const CLI::ParseError& error) {
    return usage_fault(command, error.what());
  } catch (const UsageError& error) {
    return usage_fault(command, error.what());
  }
}

void say(std::FILE* stream, const std::string& text) {
  std::ignore = std::fwrite(text.data(), 1, text.size(), stream);
}

int print(bool require_power, const std::function<CommandOutput()>& job) {
  CommandOutput delivered;
  try {
    delivered = job();
  } catch (const std::exception& error) {
    delivered.err.push_back(fmt::format("error: {}", error.what()));
    delivered.exit_status = require_power ? 1 : 0;
  }
  for (const std::string& line : delivered.err) {
    say(stderr, fmt::format("aggregate-power: {}\n", line));
  }
  for (const std::string& line : delivered.out) {
    say(stdout, fmt::format("aggregate-power: {}\n", line));
  }
  return delivered.exit_status;
}

bool required_by_environment() {
  const char* const value = std::getenv("REQUIRE_POWER");
  const std::string lower = lower_ascii(value == nullptr ? "" : value);
  return lower == "1" || lower == "true" || lower == "yes";
}

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  commands.push_back(aggregate_command());
  commands.push_back(agentic_command());
  commands.push_back(backfill_command());
  commands.push_back(inspect_command());
  commands.push_back(multinode_command());
  commands.push_back(synthesize_command());
  return commands;
}

void take_one_of(Command& command, CLI::Option& option, const std::vector<std::string>& words) {
  const std::string what =
      fmt::format("{} or {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
  option.check(expecting(what, [words](const std::string& text) {
    return std::ranges::find(words, text) != words.end();
  }));
  command.words[option.get_name()] = words;
}

CLI::Validator expecting(const std::string& what,
                         const std::function<bool(const std::string&)>& is_good) {
  return CLI::Validator(
      [what, is_good](const std::string& text) {
        return is_good(text) ? std::string() : fmt::format("expected {}, got '{}'", what, text);
      },
      "");
}

CLI::Validator not_empty() {
  return expecting("a name", [](const std::string& text) { return !text.empty(); });
}

CLI::Validator whole_number() {
  return expecting("a whole number",
                   [](const std::string& text) { return python_int(text).has_value(); });
}

CLI::Validator seconds() {
  return expecting("a number of seconds",
                   [](const std::string& text) { return python_float(text).has_value(); });
}

void add_telemetry_options(Command& command, TelemetryOptionTexts& texts) {
  CLI::App& app = *command.options;
  add_option(app, "--timestamp-column", texts.columns.timestamp,
             "The column of times, by name (default: chosen by the header)");
  add_option(app, "--power-column", texts.columns.power,
             "The column of power draw, by name; 'power.draw' finds 'power.draw [W]' too (default: "
             "chosen by the header)");
  add_option(app, "--device-column", texts.columns.device,
             "The column that tells GPUs apart, by name (default: chosen by the header)");
  add_power_unit(command, texts.power_unit);
  add_option(app, "--timezone", texts.timezone,
             "What stamps without an offset mean: local, UTC, +HH:MM, -HH:MM or Area/City "
             "(default: timestamp_timezone of STEM_context.json beside the file, else local)");
  command.words["--timezone"] = {"local", "UTC"};
}

void add_power_unit(Command& command, std::string& text) {
  CLI::Option* const unit =
      add_option(*command.options, "--power-unit", text,
                 "What a bare number in the power column counts: mW, W or kW; a cell that states a "
                 "unit keeps it (default: as the column's name says, else W)")
          ->type_name("mW|W|kW");
  take_one_of(command, *unit, {"mW", "W", "kW"});
}

ColumnNames columns_of(const TelemetryOptionTexts& texts) {
  ColumnNames columns = texts.columns;
  columns.power_unit = power_unit(texts.power_unit);
  return columns;
}

void add_agg_result(CLI::App& app, RunOptionTexts& texts) {
  add_option(app, "--agg-result", texts.agg_result, "Aggregate result, patched in place")
      ->type_name("FILE")
      ->required();
}

void add_max_sample_gap(CLI::App& app, RunOptionTexts& texts) {
  add_option(
      app, "--max-sample-gap", texts.max_sample_gap,
      "Longest gap between two samples of a GPU; rows so near the window count too (default: "
      "3)")
      ->type_name("SECONDS")
      ->check(seconds());
}

void add_outcome_options(CLI::App& app, RunOptionTexts& texts, const std::string& extended) {
  app.add_flag("--extended", texts.extended, extended);
  app.add_flag("--require-power", texts.require_power,
               "End with status 1 when power is not valid (also: REQUIRE_POWER=1, true or yes)");
  app.add_flag("--dry-run", texts.dry_run, "Print what would change; write nothing");
}

void add_bench_result(CLI::App& app, std::string& path) {
  add_option(app, "--bench-result", path, "Raw benchmark result: the window and the token counts")
      ->type_name("FILE")
      ->required();
}

std::optional<Zone> zone_of(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(Zone::parse(text));
}

std::string path_of(const std::string& text) { return text.empty() ? "" : normal_path(text); }

CLI::Option* add_list_option(CLI::App& app, const std::string& name,
                             std::vector<std::string>& values, const std::string& help) {
  return app.add_option(name, values, help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace aggregate_power
