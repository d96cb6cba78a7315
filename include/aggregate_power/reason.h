// Why a measurement cannot be trusted: each code, and what to do about it.
//
// The codes are an interface: scripts and dashboards read them. Those up to
// `power_window_unwritable`, except those of our own and the two for several hosts, are the
// original's (contract.md B.2, B.3, B.6, C.3, D, F.4).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

enum class Reason {
#define REASON(name, ...) name,
#include "aggregate_power/reason_rows.h"
#undef REASON
};

// What prevented the work, if that has a remedy of its own. The first three concern writing a file;
// the fourth concerns finding one, when only some folders were searched; the last a window, when
// the recorder ran the load's command.
enum class Obstacle { none, full_disk, read_only, denied, not_searched, recorded_command };
Obstacle obstacle_of(int errno_value);  // of a system call

std::string_view code(Reason reason);  // "stuck_sensor"
// One sentence for people: lower case, no full stop.
std::string_view remedy(Reason reason, Obstacle obstacle = Obstacle::none);
// The same for a load generator's result, whose keys are not those that remedy() names. An empty
// `generator` means a result laid out as InferenceX's.
std::string_view remedy_for(std::string_view generator, Reason reason, Obstacle obstacle);
// What happened, for the help pages: half a sentence, with code in backticks.
std::string_view meaning(Reason reason);
// What usually leads to it: half a sentence.
std::string_view causes(Reason reason);
// Which runs a reason applies to, in the order of the help page.
enum class ReasonGroup { run, nodes, cpu, agents, agent_nodes, header, store };
ReasonGroup group(Reason reason);
std::span<const Reason> all_reasons();
std::optional<Reason> reason_of(std::string_view code);
// Whether --accept may publish in spite of it: a judgement of ours on a run that could be measured.
bool is_acceptable(Reason reason);
// From a list of codes as --accept has it: "stuck_sensor,same_sensor". Throws Error for a code that
// is unknown or not acceptable.
std::vector<Reason> parse_accepted(std::string_view codes);

// A list of reasons without duplicates, in the order of discovery.
class Reasons {
 public:
  // `detail` is what was found, for people: "GPU 3: 4.2 s, at most 3 s". The first one is kept.
  void add(Reason reason, std::string detail = {}, Obstacle obstacle = Obstacle::none);
  void add(const Reasons& others);
  // Adds a detail to a reason that was added without one.
  void explain(Reason reason, std::string detail);

  void remove(Reason reason);
  // Moves the given reasons, where they are here, to `accepted`.
  void accept(std::span<const Reason> reasons, Reasons& accepted);

  bool empty() const { return entries_.empty(); }
  bool contains(Reason reason) const;
  std::vector<std::string> codes() const;
  // "stuck_sensor (GPU 3), gpu_identity_missing"
  std::string text() const;

  struct Entry {
    Reason reason;
    std::string detail;
    Obstacle obstacle = Obstacle::none;
  };
  std::span<const Entry> entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace aggregate_power
