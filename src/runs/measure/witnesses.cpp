// Lays out witnesses.
#include "runs/measure/witnesses.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "recorders/node_sensors.h"
#include "runs/evaluate/explain.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kWitnessColumns = 20;

std::optional<double> ratio_of(double energy_j, std::optional<double> gpu_energy_j) {
  if (!gpu_energy_j || !(energy_j > 0)) return std::nullopt;
  return *gpu_energy_j / energy_j;
}

}  // namespace

bool are_of_one_node(const std::vector<std::string>& gpus, std::size_t recordings) {
  std::set<std::string> hosts;
  for (const std::string& gpu : gpus) {
    const std::size_t slash = gpu.rfind('/');
    hosts.insert(slash == gpu.npos ? std::string() : gpu.substr(0, slash));
  }
  return hosts.size() == 1 && (recordings == 1 || !hosts.begin()->empty());
}

std::optional<double> WitnessView::gpu_ratio() const {
  if (!facts.includes_gpus || !seen.fault.empty()) return std::nullopt;
  return ratio_of(seen.energy_j, gpu_energy_j);
}

std::string WitnessView::doubt() const {
  if (const auto ratio = gpu_ratio(); !ratio || *ratio <= 1) return {};
  return fmt::format(
      "the GPUs' {:.1f} J are more than the {:.1f} J of {}, which should include them: the unit, the clock or what it measures is not as assumed",
      *gpu_energy_j, seen.energy_j, printable(facts.name));
}

Json witness_json(const WitnessView& view) {
  const bool is_known = view.seen.fault.empty();
  const bool has_mean = is_known && view.duration_s > 0;
  return {{"witness", view.facts.name},
          {"energy_j", is_known ? Json(view.seen.energy_j) : Json()},
          {"mean_power_w", has_mean ? Json(view.seen.energy_j / view.duration_s) : Json()},
          {"gpu_ratio", or_null(view.gpu_ratio())},
          {"reason", text_or_null(view.seen.fault)}};
}

Json witnesses_json(const std::vector<WitnessFacts>& facts, bool is_one_node) {
  return list_of(facts, [&](const WitnessFacts& witness) {
    Json json = {{"witness", witness.name},
                 {"source", witness.source},
                 {"scope", witness.scope},
                 {"file", witness.file}};
    if (const auto& own = witness.own_span) {
      const auto ratio = ratio_of(own->energy_j, own->gpu_energy_j);
      json["start_unix_s"] = own->span.start_unix_s;
      json["end_unix_s"] = own->span.end_unix_s;
      json["energy_j"] = own->energy_j;
      json["gpu_energy_j"] = or_null(own->gpu_energy_j);
      json["gpu_ratio"] = is_one_node ? or_null(ratio) : Json();
      json["reason"] = own->gpu_energy_j ? Json() : Json(own->gpu_fault);
    }
    return json;
  });
}

WitnessBlock::WitnessBlock(const std::vector<WitnessFacts>& facts, bool is_one_node,
                           std::size_t name_columns)
    : facts_(facts), is_one_node_(is_one_node) {
  shown_names_ = shortened_apart(mapped<std::string>(facts, &WitnessFacts::name), kWitnessColumns);
  const std::size_t witness_columns = largest_of<std::size_t>(
      kWitnessColumns, shown_names_, [](const std::string& name) { return name.size(); });
  table_.emplace(fmt::format(
      "[window <{}] [witness <{}] [scope <7] [joules >12.3f] [mean W >9.2f] [GPUs % >7.1f]",
      name_columns, witness_columns));
}

void WitnessBlock::add_row(std::string_view name, std::size_t witness, const WitnessView& view,
                           std::string& text) const {
  std::vector<TextCell> cells = {name, shown_names_[witness], view.facts.scope};
  if (!view.seen.fault.empty()) {
    cells.emplace_back("not known: " + view.seen.fault);
  } else {
    cells.emplace_back(view.seen.energy_j);
    if (view.duration_s > 0) cells.emplace_back(view.seen.energy_j / view.duration_s);
    if (const auto ratio = view.gpu_ratio(); ratio && is_one_node_) {
      cells.emplace_back(100 * *ratio);
    }
  }
  table_->add(cells, text);
}

void WitnessBlock::add(std::string_view name, double duration_s, std::optional<double> gpu_energy_j,
                       const std::vector<WitnessEnergy>& seen) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (facts_[i].own_span && !seen[i].fault.empty()) continue;
    add_row(name, i, {facts_[i], seen[i], duration_s, gpu_energy_j}, rows_);
    name = {};
  }
}

std::string WitnessBlock::text() const {
  if (facts_.empty()) return {};
  std::string text = "\nwitnesses, never summed with the GPUs\n" + table_->head() + rows_;
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    const auto& own = facts_[i].own_span;
    if (!own) continue;
    add_row("(span)", i,
            {facts_[i], {{}, own->energy_j}, own->span.duration_s(), own->gpu_energy_j}, text);
    fmt::format_to(
        std::back_inserter(text), "(from {}\n to {}{}{})\n", unix_and_iso(own->span.start_unix_s),
        unix_and_iso(own->span.end_unix_s),
        own->gpu_energy_j ? "" : ";\n the GPUs were not measured there: ", own->gpu_fault);
  }
  return text;
}

// ---- Reads the witnesses of a run, and names them apart.

namespace {

// In the window of a valid run, if its method integrates.
std::optional<double> energy_of_gpus(const Result& result) {
  if (!result.is_valid() || result.gpus.empty()) return std::nullopt;
  double energy_j = 0;
  for (const GpuResult& gpu : result.gpus) energy_j += gpu.energy.energy_j;
  return energy_j;
}

}  // namespace

Witnesses::Witnesses(const std::vector<std::string>& paths, const std::optional<Zone>& zone,
                     std::map<std::string, std::string>* faults) {
  refuse_repeated_recordings(paths);
  for (const std::string& path : paths) {
    NodeWitnesses found;
    try {
      found = read_node_witnesses(path, zone);
    } catch (const std::runtime_error& error) {
      if (faults == nullptr) throw;
      faults->emplace(path, error.what());
      continue;
    }
    for (NodeWitness& witness : found.witnesses) {
      const std::size_t zeros = witness.includes_gpus() ? leave_zeros_out(witness).size() : 0;
      if (zeros > 0) {
        warnings_.push_back(
            fmt::format("{}: {} readings of '{}' are 0 W, which no node draws: they are left out",
                        printable_path(path), zeros, printable(witness.name)));
      }
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
  return mapped<WitnessEnergy>(meters_,
                               [&](const WitnessMeter& meter) { return meter.measure(window); });
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
  const bool is_one_node = are_of_one_node(mapped<std::string>(result.gpus, &GpuResult::name), 1);
  const bool names_hosts = result.telemetry && result.telemetry->series.names_hosts;
  std::map<std::string, std::string> faults;
  try {
    const Witnesses witnesses(request.witnesses, request.zone, &faults);
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
  } catch (const std::runtime_error& error) {  // one of them is named twice
    for (const std::string& path : request.witnesses) faults.emplace(path, error.what());
  }
  std::set<std::string> told;
  for (const auto& [path, fault] : faults) {
    if (told.insert(fault).second) result.warnings.push_back("--witness: " + fault);
    const std::string file = printable_path(path);
    result.witnesses.push_back({{.name = file, .file = file}, {fault}});
  }
}

}  // namespace aggregate_power
