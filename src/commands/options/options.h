// The options of a command in our own terms; only options.cpp knows the library that parses them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace aggregate_power {

// Takes one value; false if the text is not a value of that type.
using Take = std::function<bool(const std::string& text)>;

// Stores the value. A Check handles the bounds of numbers.
Take into(std::string& value);
Take into(std::optional<std::string>& value);  // an empty text is not a value
Take into(int& value);
Take into(unsigned& value);
Take into(std::int64_t& value);
Take into(std::uint64_t& value);
Take into(double& value);
Take into(std::optional<double>& value);
Take into(std::optional<std::int64_t>& value);   // nullopt if Python's int() would raise
Take into(std::vector<std::string>& values);     // appends
Take into_keys(std::vector<std::string>& keys);  // appends the words of "hw,tp": one at least
// The same for paths, written as Python's pathlib does. An empty one is the current folder, or
// stays empty if that means no path.
Take into_path(std::string& path);
Take into_optional_path(std::string& path);
Take into_paths(std::vector<std::string>& paths);

// Returns what is wrong with a value; empty: nothing.
using Check = std::function<std::string(const std::string& text)>;

// The message says that `what` was expected, and quotes the value.
Check expecting(const std::string& what, const std::function<bool(const std::string&)>& is_good);
// Refuses an empty text, such as the value of a shell's unset variable.
Check not_empty();
// A model, not the numbers of GPUs, which --gpus takes.
Check model_of_gpus();
// A whole number, a number of seconds, as Python's int() and float() read them.
Check whole_number();
Check seconds();
// A number between two bounds, inclusive.
Check whole_number_between(std::uint64_t least, std::uint64_t most);
Check number_between(double least, double most);

struct Option {
  enum class Kind {
    flag,
    value,        // the last occurrence counts
    list,         // may occur several times, each time with one value
    positional,   // one value, without the option's name
    positionals,  // at least one
    help,
    help_all,
    version
  };

  Kind kind = Kind::value;
  std::string name;        // "--jobs"; "-h,--help"; for a positional one "STORE"
  std::string value_name;  // "N"
  std::string help;
  std::string group = "Options";  // its heading in the help
  bool* flag = nullptr;           // null: only `given` tells
  Take take;
  std::vector<Check> checks;
  std::vector<std::string> words;  // values that the completion offers
  std::vector<std::string> excluded;
  std::vector<std::string> needed;
  bool is_required = false;
  bool is_late = false;
  bool gathers_words = false;  // each following word that is no option is a value as well
  // --version and --quiet: abbreviations mean them only if nothing else fits.
  bool is_of_every_command = false;
  bool is_whole_word = false;      // it has no abbreviations
  bool is_output = false;          // a path that is written
  std::string former;              // an earlier name, which stays valid; empty: none
  std::string doubt;               // about its default from the environment, for people
  std::vector<std::string> given;  // the values on the command line, after parsing

  bool is_positional() const { return kind == Kind::positional || kind == Kind::positionals; }
  bool takes_value() const { return kind == Kind::value || kind == Kind::list; }
  bool names_path() const;  // by the word for its value: FILE, STORE, ...
  // "--help"; empty for a positional one.
  std::string long_name() const;

  Option& required();
  Option& check(Check check);
  Option& offer(std::vector<std::string> offered);
  Option& one_of(const std::vector<std::string>& all);  // accepts only these words, and offers them
  Option& needs(const std::string& other);
  Option& excludes(const std::string& other);  // in both directions
  Option& formerly(const std::string& name);
  Option& in_group(const std::string& heading);
  Option& gathers();
  Option& writes();  // it names an output
  // Only take_late_values() takes its value, because taking it may throw Error: wrong use that the
  // declarations can detect is reported first.
  Option& late();
};

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Options {
 public:
  Options();  // only those that every command has: --help, --help-all, --version, --quiet

  // Each declares an option and returns it, so that the caller can refine it.
  Option& flag(const std::string& name, bool& value, const std::string& help);
  Option& flag(const std::string& name, Take take, const std::string& help);  // of ""
  Option& value(const std::string& name, const std::string& value_name, Take take,
                const std::string& help);
  // One of a few words, each with what it means.
  template <typename Value>
  Option& choice(const std::string& name, const std::string& value_name,
                 std::initializer_list<std::pair<const char*, std::type_identity_t<Value>>> words,
                 Value& value, const std::string& help);
  Option& list(const std::string& name, const std::string& value_name, Take take,
               const std::string& help);
  Option& positional(const std::string& name, Take take, const std::string& help);
  Option& positionals(const std::string& name, Take take, const std::string& help);

  const std::deque<Option>& all() const { return all_; }  // in the order of their declaration
  // The declared option with that name.
  Option& at(const std::string& name);
  const Option& at(const std::string& name) const;

  // Whether an option was given, and its last value (empty if it was not).
  bool is_given(const std::string& name) const { return !at(name).given.empty(); }
  std::string text(const std::string& name) const;
  bool is_quiet() const;  // --quiet was given

  enum class Outcome { values, help, help_all, version };
  // Parses words in which each option has its full name and its value is the next word. Throws
  // UsageError.
  Outcome parse(const std::vector<std::string>& words);
  void take_late_values() const;

 private:
  Option& add(Option::Kind kind, const std::string& name, const std::string& help);

  std::deque<Option> all_;
};

template <typename Value>
Option& Options::choice(
    const std::string& name, const std::string& value_name,
    std::initializer_list<std::pair<const char*, std::type_identity_t<Value>>> words, Value& value,
    const std::string& help) {
  std::unordered_map<std::string, Value> meanings;
  std::vector<std::string> all;
  for (const auto& [word, meaning] : words) {
    all.emplace_back(word);
    meanings.emplace(word, meaning);
  }
  const auto take = [meanings, &value](const std::string& text) {
    const auto found = meanings.find(text);
    if (found != meanings.end()) value = found->second;
    return found != meanings.end();
  };
  return this->value(name, value_name, take, help).one_of(all);
}

}  // namespace aggregate_power
