// Declares and parses options with CLI11.
#include "commands/options/options.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"

namespace aggregate_power {
namespace {

constexpr const char* kQuiet = "-q,--quiet";

// Whole numbers as CLI11 reads them: a leading 0 or 0x means octal or hexadecimal.
template <typename Number>
Take into_whole_number(Number& value) {
  return [&value](const std::string& text) { return CLI::detail::lexical_cast(text, value); };
}

CLI::Option* declare_values(CLI::App& app, Option& option) {
  const auto take = [&option](const CLI::results_t& texts) {
    option.given = texts;
    return option.is_late || std::ranges::all_of(texts, option.take);
  };
  CLI::Option* const declared = app.add_option(option.name, take, option.help);
  declared->type_name(option.value_name);
  const bool is_single =
      option.kind == Option::Kind::value || option.kind == Option::Kind::positional;
  if (is_single) return declared->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  declared->expected(CLI::detail::expected_max_vector_size);
  if (option.kind == Option::Kind::positionals) return declared;
  // Files may follow a file; after --set precision=fp8 they are the command's own.
  declared->allow_extra_args(option.names_path());
  return declared->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* declare(CLI::App& app, Option& option) {
  switch (option.kind) {
    case Option::Kind::help:
      return app.set_help_flag(option.name, option.help);
    case Option::Kind::help_all:
      return app.set_help_all_flag(option.name, option.help);
    case Option::Kind::version:
      return app.set_version_flag(option.name, "", option.help);
    case Option::Kind::flag:
      return app.add_flag_function(
          option.name,
          [&option](std::int64_t) {
            if (option.flag != nullptr) *option.flag = true;
            if (option.take) option.take("");
            option.given = {""};
          },
          option.help);
    default:
      return declare_values(app, option);
  }
}

// Declaring an option takes longer than parsing one, and most are not given.
bool is_wanted(const Option& option, const std::vector<std::string>& words) {
  return option.is_required || option.is_positional() ||
         std::ranges::any_of(words, [&](const std::string& word) {
           return word.size() > 1 && word[0] == '-' && option.name.find(word) != word.npos;
         });
}

// The parser of `words` for `options`, which must outlive it. An option that is not given is only
// declared if it is missed.
std::unique_ptr<CLI::App> parser_of(std::deque<Option>& options,
                                    const std::vector<std::string>& words) {
  auto app = std::make_unique<CLI::App>();
  std::set<std::string> wanted;
  for (const Option& option : options) {
    if (!is_wanted(option, words)) continue;
    wanted.insert(option.name);
    wanted.insert(option.needed.begin(), option.needed.end());
  }
  std::map<std::string, CLI::Option*> declared;
  for (Option& option : options) {
    if (!wanted.contains(option.name)) continue;
    CLI::Option* const one = declare(*app, option);
    one->required(option.is_required);
    for (const Check& check : option.checks) one->check(CLI::Validator(check, ""));
    declared[option.name] = one;
  }
  for (const Option& option : options) {
    if (!is_wanted(option, words)) continue;
    for (const std::string& other : option.excluded) {
      if (declared.contains(other)) declared.at(option.name)->excludes(declared.at(other));
    }
    for (const std::string& other : option.needed) {
      declared.at(option.name)->needs(declared.at(other));
    }
  }
  return app;
}

}  // namespace

Take into(std::string& value) {
  return [&value](const std::string& text) {
    value = text;
    return true;
  };
}

Take into(std::optional<std::string>& value) {
  return [&value](const std::string& text) {
    value = text.empty() ? std::nullopt : std::optional(text);
    return true;
  };
}

Take into(int& value) { return into_whole_number(value); }
Take into(unsigned& value) { return into_whole_number(value); }
Take into(std::int64_t& value) { return into_whole_number(value); }
Take into(std::uint64_t& value) { return into_whole_number(value); }

// CLI11 reads these through long double, which rounds twice, and differently on some processors.
Take into(double& value) {
  return [&value](const std::string& text) {
    const std::optional<double> read = from_text<double>(text);
    value = read.value_or(value);
    return read.has_value();
  };
}

Take into(std::optional<double>& value) {
  return [&value](const std::string& text) { return into(value.emplace())(text); };
}

Take into(std::optional<std::int64_t>& value) {
  return [&value](const std::string& text) {
    value = python_int(text);
    return true;
  };
}

Take into(std::vector<std::string>& values) {
  return [&values](const std::string& text) {
    values.push_back(text);
    return true;
  };
}

Take into_list(std::vector<std::string>& texts) {
  return [&texts](const std::string& text) {
    for (const std::string_view one : separated(text, ',')) {
      if (!strip(one).empty()) texts.emplace_back(strip(one));
    }
    return !texts.empty();
  };
}

Take into_path(std::string& path) {
  return [&path](const std::string& text) {
    path = normal_path(text);
    return true;
  };
}

Take into_optional_path(std::string& path) {
  return [&path](const std::string& text) {
    path = text.empty() ? "" : normal_path(text);
    return true;
  };
}

Take into_paths(std::vector<std::string>& paths) {
  return [&paths](const std::string& text) {
    paths.push_back(normal_path(text));
    return true;
  };
}

Check expecting(const std::string& what, const std::function<bool(const std::string&)>& is_good) {
  return [what, is_good](const std::string& text) {
    return is_good(text) ? std::string() : fmt::format("expected {}, got '{}'", what, text);
  };
}

Check not_empty() {
  return expecting("a name", [](const std::string& text) { return !text.empty(); });
}

Check model_of_gpus() {
  return [](const std::string& text) {
    if (text.empty()) return not_empty()(text);
    const bool is_list = text.find_first_not_of("0123456789,-. ") == std::string::npos;
    return is_list ? fmt::format("expected a model such as H100, got '{}': --gpus chooses GPUs",
                                 printable(text))
                   : std::string();
  };
}

Check whole_number() {
  return expecting("a whole number",
                   [](const std::string& text) { return python_int(text).has_value(); });
}

Check seconds() {
  return expecting("a number of seconds",
                   [](const std::string& text) { return python_float(text).has_value(); });
}

Check whole_number_between(std::uint64_t least, std::uint64_t most) {
  return expecting(fmt::format("a whole number from {} to {}", least, most),
                   [least, most](const std::string& text) {
                     const auto value = from_text<std::uint64_t>(text);
                     return value && *value >= least && *value <= most;
                   });
}

Check number_between(double least, double most) {
  return expecting(fmt::format("a number from {} to {}", least, most),
                   [least, most](const std::string& text) {
                     const auto value = from_text<double>(text);
                     return value && *value >= least && *value <= most;
                   });
}

std::string Option::long_name() const {
  const std::size_t at = name.find("--");
  return at == std::string::npos ? "" : name.substr(at);
}

Option& Option::required() {
  is_required = true;
  return *this;
}

Option& Option::check(Check check) {
  checks.push_back(std::move(check));
  return *this;
}

Option& Option::offer(std::vector<std::string> offered) {
  words = std::move(offered);
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& all) {
  const std::string what =
      fmt::format("{} or {}", fmt::join(all.begin(), all.end() - 1, ", "), all.back());
  check(expecting(
      what, [all](const std::string& text) { return std::ranges::find(all, text) != all.end(); }));
  return offer(all);
}

Option& Option::needs(const std::string& other) {
  needed.push_back(other);
  return *this;
}

Option& Option::excludes(const std::string& other) {
  excluded.push_back(other);
  return *this;
}

Option& Option::in_group(const std::string& heading) {
  group = heading;
  return *this;
}

Option& Option::formerly(const std::string& earlier) {
  former = earlier;
  return *this;
}

bool Option::names_path() const {
  constexpr std::string_view kPaths[] = {"FILE",      "FOLDER",    "STORE", "RESULT", "RESULTS",
                                         "TELEMETRY", "RECORDING", "BASE",  "NEW",    "AGGREGATE",
                                         "MANIFEST",  "REPORT",    "OUT"};
  std::string_view rest = is_positional() ? name : value_name;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find_first_of("|.=,[ "));
    if (std::ranges::find(kPaths, word) != std::end(kPaths)) return true;
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return false;
}

Option& Option::writes() {
  is_output = true;
  return *this;
}

Option& Option::gathers() {
  gathers_words = true;
  return *this;
}

Option& Option::late() {
  is_late = true;
  return *this;
}

Options::Options() {
  add(Option::Kind::help, "-h,--help", "Print this help message and exit");
  Option& all = add(Option::Kind::help_all, "--help-all", "Print all options and exit");
  all.is_of_every_command = true;
  all.is_whole_word = true;
  add(Option::Kind::version, "-V,--version", "Print the version and exit").is_of_every_command =
      true;
  add(Option::Kind::flag, kQuiet, "Print errors only, and what --json asks for")
      .is_of_every_command = true;
}

Option& Options::add(Option::Kind kind, const std::string& name, const std::string& help) {
  Option& option = all_.emplace_back();
  option.kind = kind;
  option.name = name;
  option.help = help;
  return option;
}

Option& Options::flag(const std::string& name, bool& value, const std::string& help) {
  Option& option = add(Option::Kind::flag, name, help);
  option.flag = &value;
  return option;
}

Option& Options::flag(const std::string& name, Take take, const std::string& help) {
  Option& option = add(Option::Kind::flag, name, help);
  option.take = std::move(take);
  return option;
}

Option& Options::value(const std::string& name, const std::string& value_name, Take take,
                       const std::string& help) {
  Option& option = add(Option::Kind::value, name, help);
  option.value_name = value_name;
  option.take = std::move(take);
  return option;
}

Option& Options::list(const std::string& name, const std::string& value_name, Take take,
                      const std::string& help) {
  Option& option = value(name, value_name, std::move(take), help);
  option.kind = Option::Kind::list;
  return option;
}

Option& Options::positional(const std::string& name, Take take, const std::string& help) {
  Option& option = add(Option::Kind::positional, name, help);
  option.take = std::move(take);
  return option;
}

Option& Options::positionals(const std::string& name, Take take, const std::string& help) {
  Option& option = positional(name, std::move(take), help);
  option.kind = Option::Kind::positionals;
  return option;
}

Option& Options::at(const std::string& name) {
  const auto found = std::ranges::find(all_, name, &Option::name);
  assert(found != all_.end());
  return *found;
}

const Option& Options::at(const std::string& name) const {
  const auto found = std::ranges::find(all_, name, &Option::name);
  assert(found != all_.end());
  return *found;
}

std::string Options::text(const std::string& name) const {
  const std::vector<std::string>& given = at(name).given;
  return given.empty() ? "" : given.back();
}

bool Options::is_quiet() const { return is_given(kQuiet); }

Options::Outcome Options::parse(const std::vector<std::string>& words) {
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // the order that CLI11 expects
  try {
    parser_of(all_, words)->parse(std::move(reversed));
    return Outcome::values;
  } catch (const CLI::CallForHelp&) {
    return Outcome::help;
  } catch (const CLI::CallForAllHelp&) {
    return Outcome::help_all;
  } catch (const CLI::CallForVersion&) {
    return Outcome::version;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

void Options::take_late_values() const {
  for (const Option& option : all_) {
    if (option.is_late) std::ranges::for_each(option.given, option.take);
  }
}

}  // namespace aggregate_power
