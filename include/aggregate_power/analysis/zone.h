// In which UTC offset the naive stamps of a recording were written: by evidence, or not at all.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/analysis/edges.h"
#include "aggregate_power/base/time.h"
#include "aggregate_power/inputs/trace.h"

namespace aggregate_power {

struct ZoneCandidate {
  struct Step {
    std::int32_t offset_before_s;
    std::int64_t unix_s;
    std::int32_t offset_after_s;
  };

  std::int32_t offset_s = 0;  // at the window's start
  std::optional<Step> step;   // where the recording's clock was turned, if it matters
  double edge_w = 0;  // the lower of two: power's rise at the window's start, its fall at the end

  Zone zone() const;  // to read the whole recording with
};

struct ZoneFinding {
  std::optional<ZoneCandidate> winner = {};
  // All in which the recording covers the window, the winner too; the highest edge comes first.
  std::vector<ZoneCandidate> left = {};
  // By what part of its edge the winner is ahead of the next: 1 when no other offset shows any.
  double margin = 0;
  std::string why_none = {};  // for people; empty with a winner
  bool none_covers = false;   // the recording does not cover the window in any offset
};

// Looks among all offsets in use, the quarter hours from -12:00 to +14:00, for the one in which the
// recording covers the window, power rises at the window's start and falls at its end. In doubt
// there is none: edges that the recording shows too often, a second offset that fits or nearly
// fits, a window in an hour that the stamps show twice.
class ZoneEvidence {
 public:
  explicit ZoneEvidence(Window window);

  // Readings in the file's order. Their unix_s were read as if `assumed_offset_s` were the zone.
  void take(std::span<const Reading> readings, std::int32_t assumed_offset_s);
  ZoneFinding finding() const;

  static constexpr double kShortest_s = 12;
  static constexpr double kLongest_s = 3 * 86400;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Clock {                                               // of one device
    double wall_s = std::numeric_limits<double>::quiet_NaN();  // its last stamp
    double turned_back_s = 0;
  };
  struct Step {  // of the wall's time; at_s is what the clock showed before the step
    double at_s;
    double forward_s;  // negative: an hour is shown twice
    bool operator==(const Step&) const = default;
  };
  struct Placed;
  void notice_jump(Clock& clock, double wall_s);
  std::vector<Placed> covering() const;
  std::string doubt_about(const Placed& placed) const;
  static std::string rivals_of(const Placed& best, const std::vector<Placed>& placed);
  bool is_common(const Placed& best, bool is_only_one, const Edges& edges) const;
  ZoneFinding judge(const std::vector<Placed>& placed, const Edges& edges) const;

  Window window_;
  std::string refusal_;  // of the window itself
  // By the wall's time; where it was turned back by a step, it goes on as if it was not.
  CurveGatherer curve_;
  double first_s_ = kInfinity;
  double last_s_ = -kInfinity;
  std::vector<Clock> clocks_;
  std::optional<Step> step_;
  bool more_steps_ = false;
  Window shown_twice_{kInfinity, -kInfinity};  // on the curve's clock
};

}  // namespace aggregate_power
