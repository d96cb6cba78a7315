// Lays out the sensors as a table, and as JSON.
#include "runs/inspect/inspect_parts.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/report/document.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;

std::optional<double> mean_w(const SensorEnergy& sensor) {
  if (!(sensor.duration_s > 0)) return std::nullopt;
  return sensor.total_j / sensor.duration_s;
}

}  // namespace

std::string sensors_text(const std::vector<SensorEnergy>& sensors,
                         const std::vector<SensorSum>& sums) {
  if (sensors.empty()) return {};
  const TextTable energies(
      "[sensor <13][energy J >13.3f][held back J >13.3f][kWh >11.6f][seconds >10.3f][mean W >9.2f][max W >9.2f]");
  const TextTable by_segment("[sensor <12] [J by segment >13.3f]");
  std::string text = "\n" + energies.head();
  std::string segments = "\n" + by_segment.head();
  for (const SensorEnergy& sensor : sensors) {
    const std::string name = printable(sensor.name);
    energies.add({name, sensor.total_j, sensor.held_back_j, sensor.total_j / kJoulesPerKwh,
                  sensor.duration_s, mean_w(sensor), sensor.max_w},
                 text);
    std::vector<TextCell> cells = {name};
    cells.insert(cells.end(), sensor.segments_j.begin(), sensor.segments_j.end());
    by_segment.add(cells, segments);
  }
  if (sensors[0].segments_j.size() > 1) text += segments;
  if (sensors[0].segments_j.empty()) text += "\ntoo many segments to show the energy of each\n";
  text += "\n";
  for (const SensorSum& sum : sums) {
    text += fact("sum", fmt::format("{}: {} ({})", one_line(sum.text),
                                    sum.holds ? "holds" : "does not hold", one_line(sum.detail)));
  }
  return text;
}

Json sensors_json(const std::vector<SensorEnergy>& sensors, const std::vector<SensorSum>& sums) {
  Json energies = Json::array();
  for (const SensorEnergy& sensor : sensors) {
    const std::optional<double> mean = mean_w(sensor);
    energies.push_back({{"name", sensor.name},
                        {"energy_j", sensor.total_j},
                        {"segments_j", sensor.segments_j},
                        {"held_back_j", sensor.held_back_j},
                        {"energy_kwh", sensor.total_j / kJoulesPerKwh},
                        {"first_unix", sensor.first_unix_s},
                        {"last_unix", sensor.last_unix_s},
                        {"duration_s", sensor.duration_s},
                        {"mean_w", mean ? Json(*mean) : Json()},
                        {"max_w", sensor.max_w}});
  }
  return {{"energies", std::move(energies)},
          {"sums", list_of(sums, [&](const SensorSum& sum) -> Json {
             return {{"sum", sum.text}, {"holds", sum.holds}, {"detail", sum.detail}};
           })}};
}

}  // namespace aggregate_power
