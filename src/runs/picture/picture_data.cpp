// Writes what a picture draws as CSV and JSON.
#include <fmt/format.h>

#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "base/text/csv.h"
#include "base/text/characters.h"
#include "runs/picture/picture.h"

namespace aggregate_power {
namespace {

// The series of a panel as lines; a range is two.
std::vector<std::pair<std::string, std::vector<Polyline>>> drawn_lines(const Panel& panel) {
  std::vector<std::pair<std::string, std::vector<Polyline>>> drawn;
  for (const Series& series : panel.series) {
    if (!series.lines.empty()) drawn.emplace_back(series.label, series.lines);
    if (series.ribbons.empty()) continue;
    std::vector<Polyline> lows;
    std::vector<Polyline> highs;
    for (const Ribbon& ribbon : series.ribbons) {
      lows.emplace_back();
      highs.emplace_back();
      for (const RangeAt& at : ribbon) {
        lows.back().push_back({at.x, at.low});
        highs.back().push_back({at.x, at.high});
      }
    }
    drawn.emplace_back("lowest", std::move(lows));
    drawn.emplace_back("highest", std::move(highs));
  }
  return drawn;
}

Json lines_json(const Chart& chart) {
  Json all = Json::array();
  for (const Panel& panel : chart.panels) {
    for (const auto& [name, lines] : drawn_lines(panel)) {
      Json points = Json::array();
      for (const Polyline& line : lines) {
        points.push_back(list_of(line, [&](const Point& point) -> Json {
          return Json::array({point.x, point.y});
        }));
      }
      all.push_back({{"name", name}, {"lines", std::move(points)}});
    }
  }
  return all;
}

std::string_view kind_name(Stretch::Kind kind) {
  if (kind == Stretch::Kind::window) return "window";
  return kind == Stretch::Kind::gap ? "gap" : "invalid";
}

}  // namespace

std::string picture_csv(const Chart& chart) {
  std::string text = "series,line,time_s,power_w\n";
  for (const Panel& panel : chart.panels) {
    for (const auto& [name, lines] : drawn_lines(panel)) {
      for (std::size_t i = 0; i < lines.size(); ++i) {
        for (const Point& point : lines[i]) {
          text += fmt::format("{},{},{:.6f},{}\n", spreadsheet_cell(name), i + 1, point.x, point.y);
        }
      }
    }
  }
  return text;
}

std::string picture_json(const PowerPicture& picture, const Chart& chart) {
  Json json = {{"schema", "aggregate-power/plot-1"}, {"title", chart.title}};
  json["telemetry"] = list_of(picture.recordings, [&](const PicturedRecording& each) -> Json {
    return printable_path(each.path);
  });
  json["benchmark_result"] = text_or_null(printable_path(picture.result));
  json["start_unix"] = picture.start_unix_s();
  json["valid"] = picture.is_valid();
  json["reasons"] = picture.reasons.codes();
  json["details"] = picture.reasons.text();
  json["window"] = nullptr;
  if (picture.window) {
    json["window"] = {{"start_unix", picture.window->start_unix_s},
                      {"end_unix", picture.window->end_unix_s},
                      {"class", picture.window_class}};
  }
  json["total_gpu_energy_j"] = picture.total_j ? Json(*picture.total_j) : Json();
  JsonObject energies;
  for (const auto& [key, joules] : picture.energies_j) {
    energies.set(gpu_label(picture, key.first, key.second), number_or_null(joules));
  }
  json["per_gpu_energy_j"] = std::move(energies).take();
  Json levels = Json::array();
  for (const Panel& panel : chart.panels) {
    for (const Level& level : panel.levels) {
      levels.push_back({{"panel", panel.y.title}, {"name", level.label}, {"power_w", level.y}});
    }
  }
  json["levels"] = std::move(levels);
  json["stretches"] = list_of(chart.stretches, [&](const Stretch& each) -> Json {
    return {{"kind", kind_name(each.kind)}, {"from_s", each.from}, {"to_s", each.to}};
  });
  json["caption"] = chart.caption;
  json["series"] = lines_json(chart);
  return line_text(json) + "\n";
}

}  // namespace aggregate_power
