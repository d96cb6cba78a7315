// Reads logs of Cray's /sys/cray/pm_counters: "12345 J 1777118400000000 us", with or without the
// counter's name before it.
#include <string>

#include "base/files/path.h"
#include "base/text/pattern.h"
#include "base/text/characters.h"
#include "recorders/witness_form.h"

namespace aggregate_power {
namespace {

struct CounterLine {
  std::string_view name;  // all that is before the value; empty: the file has the name
  double value = 0;
  bool is_energy = false;
  double unix_s = 0;
};

// The last word of the text, which becomes shorter.
std::string_view take_word(std::string_view& text) {
  text = strip(text);
  const std::size_t blank = text.find_last_of(" \t");
  const std::string_view word = blank == text.npos ? text : text.substr(blank + 1);
  text = blank == text.npos ? std::string_view() : strip(text.substr(0, blank));
  return word;
}

std::optional<CounterLine> read_counter_line(std::string_view line) {
  if (take_word(line) != "us") return std::nullopt;
  const auto micros = sensor_number(take_word(line));
  const std::string_view unit = take_word(line);
  if (!micros || *micros / 1e6 < kFirstAbsoluteUnixS || (unit != "J" && unit != "W")) {
    return std::nullopt;
  }
  const std::size_t value = line.find_last_not_of("0123456789.") + 1;  // 0 if there is no name
  const auto number = sensor_number(line.substr(value));
  if (!number) return std::nullopt;
  std::string_view name = strip(line.substr(0, value));
  if (name.ends_with(':')) name.remove_suffix(1);
  return CounterLine{strip(name), *number, unit == "J", *micros / 1e6};
}

// "energy", also of "/sys/cray/pm_counters/energy". What stands before another path may be a host
// or a step of the script, and stays: two counters must not become one.
std::string_view counter_name(std::string_view name) {
  constexpr std::string_view kFolder = "/sys/cray/pm_counters/";
  if (name.starts_with(kFolder)) name.remove_prefix(kFolder.size());
  return name;
}

std::string scope_of_counter(std::string_view name) {
  static constexpr Pattern node = "energy|power";
  static constexpr Pattern module = "accel[0-9]*_(energy|power)";
  static constexpr Pattern cpu = "cpu[0-9]*_(energy|power)";
  static constexpr Pattern memory = "memory[0-9]*_(energy|power)";
  if (node.matches(name)) return "node";
  if (module.matches(name)) return "module";
  if (cpu.matches(name)) return "cpu";
  return memory.matches(name) ? "memory" : "unknown";
}

bool fits_counters(std::string_view head) {
  bool fits = false;
  for_each_witness_line(head, [&](std::string_view line, std::size_t) {
    fits = fits || read_counter_line(line).has_value();
  });
  return fits;
}

void read_counters(const WitnessText& file, NodeWitnesses& found) {
  for_each_witness_line(file.text, [&](std::string_view line, std::size_t) {
    const auto counter = read_counter_line(line);
    if (!counter) return;
    const std::string name =
        counter->name.empty() ? plain_stem(file.path) : std::string(counter_name(counter->name));
    if (name.ends_with("_cap")) return;
    const auto kind = counter->is_energy ? NodeWitness::Kind::counter : NodeWitness::Kind::power;
    NodeWitness& witness = witness_named(found, name, kind);
    witness.source = "pm_counters";
    witness.scope = scope_of_counter(name);
    witness.readings.push_back({counter->unix_s, counter->value});
  });
}

}  // namespace

const WitnessForm kPmCountersForm = {fits_counters, read_counters};

}  // namespace aggregate_power
