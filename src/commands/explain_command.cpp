// aggregate-power explain: what reason codes mean.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregate_power/error.h"
#include "aggregate_power/reason.h"
#include "base/text/nearest.h"
#include "base/text/wrap.h"
#include "commands/command.h"
#include "commands/output.h"
#include "commands/terminal.h"

namespace aggregate_power {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainRequest {
  std::vector<std::string> codes;  // empty: all
  bool json = false;
};

std::vector<std::string> reason_codes_known() {
  std::vector<std::string> codes;
  for (const Reason reason : all_reasons()) codes.emplace_back(code(reason));
  return codes;
}

Reason reason_named(const std::string& word) {
  if (const auto reason = reason_of(word)) return *reason;
  const std::string near = did_you_mean(word, reason_codes_known());
  throw Error(fmt::format("unknown reason code '{}'{}", word,
                          near.empty() ? "; 'aggregate-power explain' lists all" : near));
}

// Half a sentence of the table, without its code marks.
std::string plain(std::string_view text) {
  std::string result(text);
  std::erase(result, '`');
  return result;
}

// Its first part, which says enough in a list.
std::string short_meaning(Reason reason) {
  const std::string text = plain(meaning(reason));
  const std::size_t end = std::min({text.find("; "), text.find(". "), text.find(" (")});
  return text.substr(0, end);
}

Json reason_json(Reason reason) {
  return {{"code", code(reason)},
          {"meaning", plain(meaning(reason))},
          {"causes", plain(causes(reason))},
          {"remedy", plain(remedy(reason))}};
}

std::string reason_text(Reason reason, std::size_t width) {
  const auto part = [&](const char* what, std::string_view text) {
    return wrapped(fmt::format("{}: {}", what, plain(text)), "  ", 4, width);
  };
  return fmt::format("{}\n{}{}{}", code(reason), part("what happened", meaning(reason)),
                     part("usual causes", causes(reason)), part("what to do", remedy(reason)));
}

std::string reason_list(std::size_t width) {
  constexpr std::size_t kIndent = 38;
  std::string text;
  for (const Reason reason : all_reasons()) {
    text += wrapped(short_meaning(reason), fmt::format("{:<37} ", code(reason)), kIndent, width);
  }
  return text + "More on one of them: 'aggregate-power explain CODE'.\n";
}

int run_explain(const ExplainRequest& request) {
  std::vector<Reason> reasons;
  for (const std::string& word : request.codes) reasons.push_back(reason_named(word));
  if (request.json) {
    Json all = Json::array();
    if (reasons.empty()) reasons.assign(all_reasons().begin(), all_reasons().end());
    for (const Reason reason : reasons) all.push_back(reason_json(reason));
    print(stdout, (request.codes.size() == 1 ? all[0] : all).dump(2) + "\n");
    return 0;
  }
  const std::size_t width = text_width();
  if (reasons.empty()) print_result(reason_list(width));
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    print_result((i > 0 ? "\n" : "") + reason_text(reasons[i], width));
  }
  return 0;
}

}  // namespace

Command explain_command() {
  const auto request = std::make_shared<ExplainRequest>();
  Command command;
  command.options
      .positionals("CODE", into(request->codes), "Reason codes to explain (default: list all)")
      .offer(reason_codes_known());
  command.options.flag("--json", request->json,
                       "Print one JSON object for one code, else one JSON array");
  command.examples =
      "aggregate-power explain sampling_gap_exceeded\n"
      "aggregate-power explain\n"
      "aggregate-power explain no_usable_power_samples --json";
  command.exit_statuses = "0 printed; 2 unknown code, or wrong options";
  command.run = [request] { return run_explain(*request); };
  return command;
}

}  // namespace aggregate_power
