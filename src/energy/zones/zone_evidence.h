// Finds the UTC offset of a recording's naive stamps from the recording itself.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/time_zone.h"
#include "energy/zones/load_edges.h"

namespace aggregate_power {

struct ZoneCandidate {
  struct Step {
    std::int32_t offset_before_s;
    std::int64_t unix_s;
    std::int32_t offset_after_s;
    bool operator==(const Step&) const = default;
  };
  enum class Standing {
    excluded,  // an end of the window is in idle time
    possible,  // the window may be the load's: power is up at both ends, or unknown there
    fits,      // the load's edges match the window's edges
  };

  std::int32_t offset_s = 0;  // at the window's start
  std::optional<Step> step;   // when the recording's clock changed, if it matters
  bool covers = false;        // the recording covers the whole window
  Standing standing = Standing::excluded;
  double edge_w = 0;  // the lower of two: the rise at the window's start, the fall at its end
  // How far the middles of the power's rise and fall are from the window's ends, the farther one.
  double edges_off_s = 0;
  double last_unix_s = 0;  // the recording's last reading
  // Mean power per GPU beside the window, on the lower side, and inside it.
  double idle_w = 0;
  double load_w = 0;
  std::string doubt = {};  // why the recording's clock cannot be trusted there; empty: it can

  Zone zone() const;  // for reading the whole recording
  // Whether a clock of this history has the candidate's offset during the window.
  bool is_of(const ClockHistory& history, Window window) const;
};

struct ZoneFinding {
  // All offsets that some zone uses at that time and under which recording and window overlap:
  // first those that cover the window; among these, the ones with the highest edges come first.
  std::vector<ZoneCandidate> candidates = {};
  // The only one that is not excluded, if the load's edges fit it.
  std::optional<ZoneCandidate> by_edges = {};
  std::string why_no_edges = {};  // for people; empty if by_edges is set
  bool none_covers = false;       // the recording covers the window under no candidate
  // The recording shows a load as long as the window, but no zone's clock has the window there.
  bool has_load_elsewhere = false;
  bool is_flat = false;  // the recording shows no edge at all
  // The window's own local times were read in a zone that nothing states: edges show how far both
  // clocks are apart, and no zone.
  bool is_relative = false;
  double edges_within_s = 1;  // of edges_off_s, differences up to this say nothing
  // The last time that the recording's clock showed, as if it were UTC; if it was turned back, the
  // time that it would have shown otherwise.
  double last_shown_s = 0;
};

// Looks among the offsets that zones use at the window's time for the one in which the recording
// covers the window, power rises at the window's start and falls at its end. It must be the only
// one left: an offset under which the window is entirely under load, or in a hole of the recording,
// or reaches beyond it, is a rival. So is one whose load is weaker. That the recording belongs to
// another run altogether is never excluded here.
class ZoneEvidence {
 public:
  explicit ZoneEvidence(Window window);

  // Readings in the file's order. Their unix_s were computed with `assumed_offset_s` as the zone.
  void take(std::span<const Reading> readings, std::int32_t assumed_offset_s);
  ZoneFinding finding() const;

  static constexpr double kShortest_s = 12;
  static constexpr double kLongest_s = 3 * 86400;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Clock {                                               // the clock of one device
    double wall_s = std::numeric_limits<double>::quiet_NaN();  // its last stamp
    double turned_back_s = 0;
  };
  struct Step {  // in wall time; at_s is what the clock showed before the step
    double at_s;
    double forward_s;  // negative: an hour is shown twice
    bool operator==(const Step&) const = default;
  };
  struct Placed;
  void notice_jump(Clock& clock, double wall_s);
  std::vector<Placed> placed() const;
  double last_unix_s(const ZoneCandidate& candidate) const;
  std::string doubt_about(const Placed& placed) const;
  static std::string rivals_of(const Placed& best, const std::vector<Placed>& placed);
  bool is_common(const Placed& best, const std::vector<Placed>& placed, const Edges& edges) const;
  std::string why_not(const Placed* best, const std::vector<Placed>& placed,
                      const Edges& edges) const;

  Window window_;
  std::string refusal_;  // why the window itself is unusable
  // In wall time; after a step back it continues as if there had been none.
  CurveGatherer curve_;
  double first_s_ = kInfinity;
  double last_s_ = -kInfinity;
  std::vector<Clock> clocks_;
  std::optional<Step> step_;
  bool more_steps_ = false;
  Window shown_twice_{kInfinity, -kInfinity};  // on the curve's clock
};

}  // namespace aggregate_power
