// What must hold of a run of agents on several nodes before its package is looked at.
#include "packages/agentic_checks.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "base/text/json_members.h"
#include "base/text/unicode.h"
#include "loads/benchmark.h"
#include "store/artifact_names.h"

namespace aggregate_power {
namespace {

class Gates {
 public:
  explicit Gates(const AgenticLoad& load) : load_(load) {}

  AgenticChecks pairing() {
    read_aggregate();
    count_gpus();
    find_formal_result();
    check_concurrency();
    check_place();
    check_sha();
    return std::move(gates_);
  }

 private:
  void add(Reason reason, std::string detail) { gates_.reasons.add(reason, std::move(detail)); }

  void read_aggregate() {
    const auto invalid = [&](const std::string& fault) {
      disagg_ = prefill_ = decode_ = conc_ = {};
      add(Reason::agentic_aggregate_invalid, fault);
    };
    if (!load_.aggregate) return invalid(load_.aggregate_fault);
    const std::string& name = load_.aggregate_name;
    try {
      is_read_ = find_members(*load_.aggregate, {{"disagg", disagg_},
                                                 {"num_prefill_gpu", prefill_},
                                                 {"num_decode_gpu", decode_},
                                                 {"conc", conc_}});
      if (!is_read_) invalid(name + (name.empty() ? "" : ": ") + "expected a JSON object");
    } catch (const JsonError& error) {
      invalid(name + (name.empty() ? "" : ":") + error.what());
    }
  }

  void count_gpus() {
    if (!is_read_) return add(Reason::agentic_gpu_topology_invalid, {});
    const JsonValue disagg = disagg_.scalar();
    const auto prefill = prefill_.scalar().as_integer();
    const auto decode = decode_.scalar().as_integer();
    const bool are_counts = prefill && decode && *prefill >= 0 && *decode >= 0 &&
                            *prefill <= std::numeric_limits<std::int64_t>::max() - *decode &&
                            *prefill + *decode > 0;
    if (disagg.kind != JsonKind::boolean || !are_counts) {
      return add(Reason::agentic_gpu_topology_invalid,
                 fmt::format("num_prefill_gpu is {}, num_decode_gpu is {}, disagg is {}",
                             shown(prefill_), shown(decode_), shown(disagg_)));
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
        gates_.window_file = "windows/" + names[0];
        concurrency_ = {JsonKind::integer, *formal_concurrency(names[0])};
      } else {
        missing(fmt::format("{} files agentic_power_concurrency_N.json in {}", names.size(),
                            load_.result_dir));
      }
    } catch (const FileError& error) {
      missing(error.what());
    }
  }

  // The load that the formal result's name tells must be that of its content and of the aggregate.
  void check_concurrency() {
    if (gates_.formal_result.empty()) return;
    const auto mismatch = [&](const std::string& what) {
      add(Reason::agentic_concurrency_mismatch, fmt::format("{}: {}", gates_.formal_result, what));
    };
    if (const auto found = max_concurrency()) {
      if (!found->is_number() || !equal_in_python(*found, concurrency_)) {
        mismatch("max_concurrency is " + (found->is_number() ? found->shown() : "no number"));
      }
    }
    const JsonValue conc = conc_.scalar();
    if (conc.is_number() && !equal_in_python(conc, concurrency_)) {
      mismatch(fmt::format("the aggregate's conc is {}", conc.shown()));
    }
  }

  // The formal result's; nothing where that is no sound result, which is found when it is used.
  std::optional<JsonValue> max_concurrency() const {
    try {
      const auto source = load_.tree->open(gates_.formal_result).source();
      const LoadReading reading =
          read_benchmark(*source, gates_.formal_result, LoadRules::schema_2);
      if (reading.reasons.contains(Reason::invalid_benchmark_result)) return std::nullopt;
      return reading.max_concurrency;
    } catch (const FileError&) {
      return std::nullopt;
    }
  }

  void check_place() {
    const std::string below = load_.tree->resolved(load_.result_dir);
    std::string above = load_.tree->resolved(load_.logs_root);
    if (!above.ends_with('/')) above += '/';
    if (!below.empty() && (below + '/').starts_with(above)) return;
    add(Reason::agentic_result_outside_logs_root,
        fmt::format("{} is not in or below {}", load_.result_dir, load_.logs_root));
  }

  void check_sha() {
    const std::string& sha = load_.expected_producer_sha;
    constexpr std::size_t kDigits = 40;
    if (sha.size() == kDigits && sha.find_first_not_of("0123456789abcdef") == sha.npos) return;
    add(Reason::expected_producer_sha_invalid,
        fmt::format("expected {} digits and letters a to f, got '{}'", kDigits, printable(sha)));
  }

  static std::string shown(const JsonMemberText& member) {
    return member.spelling.empty() ? "missing" : member.scalar().shown();
  }

  const AgenticLoad& load_;
  bool is_read_ = false;  // the aggregate
  JsonMemberText disagg_;
  JsonMemberText prefill_;
  JsonMemberText decode_;
  JsonMemberText conc_;
  JsonValue concurrency_;  // the load's
  AgenticChecks gates_;
};

}  // namespace

AgenticChecks check_agentic_load(const AgenticLoad& load) { return Gates(load).pairing(); }

}  // namespace aggregate_power
