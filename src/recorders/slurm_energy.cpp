// Reads the energy of Slurm's jobs from `sacct -P`: one total for each job.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/ascii.h"
#include "base/text/characters.h"
#include "recorders/witness_form.h"

namespace aggregate_power {
namespace {

constexpr const char* kSacctRemedy = "sacct -P -o JobID,NNodes,Start,End,ConsumedEnergyRaw -j JOB";

std::vector<std::string_view> sacct_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t bar = std::min(line.find('|'), line.size());
    cells.push_back(strip(line.substr(0, bar)));
    if (bar == line.size()) return cells;
    line.remove_prefix(bar + 1);
  }
}

// "20543125", "20.54M". Slurm writes 0 or nothing for what it did not measure, and its numbers for
// "no value" and "infinite" in 32 and in 64 bits.
std::optional<double> consumed_j(std::string_view text) {
  double factor = 1;
  constexpr std::string_view kPrefixes = "KMGTP";
  if (!text.empty()) {
    if (const std::size_t prefix = kPrefixes.find(text.back()); prefix != kPrefixes.npos) {
      factor = std::pow(1000.0, static_cast<double>(prefix + 1));
      text.remove_suffix(1);
    }
  }
  const auto number = sensor_number(text);
  if (!number || *number == 0) return std::nullopt;
  const bool is_no_value = *number == 4294967294.0 || *number == 4294967295.0 || *number > 1.8e19;
  return is_no_value ? std::nullopt : std::optional(*number * factor);
}

struct SacctColumns {
  std::size_t job, start, end, energy, nodes;

  std::size_t last_needed() const { return std::max({job, start, end, energy}); }
};

SacctColumns sacct_columns(const WitnessText& file, std::string_view header) {
  const std::vector<std::string_view> names = sacct_cells(header);
  const auto find = [&](std::initializer_list<std::string_view> wanted) {
    for (const std::string_view name : wanted) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (lower_ascii(names[i]) == name) return i;
      }
    }
    return names.size();
  };
  const SacctColumns columns{find({"jobid", "jobidraw"}), find({"start"}), find({"end"}),
                             find({"consumedenergyraw", "consumedenergy"}),
                             find({"nnodes", "allocnodes"})};
  if (columns.last_needed() >= names.size()) {
    throw Error(fmt::format(
        "{}: expected the columns JobID, Start, End and ConsumedEnergyRaw, as from '{}'",
        printable_path(file.path), kSacctRemedy));
  }
  return columns;
}

bool is_same_total(const NodeWitness& a, const NodeWitness& b) {
  return a.span.start_unix_s == b.span.start_unix_s && a.span.end_unix_s == b.span.end_unix_s &&
         a.total_j == b.total_j;
}

// A job that was queued again has a row for each time that it ran (sacct -D); a row that is there
// twice counts once.
void add_job(NodeWitness witness, NodeWitnesses& found) {
  const std::string name = witness.name;
  for (int run = 1;; ++run) {
    if (run > 1) witness.name = fmt::format("{}, run {}", name, run);
    const std::size_t known = found.witnesses.size();
    NodeWitness& of_name = witness_named(found, witness.name, witness.kind);
    if (found.witnesses.size() > known) {
      of_name = std::move(witness);
      return;
    }
    if (is_same_total(of_name, witness)) return;
  }
}

class SacctReader {
 public:
  explicit SacctReader(const WitnessText& file) : file_(file), times_(file) {}

  void take(std::string_view line) {
    if (line.empty() || line.find('|') == line.npos) return;
    if (!columns_) {
      columns_ = sacct_columns(file_, line);
      return;
    }
    const std::vector<std::string_view> cells = sacct_cells(line);
    if (columns_->last_needed() >= cells.size()) return;  // cut off
    const auto joules = consumed_j(cells[columns_->energy]);
    const auto start = times_.unix_s(cells[columns_->start]);
    const auto end = times_.unix_s(cells[columns_->end]);  // "Unknown" while it runs
    if (!joules || !start || !end || *end <= *start) return;
    const std::string_view job = cells[columns_->job];
    NodeWitness witness = {.name = fmt::format("job {}", job),
                           .source = "sacct",
                           .scope = "job",
                           .kind = NodeWitness::Kind::total,
                           .span = {*start, *end},
                           .total_j = *joules};
    const std::string_view nodes = columns_->nodes < cells.size() ? cells[columns_->nodes] : "";
    if (is_ascii_digits(nodes) && nodes != "1") witness.name += fmt::format(", {} nodes", nodes);
    const std::size_t step = job.find('.');
    if (step == job.npos) jobs_.insert(std::string(job));
    rows_.push_back({std::string(job.substr(0, step)), step != job.npos, std::move(witness)});
  }

  // The steps are parts of their job: they count only where the job itself has no energy.
  void finish(NodeWitnesses& found) {
    for (Row& row : rows_) {
      if (row.is_step && jobs_.contains(row.job)) continue;
      add_job(std::move(row.witness), found);
    }
    if (!found.witnesses.empty()) return;
    throw Error(fmt::format(
        "{}: no job in it has ended and has an energy: Slurm writes 0 where the cluster does not measure",
        printable_path(file_.path)));
  }

 private:
  struct Row {
    std::string job;
    bool is_step = false;
    NodeWitness witness;
  };

  const WitnessText& file_;
  WitnessTimes times_;
  std::optional<SacctColumns> columns_;
  std::set<std::string> jobs_;  // with an energy
  std::vector<Row> rows_;
};

bool fits_sacct(std::string_view head) {
  const std::string_view first = head.substr(0, head.find('\n'));
  return first.find('|') != first.npos && lower_ascii(first).find("jobid") != first.npos;
}

void read_sacct(const WitnessText& file, NodeWitnesses& found) {
  SacctReader reader(file);
  // A last row without a line break may be cut off, but every digit of its energy counts.
  const std::size_t whole = file.text.rfind('\n');
  for_each_witness_line(file.text.substr(0, whole == file.text.npos ? 0 : whole + 1),
                        [&](std::string_view line, std::size_t) { reader.take(line); });
  reader.finish(found);
}

}  // namespace

const WitnessForm kSacctForm = {fits_sacct, read_sacct};

}  // namespace aggregate_power
