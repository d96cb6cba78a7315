// What must hold of a run of agents on several nodes before its package is looked at.
#include "aggregate_power/jobs/agentic_gates.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "aggregate_power/base/json_value.h"
#include "aggregate_power/base/unicode.h"
#include "aggregate_power/jobs/artifact_names.h"

namespace aggregate_power {
namespace {

class Gates {
 public:
  explicit Gates(const AgenticLoad& load) : load_(load) {}

  AgenticGates attempt() {
    read_aggregate();
    count_gpus();
    find_formal_result();
    check_place();
    check_sha();
    return std::move(gates_);
  }

 private:
  void add(Reason reason, std::string detail) { gates_.reasons.add(reason, std::move(detail)); }

  void read_aggregate() {
    std::string fault = load_.aggregate_fault;
    if (load_.aggregate) {
      try {
        aggregate_ = parse_json(*load_.aggregate);
        if (aggregate_.is_object()) return;
        fault = "expected a JSON object";
      } catch (const JsonError& error) {
        fault = error.what();
      }
    }
    add(Reason::agentic_aggregate_invalid, fault);
  }

  void count_gpus() {
    const JsonValue& disagg = aggregate_.at("disagg");
    const auto prefill = aggregate_.at("num_prefill_gpu").as_integer();
    const auto decode = aggregate_.at("num_decode_gpu").as_integer();
    const bool are_counts = prefill && decode && *prefill >= 0 && *decode >= 0 &&
                            *prefill <= std::numeric_limits<std::int64_t>::max() - *decode &&
                            *prefill + *decode > 0;
    if (disagg.kind != JsonKind::boolean || !are_counts) {
      return add(
          Reason::agentic_gpu_topology_invalid,
          fmt::format("num_prefill_gpu is {}, num_decode_gpu is {}, disagg is {}",
                      aggregate_.at("num_prefill_gpu").shown(),
                      aggregate_.at("num_decode_gpu").shown(), aggregate_.at("disagg").shown()));
    }
    if (disagg.is_true()) {
      gates_.gpus.prefill = *prefill;
      gates_.gpus.decode = *decode;
    } else {
      gates_.gpus.aggregate = *prefill + *decode;
    }
  }

  void find_formal_result() {
    const auto missing = [&](const std::string& detail) {
      add(Reason::formal_benchmark_result_missing, detail);
    };
    try {
      const std::vector<std::string> names = formal_results(*load_.tree, load_.result_dir);
      if (names.size() == 1) {
        gates_.formal_result = path_below(load_.result_dir, names[0]);
      } else {
        missing(fmt::format("{} files agentic_power_concurrency_N.json in {}", names.size(),
                            load_.result_dir));
      }
    } catch (const FileError& error) {
      missing(error.what());
    }
  }

  void check_place() {
    const std::string below = load_.tree->resolved(load_.result_dir);
    std::string above = load_.tree->resolved(load_.logs_root);
    if (!above.ends_with('/')) above += '/';
    if (!below.empty() && (below + '/').starts_with(above)) return;
    add(Reason::agentic_result_outside_logs_root,
        fmt::format("{} is not below {}", load_.result_dir, load_.logs_root));
  }

  void check_sha() {
    const std::string& sha = load_.expected_producer_sha;
    constexpr std::size_t kDigits = 40;
    if (sha.size() == kDigits && sha.find_first_not_of("0123456789abcdef") == sha.npos) return;
    add(Reason::expected_producer_sha_invalid,
        fmt::format("expected {} digits and letters a to f, got '{}'", kDigits, printable(sha)));
  }

  const AgenticLoad& load_;
  JsonValue aggregate_;
  AgenticGates gates_;
};

}  // namespace

AgenticGates try_gates(const AgenticLoad& load) { return Gates(load).attempt(); }

}  // namespace aggregate_power
