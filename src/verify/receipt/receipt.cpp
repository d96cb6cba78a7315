// Checks a receipt's own digest, its archives, and what they say of its points.
#include "verify/receipt/receipt.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "store/catalogue/retained_files.h"
#include "verify/sweep/manifest.h"

namespace aggregate_power {
namespace {

bool has_item(const JsonValue& list, const JsonValue& item) {
  return std::ranges::any_of(list.items,
                             [&](const JsonValue& other) { return other.text == item.text; });
}

bool has_repeated(const JsonValue& list) {
  std::set<std::string> met;
  return !std::ranges::all_of(list.items,
                              [&](const JsonValue& item) { return met.insert(item.text).second; });
}

// Rules that concern several keys of one point; empty: they hold.
std::string point_fault(const JsonValue& point) {
  const JsonValue& ids = point.at("artifact_ids");
  if (point.at("config").members.empty()) return "has no config";
  if (point.at("required_metrics").items.empty()) return "requires no metric";
  if (point.at("execution_id").text.empty()) return "has no execution";
  if (has_repeated(ids)) return "names an artifact twice";
  if (!has_item(ids, point.at("execution_artifact_id"))) return "has its execution in no artifact";
  if (!has_item(ids, point.at("normalized_artifact_id"))) return "has its result in no artifact";
  const bool is_evaluation = point.at("kind").text == "eval";
  const bool is_raw = point.at("normalized_format").text == "lm-eval";
  if (is_raw && (!is_evaluation || point.at("metadata_path").text.empty())) {
    return "has a raw result without its metadata";
  }
  if (!is_evaluation) return {};
  if (point.at("task").text.empty() || point.at("filters").items.empty() ||
      point.at("sample_count").as_integer().value_or(0) <= 0 || has_repeated(point.at("filters")) ||
      point.at("samples_path").text.empty() || !has_item(ids, point.at("samples_artifact_id"))) {
    return "does not name its task, filters, count and samples";
  }
  return {};
}

void check_points(const JsonValue& receipt, const std::string& name,
                  std::vector<PublicationFault>& faults) {
  std::set<std::string> met;
  for (const JsonValue& point : receipt.at("points").items) {
    const std::string& id = point.at("point_id").text;
    const std::string fault = point_fault(point);
    if (!fault.empty()) faults.push_back({0, name, fmt::format("point {} {}", id, fault)});
    if (!met.insert(id).second)
      faults.push_back({0, name, fmt::format("point {} occurs twice", id)});
  }
  if (met.empty()) faults.push_back({0, name, "has no points"});
}

void check_id(JsonValue receipt, const std::string& name, std::vector<PublicationFault>& faults) {
  const std::string stated = receipt.at("receipt_id").text;
  std::erase_if(receipt.members, [](const auto& member) { return member.first == "receipt_id"; });
  const std::string actual = sha256_of(receipt_bytes(receipt));
  if (stated != actual) faults.push_back({0, name, "'receipt_id'", actual, stated});
}

void check_artifact_set(const JsonValue& receipt, const std::string& name,
                        std::vector<PublicationFault>& faults) {
  const auto fault = [&](std::string what, std::string expected = {}, std::string found = {}) {
    faults.push_back({0, name, std::move(what), std::move(expected), std::move(found)});
  };
  std::map<std::string, const JsonValue*> listed;
  for (const JsonValue& artifact : receipt.at("artifacts").items) {
    const std::string& id = artifact.at("id").text;
    if (!listed.try_emplace(id, &artifact).second)
      fault(fmt::format("artifact {} occurs twice", id));
  }
  std::set<std::string> needed;
  for (const JsonValue& point : receipt.at("points").items) {
    for (const JsonValue& id : point.at("artifact_ids").items) {
      needed.insert(id.text);
      const auto artifact = listed.find(id.text);
      if (artifact == listed.end()) continue;
      const std::string& run = artifact->second->at("run_id").text;
      if (run == point.at("source_run_id").text) continue;
      fault(fmt::format("the run of artifact {}", id.text), point.at("source_run_id").text, run);
    }
  }
  for (const std::string& id : needed) {
    if (!listed.contains(id)) fault(fmt::format("artifact {} is needed and not listed", id));
  }
  for (const auto& [id, artifact] : listed) {
    if (!needed.contains(id)) fault(fmt::format("artifact {} is listed and not needed", id));
  }
}

// Its points, its own digest, and the set of its artifacts. `receipt` comes from shaped_receipt(),
// without a fault. May throw Error.
void check_rules(const JsonValue& receipt, const std::string& name,
                 std::vector<PublicationFault>& faults) {
  check_points(receipt, name, faults);
  check_id(receipt, name, faults);
  check_artifact_set(receipt, name, faults);
}

constexpr std::size_t kMostTextBytes = 16 << 20;

using ArtifactId = std::string;  // as spelled

// A small member of an archive, kept while the archive is read.
struct KeptText {
  std::string text;
  bool is_too_large = false;
  bool is_there = false;

  void take(std::string_view piece) {
    is_there = true;
    if (text.size() + piece.size() > kMostTextBytes) is_too_large = true;
    if (!is_too_large) text += piece;
  }
};

// What the checks of all points need of the archives. Each archive is read by one thread.
struct Contents {
  std::map<std::pair<ArtifactId, std::string>, KeptText> texts;
  std::map<std::string, std::unique_ptr<EvaluationSamples>> samples;  // by point
  // By archive, then by path.
  std::map<ArtifactId, std::multimap<std::string, TakeMember>> wanted;
};

void want_text(Contents& contents, const JsonValue& id, const JsonValue& path) {
  const auto [kept, is_new] = contents.texts.try_emplace({id.text, path.text});
  if (!is_new) return;
  KeptText* const text = &kept->second;
  contents.wanted[id.text].emplace(path.text,
                                   [text](std::string_view piece) { text->take(piece); });
}

Contents wanted_contents(const JsonValue& receipt) {
  Contents contents;
  for (const JsonValue& point : receipt.at("points").items) {
    want_text(contents, point.at("execution_artifact_id"), point.at("execution_path"));
    want_text(contents, point.at("normalized_artifact_id"), point.at("normalized_path"));
    if (point.at("kind").text != "eval") continue;
    auto& samples = contents.samples[point.at("point_id").text];
    samples = std::make_unique<EvaluationSamples>(point);
    EvaluationSamples* const taker = samples.get();
    contents.wanted[point.at("samples_artifact_id").text].emplace(
        point.at("samples_path").text, [taker](std::string_view piece) { taker->take(piece); });
  }
  return contents;
}

// ---- Its archives

// The archive of an artifact beside the receipt; empty: there is none.
std::string archive_path(const std::string& receipt, const std::string& name,
                         const ArtifactId& id) {
  std::vector<std::string> names = {id + ".zip"};
  if (is_path_below(name) && name.find('/') == std::string::npos) {
    names.insert(names.begin(), name + ".zip");
  }
  for (const std::string& candidate : names) {
    if (is_regular_file(beside(receipt, candidate))) return beside(receipt, candidate);
  }
  return {};
}

void compare_members(const JsonValue& artifact, const std::vector<ArchiveMember>& members,
                     const std::string& archive, std::vector<PublicationFault>& faults) {
  const auto fault = [&](std::string_view path, std::string what, std::string expected = {},
                         std::string found = {}) {
    faults.push_back({0, fmt::format("{}/{}", archive, printable(path, 500)), std::move(what),
                      std::move(expected), std::move(found)});
  };
  std::map<std::string, const JsonValue*> listed;
  std::string before;
  for (const JsonValue& member : artifact.at("members").items) {
    const std::string& path = member.at("path").text;
    if (!listed.try_emplace(path, &member).second) fault(path, "is listed twice");
    if (path < before) fault(path, "is not listed in the order of the paths");
    before = path;
  }
  for (const ArchiveMember& member : members) {
    const auto found = listed.find(member.path);
    if (found == listed.end()) {
      fault(member.path, "is in the archive and not listed");
      continue;
    }
    const JsonValue& said = *found->second;
    const std::string bytes = std::to_string(member.bytes);
    if (said.at("size").text != bytes) fault(member.path, "size", said.at("size").text, bytes);
    if (said.at("sha256").text != member.sha256) {
      fault(member.path, "SHA-256", said.at("sha256").text, member.sha256);
    }
    listed.erase(found);
  }
  for (const auto& [path, member] : listed) fault(path, "is listed and not in the archive");
}

// May throw FileError, before anything of the archive is read.
Verification verify_archive(const JsonValue& artifact, const std::string& path,
                            const Contents& contents) {
  Verification found;
  const OpenedFile file = opened_regular(path);
  found.files = 1;
  try {
    const std::string digest = sha256_of(file);
    const std::string& stated = artifact.at("sha256").text;
    if (digest != stated) found.faults.push_back({0, path, "SHA-256", stated, digest});
    const auto wanted = contents.wanted.find(artifact.at("id").text);
    const std::multimap<std::string, TakeMember> none;
    const auto& takers = wanted == contents.wanted.end() ? none : wanted->second;
    compare_members(artifact, read_receipt_archive(file, takers), path, found.faults);
  } catch (const FileError& error) {
    found.faults.push_back({0, path, fmt::format("cannot be read: {}", error.what())});
  } catch (const Error& error) {
    found.faults.push_back({0, path, fmt::format("breaks a rule of archives: {}", error.what())});
  }
  return found;
}

Verification verify_artifact(const JsonValue& artifact, const std::string& receipt,
                             const Contents& contents) {
  const std::string& id = artifact.at("id").text;
  const std::string& name = artifact.at("name").text;
  const std::string path = archive_path(receipt, name, id);
  Verification found;
  if (path.empty()) {
    found.faults.push_back({0, receipt,
                            fmt::format("artifact {}: neither {}.zip nor {}.zip is beside it", id,
                                        printable(name, 200), id)});
    return found;
  }
  try {
    return verify_archive(artifact, path, contents);
  } catch (const FileError& error) {
    found.faults.push_back({0, path, error.what()});
    found.could_not_open = true;
    return found;
  }
}

// ---- Its points

// Null: it is not there, or is not JSON, which is a fault.
std::optional<JsonValue> kept_json(const Contents& contents, const JsonValue& id,
                                   const JsonValue& path, PointFaults& faults) {
  const KeptText& kept = contents.texts.at({id.text, path.text});
  const auto fault = [&](const std::string& why) {
    faults.add(fmt::format("{} of artifact {} {}", printable(path.text, 200), id.text, why));
  };
  if (!kept.is_there) fault("was not read");
  if (kept.is_too_large) fault("is larger than 16 MiB");
  if (!kept.is_there || kept.is_too_large) return std::nullopt;
  try {
    JsonValue value = parse_json(kept.text);
    const auto key = repeated_json_key(kept.text);
    if (!key) return value;
    fault(repetition_of(*key));
    return std::nullopt;
  } catch (const JsonError& error) {
    fault(fmt::format("is not JSON: {}", error.what()));
    return std::nullopt;
  }
}

Verification verify_point_content(const JsonValue& receipt, const JsonValue& point,
                                  const Contents& contents) {
  Verification found;
  PointFaults faults(fmt::format("point {}", point.at("point_id").text));
  const auto execution =
      kept_json(contents, point.at("execution_artifact_id"), point.at("execution_path"), faults);
  if (execution) check_execution(receipt, point, *execution, faults);
  const auto normalized =
      kept_json(contents, point.at("normalized_artifact_id"), point.at("normalized_path"), faults);
  const JsonValue* row = nullptr;
  if (normalized && point.at("normalized_format").text == "lm-eval") {
    found.warnings.push_back(
        fmt::format("{}: its result is lm-eval's own: only the coverage of its samples is checked",
                    faults.point()));
  } else if (normalized) {
    row = normalized_row(point, *normalized, faults);
    if (row != nullptr) check_row(point, *row, faults);
  }
  const auto samples = contents.samples.find(point.at("point_id").text);
  if (samples != contents.samples.end()) samples->second->check(row, faults);
  found.faults = faults.take();
  return found;
}

void verify_source_receipt(const JsonValue& value, const std::string& path,
                           std::size_t most_threads, Verification& all) {
  const JsonValue receipt = shaped_receipt(value, path, all.faults);
  all.points = receipt.at("points").items.size();
  if (!all.holds()) return;
  check_rules(receipt, path, all.faults);
  if (!all.holds()) return;
  const Contents contents = wanted_contents(receipt);
  const std::vector<JsonValue>& artifacts = receipt.at("artifacts").items;
  std::vector<Verification> each(artifacts.size());
  in_parallel(artifacts.size(), most_threads,
              [&](std::size_t i) { each[i] = verify_artifact(artifacts[i], path, contents); });
  for (Verification& of_archive : each) {
    all.files += of_archive.files;
    all.add(std::move(of_archive));
  }
  for (const JsonValue& point : receipt.at("points").items) {
    all.add(verify_point_content(receipt, point, contents));
  }
}

// The two archives that a publication record names, if they are beside it.
void verify_publication_record(const JsonValue& value, const std::string& path, Verification& all) {
  const JsonValue record = shaped_publication_record(value, path, all.faults);
  if (!all.holds()) return;
  for (const std::string what : {"receipt", "changelog"}) {
    const std::string& id = record.at(what + "_artifact_id").text;
    const std::string& stated = record.at(what + "_artifact_sha256").text;
    const std::string archive = archive_path(path, "", id);
    if (archive.empty()) {
      all.warnings.push_back(fmt::format(
          "{}: {}.zip is not beside it: the digest of its {} is not checked", path, id, what));
      continue;
    }
    const std::string digest = sha256_of(opened_regular(archive));
    ++all.files;
    if (digest != stated) all.faults.push_back({0, archive, "SHA-256", stated, digest});
  }
}

}  // namespace

Verification verify_receipt(const std::string& path, std::size_t most_threads) {
  Verification all;
  const OpenedFile file = opened_regular(path);
  all.files = 1;
  try {
    const JsonValue value = read_published_object(file);
    all.kind = value.at("kind").text;
    if (all.kind == "publication-record") {
      verify_publication_record(value, path, all);
    } else {
      verify_source_receipt(value, path, most_threads, all);
    }
  } catch (const Error& error) {
    all.faults.push_back({0, path, fmt::format("cannot be understood: {}", error.what())});
  }
  return all;
}

}  // namespace aggregate_power
