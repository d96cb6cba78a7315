// Reads the power of a node as `ipmitool dcmi power reading` prints it, appended again and again.
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/pattern.h"
#include "base/text/characters.h"
#include "base/text/written_time.h"
#include "core/telemetry/time_line.h"
#include "recorders/witness_form.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kDcmiPower = "Instantaneous power reading";

std::string_view take_first_word(std::string_view& text) {
  text = strip(text);
  const std::size_t blank = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, blank);
  text = strip(text.substr(blank));
  return word;
}

// The time of the management controller, as versions of ipmitool write it: the form of ctime,
// "03/06/2025 07:40:35 UTC", "2024-05-05 13:06:44 UTC".
std::string iso_of_dcmi(std::string_view text) {
  static constexpr Pattern american = "\\d\\d/\\d\\d/\\d{4} \\d\\d:\\d\\d:\\d\\d";
  static constexpr Pattern iso = "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d";
  std::string_view clock = text;
  const bool is_utc = clock.ends_with(" UTC") || clock.ends_with(" GMT");
  if (is_utc) clock.remove_suffix(4);
  const char* const offset = is_utc ? "+00:00" : "";
  if (std::string iso_time = iso_of_ctime(clock); !iso_time.empty()) return iso_time + offset;
  if (iso.matches(clock)) return fmt::format("{}{}", clock, offset);
  if (!american.matches(clock)) return {};
  return fmt::format("{}-{}-{}{}{}", clock.substr(6, 4), clock.substr(0, 2), clock.substr(3, 2),
                     clock.substr(10), offset);
}

class DcmiReader {
 public:
  DcmiReader(const WitnessText& file, NodeWitnesses& found) : times_(file), found_(found) {}

  void take(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (const std::string_view time = time_of_line(line); !time.empty()) {
      finish();
      line_unix_s_ = times_.unix_s(time);
    } else if (line.starts_with(kDcmiPower) && colon != line.npos) {
      finish();
      std::string_view value = line.substr(colon + 1);
      const std::string_view number = take_first_word(value);
      if (value == "Watts") watts_ = sensor_number(number);
    } else if (line.starts_with("IPMI timestamp") && colon != line.npos) {
      clock_ = iso_of_dcmi(strip(line.substr(colon + 1)));
    } else if (line.starts_with("Power reading state") && line.ends_with("deactivated")) {
      watts_.reset();
    }
  }

  // The time that a script wrote before a reading goes before the clock of the management
  // controller.
  void finish() {
    if (watts_) {
      const auto unix_s = line_unix_s_ ? line_unix_s_ : times_.unix_s(clock_);
      if (unix_s) {
        NodeWitness& witness = witness_named(found_, "DCMI", NodeWitness::Kind::power);
        witness.source = "ipmi-dcmi";
        witness.scope = "node";
        witness.readings.push_back({*unix_s, *watts_});
      } else {
        ++without_time_;
      }
    }
    if (watts_) line_unix_s_.reset();
    watts_.reset();
    clock_.clear();
  }
  std::size_t without_time() const { return without_time_; }

 private:
  WitnessTimes times_;
  NodeWitnesses& found_;
  std::optional<double> line_unix_s_;
  std::optional<double> watts_;
  std::string clock_;
  std::size_t without_time_ = 0;
};

bool fits_dcmi(std::string_view head) { return head.find(kDcmiPower) != head.npos; }

void read_dcmi(const WitnessText& file, NodeWitnesses& found) {
  DcmiReader reader(file, found);
  for_each_witness_line(file.text, [&](std::string_view line, std::size_t) { reader.take(line); });
  reader.finish();
  if (reader.without_time() == 0) return;
  found.warnings.push_back(fmt::format(
      "{}: {} readings have no time that can be read: write a line with the time before each, as from date '+# %s'",
      printable_path(file.path), reader.without_time()));
}

}  // namespace

const WitnessForm kDcmiForm = {fits_dcmi, read_dcmi};

}  // namespace aggregate_power
