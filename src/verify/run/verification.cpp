// Writes down what a verification found.
#include "verify/run/verification.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Json fault_json(const PublicationFault& fault) {
  const auto text = [](const std::string& value) { return text_or_null(printable_path(value)); };
  Json json = {{"check", fault.check == 0 ? Json() : Json(fault.check)},
               {"where", text(fault.where)},
               {"what", text(fault.what)},
               {"expected", text(fault.expected)},
               {"found", text(fault.found)}};
  if (!fault.verdict.empty()) json["verdict"] = fault.verdict;
  return json;
}

}  // namespace

std::string PublicationFault::text() const {
  std::string line = fmt::format("{}: {}{}{}", where, verdict, verdict.empty() ? "" : ": ", what);
  if (!expected.empty()) line += fmt::format(", expected {}, found {}", expected, found);
  return one_line(line);
}

void Verification::add(Verification other) {
  std::ranges::move(other.faults, std::back_inserter(faults));
  std::ranges::move(other.warnings, std::back_inserter(warnings));
  could_not_open |= other.could_not_open;
}

std::string verification_text(const Verification& found) {
  std::string text;
  for (const PublicationFault& fault : found.faults) text += fault.text() + "\n";
  return text + fmt::format("{}, {}: {}\n",
                            counted(found.points, found.kind == "runs" ? "run" : "point"),
                            counted(found.files, "file"),
                            found.holds() ? "all holds" : counted(found.faults.size(), "fault"));
}

std::string verification_json(const Verification& found, const std::string& file) {
  const Json json = {{"schema", "aggregate-power/verify-1"},
                     {"file", printable_path(file)},
                     {"kind", text_or_null(found.kind)},
                     {"points", found.points},
                     {"files", found.files},
                     {"holds", found.holds()},
                     {"faults", list_of(found.faults, fault_json)},
                     {"warnings", list_of(found.warnings, [&](const std::string& warning) -> Json {
                        return printable_path(warning);
                      })}};
  return indented_lines(json);
}

}  // namespace aggregate_power
