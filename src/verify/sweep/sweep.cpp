// Verifies the points of a sweep, several at a time.
#include "verify/sweep/sweep.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "verify/run/metrics.h"

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
  return mapped<std::string>(point.at("artifacts").items,
                             [](const JsonValue& artifact) { return artifact.at("path").text; });
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

// The listed files: that each is there, below the root, and has its digest. `could_not_open` is set
// if one that is there cannot be read.
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

// Everything else, value by value, and whether the list names all files and no others.
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

constexpr std::string_view kManifestArtifact = "required-power-sweep-manifest";

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A point is named by its recipe and its concurrency.
using PointName = std::pair<std::string, std::string>;

// 8 and 8.0 are one concurrency.
std::string concurrency_name(const JsonValue& concurrency) {
  return concurrency.is_finite_number() ? json_number(concurrency.as_double()) : concurrency.text;
}

PointName name_of(const RequiredPoint& required) {
  return {required.row->at("recipe-fingerprint").text, concurrency_name(required.concurrency)};
}

PointName name_of(const JsonValue& published) {
  const JsonValue& identity = published.at("identity");
  return {identity.at("recipe_fingerprint").text, concurrency_name(identity.at("concurrency"))};
}

// A required point beside what is published of it.
struct PointPair {
  RequiredPoint required;
  const JsonValue* published = nullptr;  // null: nothing
};

// Pairs the points of matrix and manifest by name; those without a partner are faults.
std::vector<PointPair> paired(const std::vector<RequiredPoint>& required, const JsonValue& points,
                              const std::string& name, std::vector<PublicationFault>& faults) {
  std::map<PointName, const JsonValue*> published;
  std::vector<PointName> order;
  for (const JsonValue& point : points.items) {
    order.push_back(name_of(point));
    if (published.try_emplace(order.back(), &point).second) continue;
    faults.push_back(
        {10, name, fmt::format("the point {} is published twice", point.at("config_key").shown())});
  }
  std::vector<PointPair> pairs;
  std::vector<PointName> wanted;
  for (const RequiredPoint& point : required) {
    const auto found = published.find(name_of(point));
    pairs.push_back({point, found == published.end() ? nullptr : found->second});
    wanted.push_back(name_of(point));
    if (found == published.end()) {
      faults.push_back({10, point.label(), "is required by the matrix and not published"});
    }
  }
  const std::set<PointName> known(wanted.begin(), wanted.end());
  for (const JsonValue& point : points.items) {
    if (known.contains(name_of(point))) continue;
    faults.push_back({10,
                      fmt::format("{} conc {}", printable(point.at("config_key").text, 300),
                                  point.at("identity").at("concurrency").shown()),
                      "is published and not required by the matrix"});
  }
  if (faults.empty() && order != wanted) {
    faults.push_back({10, name, "its points are not in the order of the matrix"});
  }
  return pairs;
}

// One record is about one window, and so about one point. `records` are paths by point.
void check_records_differ(const std::vector<std::string>& records,
                          std::vector<PublicationFault>& faults) {
  std::map<std::string, std::size_t> points;
  for (const std::string& record : records) {
    if (!record.empty()) ++points[record];
  }
  for (const auto& [record, count] : points) {
    if (count == 1) continue;
    faults.push_back({3, record, fmt::format("is the audit record of {} points", count)});
  }
}

// Checks 1 to 13 of one point. Sets the path of its audit record, if there is one.
Verification verify_point(const Evidence& evidence, const Aggregates& aggregates,
                          const PointPair& pair, SharedSamples& shared, std::string& record) {
  Verification found;
  PointFaults faults(pair.required.label());
  const auto built = build_point(evidence, aggregates, pair.required, faults, found.could_not_open);
  if (built) record = built->evidence.record_path;
  faults.begin(10);
  if (pair.published != nullptr) {
    check_artifacts(evidence, *pair.published, faults, found.could_not_open);
    if (built) compare_point(built->json, *pair.published, faults);
  }
  try {
    if (built) {
      compare_metrics(built->evidence, faults);
      found.warnings =
          check_recomputed_metrics(evidence, pair.required, built->evidence, shared, faults);
      check_samples_digest(evidence, built->evidence, faults);
    }
  } catch (const FileError& error) {
    faults.add(fmt::format("cannot be checked: {}", error.what()));
    found.could_not_open = true;
  } catch (const Error& error) {
    faults.add(fmt::format("cannot be checked: {}", error.what()));
  }
  found.faults = faults.take();
  return found;
}

// A file that is found wrong twice, because its point is built and compared, is one fault.
void drop_repeated(std::vector<PublicationFault>& faults) {
  std::set<std::string> met;
  std::erase_if(faults,
                [&](const PublicationFault& fault) { return !met.insert(fault.text()).second; });
}

// Computes the digests of all listed files, file by file, so that all threads have work.
void hash_listed(const Evidence& evidence, const JsonValue& points, std::size_t most_threads) {
  std::set<std::string> paths;
  for (const JsonValue& point : points.items) {
    for (const JsonValue& artifact : point.at("artifacts").items) {
      paths.insert(artifact.at("path").text);
    }
  }
  const std::vector<std::string> all(paths.begin(), paths.end());
  in_parallel(all.size(), most_threads, [&](std::size_t i) {
    try {
      std::ignore = evidence.sha256(all[i]);
    } catch (const FileError&) {  // reported where it is needed
    } catch (const Error&) {
    }
  });
}

// Points on several nodes share their run's package, which is read once for all of them; the other
// points are alone. By number.
std::vector<std::vector<std::size_t>> points_by_run(const std::vector<PointPair>& pairs,
                                                    const Aggregates& aggregates) {
  std::vector<std::vector<std::size_t>> runs;
  std::map<std::string, std::size_t> numbers;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const RequiredPoint& point = pairs[i].required;
    const std::vector<std::string> paths = aggregates.matching(point);
    std::size_t number = runs.size();
    if (point.is_multinode && paths.size() == 1) {
      number = numbers.try_emplace(run_of_artifact(point, paths[0]), number).first->second;
    }
    if (number == runs.size()) runs.emplace_back();
    runs[number].push_back(i);
  }
  return runs;
}

Verification verified_points(const Evidence& evidence, const std::vector<PointPair>& pairs,
                             std::size_t most_threads) {
  Verification all;
  const Aggregates aggregates(evidence, most_threads);
  all.faults = aggregates.faults();
  all.could_not_open = aggregates.could_not_open();
  std::vector<Verification> each(pairs.size());
  std::vector<std::string> records(pairs.size());
  const std::vector<std::vector<std::size_t>> runs = points_by_run(pairs, aggregates);
  in_parallel(runs.size(), most_threads, [&](std::size_t run) {
    SharedSamples shared;
    for (const std::size_t i : runs[run]) {
      each[i] = verify_point(evidence, aggregates, pairs[i], shared, records[i]);
    }
  });
  for (Verification& found : each) all.add(std::move(found));
  check_records_differ(records, all.faults);
  drop_repeated(all.faults);
  return all;
}

// Throws Error for what is not a JSON object.
JsonValue read_named(const std::string& path) {
  return read_published_object(opened_regular(path));
}

}  // namespace

std::string artifacts_of(const SweepRequest& request) {
  if (!request.artifacts.empty()) return request.artifacts;
  const std::string folder = parent_of(request.manifest);
  if (last_name(folder) != kManifestArtifact) return folder;
  return parent_of(folder);
}

Verification verify_sweep(const SweepRequest& request) {
  Verification all;
  all.kind = "sweep-manifest";
  JsonValue manifest;
  try {
    manifest = read_named(request.manifest);
  } catch (const Error& error) {
    all.faults.push_back(
        {0, request.manifest, "cannot be understood: " + std::string(error.what())});
    return all;
  }
  const std::string& name = request.manifest;
  all.faults = run_faults(manifest, name, request.expected);
  const JsonValue& version = manifest.at("schema-version");
  if (version.kind != JsonKind::integer || version.as_integer() != kSweepSchemaVersion) {
    all.faults.push_back({0, name, "'schema-version'", "2", version.shown()});
    return all;
  }
  SweepReading sweep = read_sweep(manifest, name);
  append(all.faults, std::move(sweep.faults));
  append(all.faults, publication_faults(manifest.at("publication"), name));
  const JsonValue& points = manifest.at("points");
  if (!points.is_array() || points.items.empty()) {
    all.faults.push_back({0, name, "'points'", "a list of points", points.shown()});
  }
  std::vector<PublicationFault> unpaired;
  const std::vector<PointPair> pairs = paired(sweep.points, points, name, unpaired);
  append(all.faults, std::move(unpaired));
  const Evidence evidence(artifacts_of(request));
  hash_listed(evidence, points, request.most_threads);
  all.add(verified_points(evidence, pairs, request.most_threads));
  all.points = points.items.size();
  all.files = evidence.files_hashed();
  return all;
}

SweepBuild build_sweep(const std::string& description, const std::string& artifacts,
                       std::size_t most_threads) {
  SweepBuild build;
  const JsonValue sweep = read_named(description);
  SweepReading reading = read_sweep(sweep, description);
  Verification& found = build.found;
  found.faults = std::move(reading.faults);
  if (const JsonValue* const publication = sweep.find("publication")) {
    append(found.faults, publication_faults(*publication, description));
  }
  const Evidence evidence(artifacts);
  const Aggregates aggregates(evidence, most_threads);
  found.faults.insert(found.faults.end(), aggregates.faults().begin(), aggregates.faults().end());
  build.points = reading.points.size();
  std::vector<JsonValue> points(reading.points.size());
  std::vector<Verification> each(reading.points.size());
  std::vector<std::string> records(reading.points.size());
  in_parallel(points.size(), most_threads, [&](std::size_t i) {
    PointFaults faults(reading.points[i].label());
    auto built =
        build_point(evidence, aggregates, reading.points[i], faults, each[i].could_not_open);
    if (built) records[i] = built->evidence.record_path;
    if (built) points[i] = std::move(built->json);
    each[i].faults = faults.take();
  });
  for (Verification& of_point : each) found.add(std::move(of_point));
  check_records_differ(records, found.faults);
  drop_repeated(found.faults);
  if (found.holds()) build.text = indented_json(manifest_of(sweep, std::move(points)));
  return build;
}

}  // namespace aggregate_power
