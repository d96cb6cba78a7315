// Writes a checkup down.
#include "runs/inspect/checkup.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"

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
  const TextTable table("[ <8] [ <18] [ <]");
  std::string text;
  for (const CheckupItem& item : checkup) {
    table.add({word(item.status), item.name, one_line(item.found)}, text);
    if (!item.advice.empty()) table.add({"", "", one_line(item.advice)}, text);
  }
  return text;
}

std::string checkup_json(const Checkup& checkup) {
  const Json json = {{"schema", "aggregate-power/doctor-1"},
                     {"holds", !has_problem(checkup)},
                     {"checks", list_of(checkup, [&](const CheckupItem& item) -> Json {
                        return {{"check", item.name},
                                {"status", word(item.status)},
                                {"found", one_line(item.found)},
                                {"advice", text_or_null(one_line(item.advice))}};
                      })}};
  return indented_lines(json);
}

}  // namespace aggregate_power
