// Tells the two passes of an hour that a local clock shows twice apart, by the order of the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/time_zone.h"

namespace aggregate_power {

// An hour of a recording whose rows may be of either pass.
struct AmbiguousHour {
  Window window;     // of both passes
  std::string text;  // for people
};

// Rows of a device in that hour are of the first pass until their time goes back, and of the second
// one from then on. Where it never goes back and an hour is missing after them, they may be of
// either: the recording began in the second pass, or its rows were sorted by what they show.
// Otherwise they are of the first, as in Python.
class RepeatedHours {
 public:
  explicit RepeatedHours(Zone zone);

  // Whether the next readings, in the file's order, have to be sorted out.
  bool concern(std::span<const Reading> readings) const;
  // Moves readings of a second pass to their time. Their unix_s are as Zone::unix_from_local()
  // says.
  void sort_out(std::span<Reading> readings);
  // Those whose rows cannot be told apart, after the last reading.
  std::vector<AmbiguousHour> ambiguous() const;

 private:
  // The rows of one device around the hour.
  struct Device {
    std::optional<double> last_unix_s;
    bool is_inside = false;      // it has rows in the hour
    std::uint64_t falls = 0;     // how often the time went back there
    bool lacks_an_hour = false;  // after rows that did not go back
    bool is_disordered = false;

    bool is_ambiguous() const;
  };
  struct Hour {
    RepeatedHour hour;
    std::vector<Device> devices;  // by Reading::device + 1; 0 is no device
  };

  void look_near(double unix_s);
  Device& device_of(const Reading& reading);
  void sort_out(Reading& reading);
  std::string text_of(const Hour& hour) const;

  Zone zone_;
  std::vector<Hour> hours_;  // as they are met
  Window near_ = kNever;     // the day that was looked at last
  std::size_t here_ = 0;     // its hour, or hours_.size()
};

}  // namespace aggregate_power
