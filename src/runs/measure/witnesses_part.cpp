// Reads the witnesses of a run, and names them apart.
#include "runs/measure/witnesses_part.h"

#include <map>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/characters.h"
#include "recorders/node_sensors.h"
#include "runs/evaluate/repeated_recordings.h"

namespace aggregate_power {
namespace {

// In the window of a valid run, if its method integrates.
std::optional<double> energy_of_gpus(const Result& result) {
  if (!result.is_valid() || result.gpus.empty()) return std::nullopt;
  double energy_j = 0;
  for (const GpuResult& gpu : result.gpus) energy_j += gpu.energy.energy_j;
  return energy_j;
}

}  // namespace

Witnesses::Witnesses(const std::vector<std::string>& paths, const std::optional<Zone>& zone) {
  refuse_repeated_recordings(paths);
  for (const std::string& path : paths) {
    NodeWitnesses found = read_node_witnesses(path, zone);
    for (NodeWitness& witness : found.witnesses) {
      facts_.push_back({witness.name,
                        witness.source,
                        witness.scope,
                        printable_path(path),
                        witness.includes_gpus() && !found.has_several_hosts,
                        {}});
      if (witness.kind == NodeWitness::Kind::total) {
        facts_.back().own_span = {witness.span, witness.total_j, {}, {}};
      }
      witnesses_.push_back(std::move(witness));
      meters_.emplace_back(witnesses_.back());
    }
    for (std::string& warning : found.warnings) warnings_.push_back(std::move(warning));
  }
  tell_apart([](const WitnessFacts& facts) { return plain_stem(facts.file); });
  tell_apart([](const WitnessFacts& facts) { return facts.file; });
}

// Puts something before names that several witnesses have.
void Witnesses::tell_apart(std::string (*before)(const WitnessFacts&)) {
  std::map<std::string, std::size_t> uses;
  for (const WitnessFacts& facts : facts_) ++uses[facts.name];
  for (WitnessFacts& facts : facts_) {
    if (uses[facts.name] > 1) facts.name = fmt::format("{}:{}", before(facts), facts.name);
  }
}

std::vector<WitnessEnergy> Witnesses::measure(Window window) const {
  std::vector<WitnessEnergy> seen;
  seen.reserve(meters_.size());
  for (const WitnessMeter& meter : meters_) seen.push_back(meter.measure(window));
  return seen;
}

void Witnesses::compare_totals(const std::function<WitnessEnergy(Window)>& gpus) {
  for (WitnessFacts& facts : facts_) {
    if (!facts.own_span) continue;
    WitnessEnergy used = gpus(facts.own_span->span);
    if (used.fault.empty()) facts.own_span->gpu_energy_j = used.energy_j;
    facts.own_span->gpu_fault = std::move(used.fault);
  }
}

void WitnessDoubts::look_at(std::string_view window, const WitnessView& view) {
  const std::string doubt = is_one_node_ ? view.doubt() : std::string();
  if (doubt.empty() || count_++ > 0) return;
  first_ = fmt::format("{}: {}", printable(window), doubt);
}

void WitnessDoubts::tell(std::vector<std::string>& notes) const {
  if (count_ == 0) return;
  const std::string others = count_ > 1 ? fmt::format(" ({} more like this)", count_ - 1) : "";
  notes.push_back(fmt::format("warning: {}{}", first_, others));
}

void add_witnesses(const RunOptions& request, Result& result) {
  if (request.witnesses.empty() || !result.load) return;
  const Window window = result.load->window;
  const std::optional<double> gpu_energy_j = energy_of_gpus(result);
  std::vector<std::string> gpus;
  for (const GpuResult& gpu : result.gpus) gpus.push_back(gpu.name);
  const bool is_one_node = are_of_one_node(gpus, 1);
  const bool names_hosts = result.telemetry && result.telemetry->series.names_hosts;
  try {
    const Witnesses witnesses(request.witnesses, request.zone);
    const std::vector<WitnessEnergy> seen = witnesses.measure(window);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const WitnessView view{witnesses.facts()[i], seen[i], window.duration_s(), gpu_energy_j};
      const std::string doubt = names_hosts ? std::string() : view.doubt();
      if (!doubt.empty()) result.warnings.push_back(doubt);
      result.witnesses.push_back(
          {witnesses.facts()[i], seen[i], is_one_node ? view.gpu_ratio() : std::nullopt});
    }
    result.warnings.insert(result.warnings.end(), witnesses.warnings().begin(),
                           witnesses.warnings().end());
  } catch (const std::runtime_error& error) {
    result.warnings.push_back(fmt::format("--witness: {}", error.what()));
    for (const std::string& path : request.witnesses) {
      const std::string file = printable_path(path);
      result.witnesses.push_back({{.name = file, .file = file}, {error.what()}});
    }
  }
}

}  // namespace aggregate_power
