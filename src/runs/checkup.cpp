// Writes a checkup down.
#include "runs/checkup.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/unicode.h"
#include "results/json_parts.h"

namespace aggregate_power {
namespace {

const char* word(CheckupItem::Status status) {
  using enum CheckupItem::Status;
  return status == ok ? "ok" : status == advice ? "advice" : "problem";
}

}  // namespace

bool has_problem(const Checkup& checkup) {
  return std::ranges::find(checkup, CheckupItem::Status::problem, &CheckupItem::status) !=
         checkup.end();
}

std::string checkup_text(const Checkup& checkup) {
  std::string text;
  for (const CheckupItem& item : checkup) {
    text += fmt::format("{:<8} {:<18} {}\n", word(item.status), item.name, one_line(item.found));
    if (!item.advice.empty()) text += fmt::format("{:<27} {}\n", "", one_line(item.advice));
  }
  return text;
}

std::string checkup_json(const Checkup& checkup) {
  Json checks = Json::array();
  for (const CheckupItem& item : checkup) {
    checks.push_back({{"check", item.name},
                      {"status", word(item.status)},
                      {"found", one_line(item.found)},
                      {"advice", text_or_null(one_line(item.advice))}});
  }
  const Json json = {{"schema", "aggregate-power/doctor-1"},
                     {"holds", !has_problem(checkup)},
                     {"checks", std::move(checks)}};
  return json.dump(2, ' ', true) + "\n";
}

}  // namespace aggregate_power
