// aggregate-power compare: whether what runs use has changed, with an exit status to gate on.
#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "decide/compare/compare.h"
#include "decide/compare/facility.h"

namespace aggregate_power {
namespace {

constexpr int kInsufficient = 3;

struct CompareOptions {
  CompareRequest request;
  CompareFormat format = CompareFormat::table;
  bool json = false;
  bool is_higher_better = false;
  bool is_self_test = false;
  std::optional<Look> look = {};
  Spending spending = Spending::obrien_fleming;
};

// "2/4"
std::optional<Look> look_in(const std::string& text) {
  const std::size_t stroke = std::min(text.find('/'), text.size());
  const auto number = python_int(text.substr(0, stroke));
  const auto planned = python_int(stroke < text.size() ? text.substr(stroke + 1) : "");
  if (!number || !planned || *number < 1 || *number > *planned) return std::nullopt;
  if (*planned > static_cast<std::int64_t>(kMostLooks)) return std::nullopt;
  return Look{static_cast<std::size_t>(*number), static_cast<std::size_t>(*planned)};
}

int exit_status_of(ChangeVerdict verdict) {
  if (verdict == ChangeVerdict::insufficient) return kInsufficient;
  return verdict == ChangeVerdict::worse ? 1 : 0;
}

int run_compare(const CompareOptions& options) {
  const RunComparisons compared = compare_runs(options.request);
  const std::string text = options.is_self_test ? gate_test_text(compared, options.format)
                                                : comparison_text(compared, options.format);
  options.format == CompareFormat::table ? print_result(text) : print(stdout, text);
  for (const std::string& note : compared.notes) print_note("note: " + note);
  for (const std::string& warning : compared.warnings) print_note("warning: " + warning);
  if (options.is_self_test) return gate_can_fail(test_gate(compared)) ? 0 : kInsufficient;
  if (compared.kind == CompareKind::base_alone) return 0;
  return exit_status_of(overall_verdict(compared).verdict);
}

void settle_compare(CompareOptions& options, const Options& parsed) {
  if (options.json) options.format = CompareFormat::json;
  CompareRequest& request = options.request;
  if (!parsed.is_given("BASE")) {
    throw Error(
        "compare: expected BASE, results or folders of them, before --with; see 'aggregate-power compare --help'");
  }
  if (!parsed.is_given("--with")) {
    request.kind = options.is_self_test ? CompareKind::mirrored : CompareKind::base_alone;
  }
  CompareRule& rule = request.rule;
  if (request.facility.is_asked() && !is_facility_key(rule.metric)) {
    throw Error(
        "--pue, --carbon and --price: name what to compare with --metric: facility_energy_j, cost or carbon_gco2e, each also with _per_million_output_tokens or _per_million_tokens");
  }
  if (request.slo.is_asked() && !parsed.is_given("--metric")) rule.metric = compare::kGoodMetric;
  if (compare::is_good_key(rule.metric) && !request.slo.is_asked()) {
    throw Error(fmt::format("--metric {}: needs --slo, which says what good is", rule.metric));
  }
  if (options.look) {
    options.look->spending = options.spending;
    rule.alpha = look_alpha(*options.look);
  }
  rule.is_higher_better = options.is_higher_better || is_higher_better_by_name(rule.metric);
}

void add_compare_rule(Options& options, const std::shared_ptr<CompareOptions>& request) {
  CompareRule& rule = request->request.rule;
  rule.metric = kDefaultCompareMetric;
  rule.margin = 0.02;
  options
      .value(
          "--metric", "KEY", into(rule.metric),
          "The member to compare: a metric of ours, or any number in the aggregates, or with "
          "--pue, --price, --carbon or --slo what they state (default: joules_per_output_token; with "
          "--slo joules_per_good_output_token)")
      .check(not_empty());
  add_percent(
      options, "--margin", {-1, 1.01, "from 0% to 100% such as 2%"},
      [&rule](double share) { rule.margin = share; },
      "Changes that are certainly within it, up or down, are equivalent (default: 2%)");
  add_alpha(options, rule.alpha);
  options
      .value(
          "--look", "K/N",
          [request](const std::string& text) {
            request->look = look_in(text);
            return true;
          },
          "This is look K of N at equal steps of the planned repeats: the intervals widen so that all "
          "looks together err as rarely as one")
      .check(expecting("a look such as 2/4, of at most 20",
                       [](const std::string& text) { return look_in(text).has_value(); }))
      .excludes("--alpha");
  options
      .choice(
          "--spending", "obrien-fleming|pocock",
          {{"obrien-fleming", Spending::obrien_fleming}, {"pocock", Spending::pocock}},
          request->spending,
          "How the looks share alpha: most of it at the last one, or evenly (default: obrien-fleming)")
      .needs("--look");
  options.flag("--higher-is-better", request->is_higher_better,
               "A fall is worse (default for names with tput, throughput, goodput, intvty or "
               "tokens_per)");
  options
      .value(
          "--match-by", "KEYS", into_list(rule.match_by),
          "Members whose values make a configuration, separated by commas (default: all that are "
          "known to say how a run was run)")
      .check(expecting("names separated by commas", [](const std::string& text) {
        const std::string in_commas = "," + text + ",";
        return in_commas.find(",,") == text.npos;
      }));
  options.choice(
      "--boards", "same|different", {{"same", Boards::same}, {"different", Boards::different}},
      rule.boards,
      "Whether both sides were measured on the same GPUs; different adds the accuracy of "
      "the sensors (default: by UUIDs, else by ids, hardware and hosts)");
}

}  // namespace

Command compare_command() {
  const auto request = std::make_shared<CompareOptions>();
  request->request.most_threads = usable_processors();
  Command command;
  Options& options = command.options;
  options
      .positionals(
          "BASE", into_paths(request->request.base),
          "Aggregates, arrays of them, audit records, outputs of 'measure --json', reports "
          "of a backfill, or folders with runs at any depth")
      .check(not_empty());
  options
      .list("--with", "NEW...", into_paths(request->request.next),
            "The same of the runs to compare with the base, up to the next option")
      .check(not_empty())
      .gathers();
  add_compare_rule(options, request);
  add_slo(options, request->request.slo);
  add_facility_options(options, request->request.facility);
  add_measuring_options(options, request->request.measuring);
  add_access_options(options, request->request.access);
  options.flag(
      "--self-test", request->is_self_test,
      "Show what the gate would catch: make the new side, or else a copy of the base, worse "
      "by 0.1 to 10 % in memory, and compare");
  options.choice("--format", "table|json|markdown",
                 {{"table", CompareFormat::table},
                  {"json", CompareFormat::json},
                  {"markdown", CompareFormat::markdown}},
                 request->format, "How to print (default: table)");
  options.flag("--json", request->json, "The same as --format json").excludes("--format");
  command.forms = {"BASE... --with NEW... [OPTIONS]", "BASE... [OPTIONS]",
                   "--self-test BASE... [--with NEW...]"};
  command.examples =
      "aggregate-power compare main/ --with branch/\n"
      "aggregate-power compare main/agg_*.json --with branch/agg_*.json --margin 1% --format markdown\n"
      "aggregate-power compare main/ --with branch/ --metric tput_per_gpu --match-by hw,tp,conc\n"
      "aggregate-power compare run_*/agg.json\n"
      "aggregate-power compare --self-test main/";
  command.exit_statuses =
      "0 better or equivalent, or repeats were summarized; 1 worse; 2 a file cannot be opened or used, or wrong options; 3 insufficient evidence";
  command.settle = [request](const Options& parsed) { settle_compare(*request, parsed); };
  command.run = [request] { return run_compare(*request); };
  return command;
}

}  // namespace aggregate_power
