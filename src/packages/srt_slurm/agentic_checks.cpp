// Checks the aggregate and the formal result of agents on several nodes.
#include "packages/srt_slurm/agentic_checks.h"

#include <limits>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/json_value.h"
#include "generators/aiperf.h"
#include "generators/generator_table.h"

namespace aggregate_power {
namespace {

struct Aggregate {
  JsonMemberText disagg;
  JsonMemberText prefill;
  JsonMemberText decode;
  JsonMemberText conc;
  JsonMemberText is_multinode;
  JsonMemberText num_gpus;
};

// Returns nullopt if it cannot be read; `reasons` says why.
std::optional<Aggregate> read_aggregate(const AgenticLoad& load, Reasons& reasons) {
  const auto invalid = [&](const std::string& fault) {
    reasons.add(Reason::agentic_aggregate_invalid, fault);
    return std::nullopt;
  };
  if (!load.aggregate) return invalid(load.aggregate_fault);
  const std::string& name = load.aggregate_name;
  Aggregate found;
  try {
    if (find_members(*load.aggregate, {{"disagg", found.disagg},
                                       {"num_prefill_gpu", found.prefill},
                                       {"num_decode_gpu", found.decode},
                                       {"conc", found.conc},
                                       {"is_multinode", found.is_multinode},
                                       {"num_gpus", found.num_gpus}})) {
      return found;
    }
  } catch (const JsonError& error) {
    return invalid(name + (name.empty() ? "" : ":") + error.what());
  }
  return invalid(name + (name.empty() ? "" : ": ") + "expected a JSON object");
}

// Those of a run on one node; nullopt if the aggregate is not that of such a run.
std::optional<RoleCounts> gpus_of_node(const Aggregate& aggregate) {
  const auto is_false = [](const JsonMemberText& member) {
    const JsonValue value = member.scalar();
    return value.kind == JsonKind::boolean && !value.is_true();
  };
  const auto gpus = aggregate.num_gpus.scalar().as_integer();
  if (!is_false(aggregate.is_multinode) || !is_false(aggregate.disagg) || !gpus || *gpus <= 0) {
    return std::nullopt;
  }
  return RoleCounts{.aggregate = *gpus};
}

// Those of a run on several nodes; nullopt if the aggregate's numbers make no sense.
std::optional<RoleCounts> gpus_of_nodes(const Aggregate& aggregate) {
  const JsonValue disagg = aggregate.disagg.scalar();
  const auto prefill = aggregate.prefill.scalar().as_integer();
  const auto decode = aggregate.decode.scalar().as_integer();
  const bool are_counts = prefill && decode && *prefill >= 0 && *decode >= 0 &&
                          *prefill <= std::numeric_limits<std::int64_t>::max() - *decode &&
                          *prefill + *decode > 0;
  if (disagg.kind != JsonKind::boolean || !are_counts) return std::nullopt;
  RoleCounts gpus;
  if (disagg.is_true()) {
    gpus.prefill = *prefill;
    gpus.decode = *decode;
  } else {
    gpus.aggregate = *prefill + *decode;
  }
  return gpus;
}

std::optional<RoleCounts> gpus_of(const Aggregate& aggregate, const AgenticLoad& load) {
  if (load.expected_num_gpus) {
    const auto gpus = gpus_of_node(aggregate);
    return gpus && gpus->aggregate == *load.expected_num_gpus ? gpus : std::nullopt;
  }
  const auto gpus = gpus_of_nodes(aggregate);
  return gpus || !load.finds_gpus_of_node ? gpus : gpus_of_node(aggregate);
}

std::string gpus_text(const Aggregate& aggregate, const AgenticLoad& load) {
  const auto shown = [](const JsonMemberText& member) {
    return member.spelling.empty() ? "missing" : member.scalar().shown();
  };
  if (load.expected_num_gpus) {
    return fmt::format("{} GPUs are expected; is_multinode is {}, disagg is {}, num_gpus is {}",
                       *load.expected_num_gpus, shown(aggregate.is_multinode),
                       shown(aggregate.disagg), shown(aggregate.num_gpus));
  }
  return fmt::format("num_prefill_gpu is {}, num_decode_gpu is {}, disagg is {}",
                     shown(aggregate.prefill), shown(aggregate.decode), shown(aggregate.disagg));
}

// The name of the only formal result. Returns nullopt if there is not exactly one; `fault` says
// why.
std::optional<std::string> formal_result(const AgenticLoad& load, std::string& fault) {
  try {
    const std::vector<std::string> names = formal_results(*load.tree, load.result_dir);
    if (names.size() == 1) return names[0];
    fault = fmt::format("{} files agentic_power_concurrency_N.json in {}", names.size(),
                        load.result_dir);
  } catch (const FileError& error) {
    fault = error.what();
  }
  return std::nullopt;
}

// The max_concurrency of a formal result. Returns nullopt if the result is not sound, which is
// found when it is used.
std::optional<JsonValue> max_concurrency(const Tree& tree, const std::string& path) {
  try {
    const LoadReading reading =
        read_load({.name = path, .open = [&] { return tree.open(path).source(); }});
    if (reading.reasons.contains(Reason::invalid_benchmark_result)) return std::nullopt;
    return reading.max_concurrency;
  } catch (const FileError&) {
    return std::nullopt;
  }
}

// The load in the formal result's name must be that of its content and of the aggregate.
Reasons check_concurrency(const Tree& tree, const std::string& path, const JsonValue& concurrency,
                          const JsonValue& conc) {
  Reasons reasons;
  const auto mismatch = [&](const std::string& what) {
    reasons.add(Reason::agentic_concurrency_mismatch, fmt::format("{}: {}", path, what));
  };
  if (const auto found = max_concurrency(tree, path)) {
    if (!found->is_number() || !equal_in_python(*found, concurrency)) {
      mismatch("max_concurrency is " + (found->is_number() ? found->shown() : "not a number"));
    }
  }
  if (conc.is_number() && !equal_in_python(conc, concurrency)) {
    mismatch(fmt::format("the aggregate's conc is {}", conc.shown()));
  }
  return reasons;
}

bool is_below_logs(const AgenticLoad& load) {
  const std::string below = load.tree->resolved(load.result_dir);
  std::string above = load.tree->resolved(load.logs_root);
  if (!above.ends_with('/')) above += '/';
  return !below.empty() && (below + '/').starts_with(above);
}

constexpr std::size_t kShaDigits = 40;

bool is_sha(std::string_view text) {
  return text.size() == kShaDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

AgenticChecks check_agentic_load(const AgenticLoad& load) {
  AgenticChecks checks;
  const auto aggregate = read_aggregate(load, checks.reasons);
  if (const auto gpus = aggregate ? gpus_of(*aggregate, load) : std::nullopt) {
    checks.gpus = *gpus;
  } else {
    checks.reasons.add(Reason::agentic_gpu_topology_invalid,
                       aggregate ? gpus_text(*aggregate, load) : "");
  }
  std::string fault;
  if (const auto name = formal_result(load, fault)) {
    checks.formal_result = path_below(load.result_dir, *name);
    checks.window_file = "windows/" + *name;
    const JsonValue concurrency = {JsonKind::integer, *formal_concurrency(*name)};
    const JsonValue conc = aggregate ? aggregate->conc.scalar() : JsonValue();
    checks.reasons.add(check_concurrency(*load.tree, checks.formal_result, concurrency, conc));
  } else {
    checks.reasons.add(Reason::formal_benchmark_result_missing, fault);
  }
  if (!is_below_logs(load)) {
    checks.reasons.add(Reason::agentic_result_outside_logs_root,
                       fmt::format("{} is not in or below {}", load.result_dir, load.logs_root));
  }
  const std::string& sha = load.expected_producer_sha;
  if (!is_sha(sha)) {
    checks.reasons.add(
        Reason::expected_producer_sha_invalid,
        fmt::format("expected {} digits and letters a to f, got '{}'", kShaDigits, printable(sha)));
  }
  return checks;
}

}  // namespace aggregate_power
