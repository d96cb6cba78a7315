// Finds each value in which two points differ.
#include "publication/compare_points.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/unicode.h"

namespace aggregate_power {
namespace {

std::string key_below(const std::string& place, const std::string& key) {
  return place.empty() ? printable(key) : fmt::format("{}.{}", place, printable(key));
}

void compare_values(const JsonValue& built, const JsonValue& published, const std::string& place,
                    PointFaults& faults);

void compare_objects(const JsonValue& built, const JsonValue& published, const std::string& place,
                     PointFaults& faults) {
  for (const auto& [key, value] : built.members) {
    const JsonValue* const said = published.find(key);
    if (said == nullptr) {
      faults.add(fmt::format("'{}' of the manifest", key_below(place, key)), value.shown(),
                 "nothing");
    } else {
      compare_values(value, *said, key_below(place, key), faults);
    }
  }
  for (const auto& [key, value] : published.members) {
    if (built.find(key) != nullptr) continue;
    faults.add(fmt::format("'{}' of the manifest", key_below(place, key)), "nothing",
               value.shown());
  }
}

void compare_values(const JsonValue& built, const JsonValue& published, const std::string& place,
                    PointFaults& faults) {
  if (equal_in_python(built, published)) return;
  if (built.is_object() && published.is_object()) {
    compare_objects(built, published, place, faults);
  } else if (built.is_array() && published.is_array() &&
             built.items.size() == published.items.size()) {
    for (std::size_t i = 0; i < built.items.size(); ++i) {
      compare_values(built.items[i], published.items[i], fmt::format("{}[{}]", place, i), faults);
    }
  } else if (built.is_array() && published.is_array()) {
    faults.add(fmt::format("the length of '{}' of the manifest", place),
               std::to_string(built.items.size()), std::to_string(published.items.size()));
  } else {
    faults.add(fmt::format("'{}' of the manifest", place), built.shown(), published.shown());
  }
}

std::vector<std::string> listed_paths(const JsonValue& point) {
  std::vector<std::string> paths;
  for (const JsonValue& artifact : point.at("artifacts").items) {
    paths.push_back(artifact.at("path").text);
  }
  return paths;
}

void compare_file_sets(const JsonValue& built, const JsonValue& published, PointFaults& faults) {
  const std::vector<std::string> ours = listed_paths(built);
  const std::vector<std::string> theirs = listed_paths(published);
  const std::set<std::string> built_set(ours.begin(), ours.end());
  const std::set<std::string> published_set(theirs.begin(), theirs.end());
  for (const std::string& path : built_set) {
    if (published_set.contains(path)) continue;
    faults.add_at(path,
                  fmt::format("belongs to {} and is not among its artifacts", faults.point()));
  }
  for (const std::string& path : published_set) {
    if (built_set.contains(path)) continue;
    faults.add_at(path, fmt::format("is among the artifacts of {} and does not belong to it",
                                    faults.point()));
  }
  if (published_set.size() != theirs.size()) {
    faults.add("its list of artifacts names a file twice");
  } else if (built_set == published_set && ours != theirs) {
    faults.add("its list of artifacts is not sorted by path");
  }
}

}  // namespace

void check_artifacts(const Evidence& evidence, const JsonValue& published, PointFaults& faults,
                     bool& could_not_open) {
  for (const JsonValue& artifact : published.at("artifacts").items) {
    const JsonValue& path = artifact.at("path");
    if (!path.is_string()) {
      faults.add("an artifact of the manifest has no path");
      continue;
    }
    const JsonValue& state = artifact.at("validation_state");
    if (state.text != "valid") {
      faults.add_at(path.text, "'validation_state' of the manifest", "'valid'", state.shown());
    }
    for (const JsonValue::Member& member : artifact.members) {
      if (member.first == "path" || member.first == "sha256" || member.first == "validation_state")
        continue;
      faults.add_at(path.text, fmt::format("the manifest has '{}' of it", printable(member.first)),
                    "nothing", member.second.shown());
    }
    try {
      if (const std::string fault = evidence.artifact_fault(path.text); !fault.empty()) {
        faults.add_at(path.text, fault);
        continue;
      }
      const std::string digest = evidence.sha256(path.text);
      const JsonValue& stated = artifact.at("sha256");
      if (stated.is_string() && stated.text == digest) continue;
      faults.add_at(path.text, "SHA-256", stated.is_string() ? stated.text : stated.shown(),
                    digest);
    } catch (const FileError& error) {
      faults.add_at(path.text, error.what());
      could_not_open = true;
    }
  }
}

void compare_point(const JsonValue& built, const JsonValue& published, PointFaults& faults) {
  // The artifacts are compared by path, their digests by check_artifacts().
  JsonValue ours = built;
  JsonValue theirs = published;
  const auto is_artifacts = [](const JsonValue::Member& member) {
    return member.first == "artifacts";
  };
  std::erase_if(ours.members, is_artifacts);
  std::erase_if(theirs.members, is_artifacts);
  compare_values(ours, theirs, "", faults);
  compare_file_sets(built, published, faults);
}

}  // namespace aggregate_power
