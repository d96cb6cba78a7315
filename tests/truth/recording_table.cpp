// Writes recordings, measures them as the command does, compares.
#include "truth/recording_table.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/text/json_value.h"
#include "runs/measure/measure.h"
#include "truth/truth_table.h"

namespace truth {
namespace {

using aggregate_power::JsonValue;

constexpr double kMostOff = 0.05;

JsonValue measured(const RecordedRun& run, const std::vector<std::string>& files) {
  aggregate_power::RunSpec spec;
  spec.telemetry = files;
  spec.zone = aggregate_power::Zone::fixed(0);
  spec.given = {.start_unix_s = run.window.start_unix_s,
                .end_unix_s = run.window.end_unix_s,
                .output_tokens = 3000};
  if (run.expected) spec.expected_num_gpus = *run.expected;
  spec.max_sample_gap_s = run.max_sample_gap_s;
  spec.json = true;
  const JsonValue report = aggregate_power::parse_json(aggregate_power::measure_run(spec).out);
  return report.at("runs").items.at(0);
}

void count_run(const RecordedRun& run, const JsonValue& published, std::uint64_t seed,
               RecordingFigures& figures) {
  ++figures.runs;
  for (const JsonValue& reason : published.at("reasons").items) ++figures.reasons[reason.text];
  if (!published.at("valid").is_true()) {
    ++figures.refused;
    if (figures.is_good) figures.seeds.push_back(seed);
    return;
  }
  const double off = std::abs(published.at("total_gpu_energy_j").as_double() / run.true_j - 1);
  const bool is_warned = !published.at("warnings").items.empty();
  ++(is_warned ? figures.warned : off > kMostOff ? figures.wrong : figures.harmless);
  if (!is_warned && off > kMostOff) figures.seeds.push_back(seed);
}

}  // namespace

std::vector<std::string> write_recordings(const RecordedRun& run, const std::string& folder) {
  std::vector<std::string> paths;
  for (const std::vector<RecordedGpu>& gpus : run.files) {
    paths.push_back(fmt::format("{}/{}.csv", folder, paths.size()));
    std::ofstream(paths.back()) << as_recording(run, gpus);
  }
  return paths;
}

std::vector<RecordingFigures> make_recording_table(std::size_t runs, std::uint64_t first_seed,
                                                   const std::string& filter) {
  std::string folder = std::filesystem::temp_directory_path() / "recordings.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot create " + folder);
  std::vector<RecordingFigures> table;
  const std::vector<RecordingClass> classes = recording_classes();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].name.find(filter) == std::string::npos) continue;
    RecordingFigures& figures = table.emplace_back();
    figures.is_good = classes[c].is_good;
    figures.name = classes[c].name;
    figures.hidden_share = classes[c].hidden_share;
    for (std::size_t i = 0; i < runs; ++i) {
      const std::uint64_t seed = seed_of(first_seed, c, i);
      Random random(seed);
      const RecordedRun run = classes[c].make(random);
      count_run(run, measured(run, write_recordings(run, folder)), seed, figures);
    }
  }
  std::filesystem::remove_all(folder);
  return table;
}

std::string as_text(const std::vector<RecordingFigures>& table) {
  std::string text = fmt::format("{:34}{:>6}{:>9}{:>8}{:>10}{:>7}{:>15}\n", "", "runs", "refused",
                                 "warned", "harmless", "wrong", "false refusals");
  for (const RecordingFigures& row : table) {
    text += fmt::format("{:5}{:34}{:6}{:9}{:8}{:10}{:7}{:>10}", row.is_good ? "good" : "fault",
                        row.name, row.runs, row.refused, row.warned, row.harmless, row.wrong,
                        row.is_good ? std::to_string(row.refused) : "-");
    for (const auto& [code, count] : row.reasons) text += fmt::format("  {} {}", code, count);
    text += '\n';
  }
  return text;
}

}  // namespace truth
