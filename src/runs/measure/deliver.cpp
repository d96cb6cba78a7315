// Writes a result and builds the report of it.
#include "runs/measure/deliver.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/characters.h"
#include "base/text/json.h"
#include "core/record/aggregate.h"
#include "core/record/edits.h"
#include "core/record/record_numbers.h"
#include "core/record/request_json.h"
#include "core/record/salvage_json.h"
#include "runs/measure/interval_text.h"
#include "runs/measure/measure_report.h"

namespace aggregate_power {
namespace {

// "avg_power_w=595.00"; a missing metric is 0.
std::string shown(const Result& result, std::string_view key, int decimals = 2) {
  return fmt::format("{}={:.{}f}", key, value_of(result.metrics, key).value_or(0), decimals);
}

std::string sample_mean_line(const Result& result) {
  return fmt::format("{} (per GPU, n={}) {} {} duration={:.1f}s output_tokens={} input_tokens={}",
                     shown(result, "avg_power_w"), result.metric_gpus,
                     shown(result, "joules_per_output_token", 4),
                     shown(result, "joules_per_total_token", 4), result.load->reported_duration_s,
                     result.load->total_output_tokens, result.load->total_input_tokens);
}

std::string one_node_line(const Result& result) {
  return fmt::format("{} {} {} (n={})", shown(result, "avg_power_w"),
                     shown(result, "avg_total_gpu_power_w"), shown(result, "total_gpu_energy_j"),
                     result.metric_gpus);
}

std::string deployment_line(const Result& result) {
  std::string line =
      fmt::format("{} {}", shown(result, "avg_power_w"), shown(result, "total_gpu_energy_j"));
  const bool has_roles = value_of(result.metrics, "prefill_gpu_energy_j") ||
                         value_of(result.metrics, "decode_gpu_energy_j");
  if (has_roles || result.way == Way::package) {
    line += fmt::format(" {} {}", shown(result, "prefill_gpu_energy_j"),
                        shown(result, "decode_gpu_energy_j"));
  }
  return fmt::format("{} (n={})", line, result.metric_gpus);
}

// The verdict on the CPUs of a package, valid or not. Contract-october.md 2.9.
std::string cpu_line(const CpuPower& cpu) {
  const auto number = [&](std::string_view key) { return value_of(cpu.metrics, key).value_or(0); };
  return fmt::format(
      "cpu_power_valid={} sensor_kind={} avg_total_cpu_power_w={:.2f} total_cpu_energy_j={:.2f} reasons={}",
      cpu.reasons.empty() ? 1 : 0, cpu.sensor ? name(*cpu.sensor) : "None",
      number("avg_total_cpu_power_w"), number("total_cpu_energy_j"),
      cpu.reasons.empty() ? "-" : joined_text(cpu.reasons.codes(), ","));
}

std::string success_line(const Result& result, const std::string& aggregate) {
  const bool is_node = result.way == Way::one_node;
  const std::string ratios =
      is_node ? fmt::format(" {} {}", shown(result, "joules_per_output_token", 4),
                            shown(result, "joules_per_total_token", 4))
              : std::string();
  const std::string line = result.way == Way::sample_mean ? sample_mean_line(result)
                           : is_node                      ? one_node_line(result)
                                                          : deployment_line(result);
  return fmt::format("{} -> {}{}", line, aggregate, ratios);
}

// A pipeline may note in the aggregate that the benchmark failed. An aggregate that cannot be read
// is reported when it is patched.
void judge_benchmark(const std::string& aggregate_path, Result& result) {
  if (!rules_of(result.contract).refuses_failed_benchmark) return;
  try {
    std::string failure = benchmark_failure_in(*disk_tree()->open(aggregate_path).source());
    if (failure.empty()) return;
    result.reasons.add(Reason::benchmark_failed, fmt::format("{}: {}", aggregate_path, failure));
  } catch (const FileError&) {
  } catch (const JsonError&) {
  }
}

// Nothing is at the path. Whether a file should be there, the measurement has judged.
bool names_no_file(const std::error_code& fault) {
  return fault == std::errc::no_such_file_or_directory || fault == std::errc::not_a_directory ||
         fault == std::errc::too_many_symbolic_link_levels;
}

// The files that the result is from: `inputs` as they were read, the others as they are now.
std::vector<InputFile> hashed_inputs(std::vector<InputFile> inputs, const WritePlan& target,
                                     std::vector<std::string>& warnings) {
  const auto warn = [&](const std::string& what) {
    warnings.push_back(what + "; its hash is not in the audit record");
  };
  for (const std::string& path : target.inputs) {
    const bool is_known = std::ranges::find(inputs, path, &InputFile::role) != inputs.end();
    if (is_known || path == target.aggregate_path) continue;
    std::error_code fault;
    const auto status = std::filesystem::status(path, fault);
    if (fault && !names_no_file(fault)) {
      warn(fmt::format("{}: {}", path, fault.message()));
    }
    if (!std::filesystem::is_regular_file(status)) continue;
    try {
      const OpenedFile file(path);
      inputs.push_back({path, file.size(), hash_of(file)});
    } catch (const FileError& error) {
      warn(error.what());
    }
  }
  std::ranges::sort(inputs, {}, &InputFile::role);
  return inputs;
}

// Contract-october.md 9: others are not collected.
constexpr std::size_t kLongestRecordName = 200;

bool is_collected_name(std::string_view name) {
  return name.size() <= kLongestRecordName && std::ranges::all_of(name, [](char c) {
           return is_ascii_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  c == '.' || c == '_' || c == '-';
         });
}

// What happened to the two files, or in a dry run would happen.
struct Delivered {
  Reasons reasons;  // why not everything was written
  std::vector<std::string> changes;
  std::vector<std::string> warnings;
  std::vector<std::string> removed;  // keys of the aggregate
};

Delivered write(const WritePlan& plan, bool dry_run) {
  Delivered written;
  const auto note = [&](const WritingFaults& faults) {
    written.reasons = faults.reasons;
    if (faults.record_fault.empty()) return;
    written.reasons.add(Reason::validation_result_unwritable, faults.record_fault,
                        faults.record_obstacle);
  };
  if (dry_run) {
    Preview changes = preview(plan);
    note(changes);
    written.changes = std::move(changes.lines);
  } else {
    WriteOutcome outcome = carry_out(plan);
    note(outcome);
    written.warnings = std::move(outcome.warnings);
    if (outcome.reasons.empty()) written.removed = std::move(outcome.removed);
  }
  return written;
}

void add_remedies(const Result& result, const Reasons& reasons, std::vector<std::string>& lines) {
  for (const std::string& line : remedy_lines(result, reasons)) lines.push_back("  " + line);
}

// Proposes files for those that were named and do not exist.
void add_near_files(const Result& result, const Reasons& reasons, const std::string& aggregate_path,
                    std::vector<std::string>& lines) {
  const std::pair<Reason, const std::string&> named[] = {
      {Reason::telemetry_file_missing, result.telemetry_source},
      {Reason::invalid_benchmark_result, result.benchmark_result},
      {Reason::aggregate_result_missing, aggregate_path},
  };
  for (const auto& [reason, path] : named) {
    if (!reasons.contains(reason)) continue;
    const std::string hint = missing_file_hint(path);
    if (!hint.empty()) lines.push_back("  " + hint);
  }
}

// Why power is not valid, where the record is, and what to do.
std::vector<std::string> refusal(const Result& result, const Reasons& reasons,
                                 const std::string& record_path) {
  std::string line = fmt::format("power not valid: {}", reasons.text());
  if (!record_path.empty()) line += "; see " + record_path;
  std::vector<std::string> lines = {std::move(line)};
  add_remedies(result, reasons, lines);
  add_remedies(result, result.causes, lines);
  for (const std::string& hint : result.hints) lines.push_back("  " + hint);
  return lines;
}

// What is known beside the energy.
void add_texts(const Result& result, bool is_published, std::vector<std::string>& lines) {
  if (is_published) {
    if (auto text = results::interval_line(result); !text.empty()) lines.push_back(std::move(text));
  }
  append(lines, request_texts(result));
  if (auto text = results::salvage_text(result)) lines.push_back("salvaged: " + *text);
  if (!is_published) return;
  if (auto text = idle_text(result)) lines.push_back(std::move(*text));
}

// The lines for people go to stderr then, except those that the object contains.
void tell_in_json(Result result, const Reasons& reasons, CommandOutput& output) {
  result.reasons = reasons;
  if (!reasons.empty()) result.metrics.clear();
  output.json = report_json({{.result = std::move(result)}});
  output.warnings.clear();
  output.out.clear();
}

}  // namespace

void accept_reasons(Result& result) {
  const std::size_t known = result.accepted.entries().size();
  result.reasons.accept(result.accepts, result.accepted);
  for (const Reasons::Entry& entry : result.accepted.entries().subspan(known)) {
    result.warnings.push_back(
        fmt::format("accepted by the caller: {} ({})", code(entry.reason), entry.detail));
  }
}

CommandOutput deliver(Result result, WritePlan target, const DeliveryOptions& options) {
  judge_benchmark(target.aggregate_path, result);
  accept_reasons(result);
  const bool has_record = !target.record_path.empty();
  result.sources.aggregate = target.aggregate_path;
  if (has_record && !is_collected_name(last_name(target.record_path))) {
    result.warnings.push_back(fmt::format(
        "{}: the original's collector takes only records whose names have at most {} characters, of A-Z, a-z, 0-9, '.', '_' and '-'",
        printable_path(target.record_path), kLongestRecordName));
  }
  if (has_record && !options.take) {
    result.sources.inputs =
        hashed_inputs(std::move(result.sources.inputs), target, result.warnings);
  }
  const auto delivered = std::make_shared<const Result>(std::move(result));
  const WritePlan plan = aggregate_power::plan(delivered, std::move(target));
  if (options.take) {
    options.take(plan);
    return {};
  }
  Delivered written = write(plan, options.dry_run);
  Reasons reasons = delivered->reasons;
  reasons.add(written.reasons);
  std::optional<CpuPower> cpu = delivered->cpu;
  const bool is_october = delivered->contract == Contract::october;
  if (cpu && is_october) cpu->withhold(written.reasons);
  CommandOutput output;
  const bool lacks_cpus = delivered->requires_cpu && cpu && !cpu->reasons.empty();
  output.exit_status = options.require_power && (lacks_cpus || !reasons.empty()) ? 1 : 0;
  output.warnings = delivered->warnings;
  append(output.warnings, std::move(written.warnings));
  output.out = std::move(written.changes);
  if (cpu && is_october) output.out.push_back(cpu_line(*cpu));
  if (lacks_cpus && options.require_power) {
    output.err.push_back(
        fmt::format("Required CPU power is invalid: {}; the power of the GPUs is {}",
                    cpu->reasons.text(), reasons.empty() ? "valid" : "not valid either"));
    add_remedies(*delivered, cpu->reasons, output.err);
  } else if (reasons.empty()) {
    output.out.push_back(success_line(*delivered, plan.aggregate_path));
  }
  if (delivered->is_audit_requested && !written.reasons.empty()) {
    output.original_err.push_back("[agentx_power] Audit summary unavailable: " +
                                  written.reasons.text());
  }
  add_texts(*delivered, reasons.empty(), output.out);
  if (!reasons.empty()) {
    const bool is_recorded = !options.dry_run &&
                             !reasons.contains(Reason::validation_result_unwritable) &&
                             !reasons.contains(Reason::aggregate_result_locked);
    append(output.err, refusal(*delivered, reasons, is_recorded ? plan.record_path : ""));
    add_near_files(*delivered, reasons, plan.aggregate_path, output.err);
    if (!written.removed.empty()) {
      output.err.push_back(fmt::format("  values of an earlier run were removed from {}: {}",
                                       plan.aggregate_path, fmt::join(written.removed, ", ")));
    }
  }
  if (options.dry_run) output.out.emplace_back("dry run: nothing was written");
  if (options.json) tell_in_json(*delivered, reasons, output);
  return output;
}

}  // namespace aggregate_power
