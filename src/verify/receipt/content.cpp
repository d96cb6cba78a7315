// Checks execution evidence, rows and samples.
#include "verify/receipt/receipt.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/files.h"
#include "base/files/hash.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::uint64_t kMostSamples = 100'000'000;
constexpr std::size_t kMostLineBytes = 16 << 20;
constexpr double kScoreTolerance = 1e-12;

bool is_integer(const JsonValue& value, std::int64_t expected) {
  return value.kind == JsonKind::integer && value.as_integer() == expected;
}

// The row's key for a key of a point's config.
std::string row_key(const std::string& key) {
  if (key == "hardware") return "hw";
  if (key == "specMethod") return "spec_decoding";
  if (key == "recipeFingerprint") return "recipe_fingerprint";
  return key;
}

JsonValue config_value(const JsonValue& row, const std::string& key) {
  if (key == "model") {
    const JsonValue* const model = row.find("infmax_model_prefix");
    return model != nullptr ? *model : row.at("model_prefix");
  }
  JsonValue value = row.at(row_key(key));
  if (key == "hardware" && value.is_string()) {
    value.text = lower_ascii(value.text);
    value.text.resize(std::min(value.text.find('-'), value.text.size()));
  }
  return value;
}

// A metric of the row, or where AIPerf's normalized form has it.
const JsonValue& metric_value(const JsonValue& row, const std::string& key) {
  const JsonValue& value = row.at(key);
  if (!value.is_null()) return value;
  const JsonValue& throughput = row.at("request_metrics").at("throughput");
  if (key == "output_tput_tps") return throughput.at("output").at("tokens_per_second");
  if (key == "total_tput_tps") return throughput.at("total").at("tokens_per_second");
  if (key == "duration_seconds") return throughput.at("duration_seconds");
  return value;
}

}  // namespace

void check_execution(const JsonValue& receipt, const JsonValue& point, const JsonValue& execution,
                     PointFaults& faults) {
  const JsonValue& source = execution.at("source");
  const JsonValue& native = execution.at("native_receipt");
  const auto expect = [&](const char* what, const JsonValue& expected, const JsonValue& found) {
    if (expected.kind != found.kind || !equal_in_python(expected, found)) {
      faults.add(fmt::format("'{}' of the execution evidence", what), expected.shown(),
                 found.shown());
    }
  };
  expect("schema_version", JsonValue::integer(1), execution.at("schema_version"));
  expect("point_id", point.at("point_id"), execution.at("point_id"));
  expect("execution_id", point.at("execution_id"), execution.at("execution_id"));
  expect("bundle_digest", point.at("bundle_digest"), execution.at("bundle_digest"));
  expect("mode", point.at("kind"), execution.at("mode"));
  expect("client_exit_code", JsonValue::integer(0), execution.at("client_exit_code"));
  expect("source.repository", receipt.at("repository"), source.at("repository"));
  const JsonValue& run = source.at("run_id");  // a number or a text
  expect("source.run_id", point.at("source_run_id"),
         run.kind == JsonKind::integer ? JsonValue::string(run.text) : run);
  expect("source.attempt", point.at("source_attempt"), source.at("attempt"));
  expect("source.head_sha", receipt.at("source_head_sha"), source.at("head_sha"));
  expect("native_receipt.state", JsonValue::string("COMPLETED"), native.at("state"));
  expect("native_receipt.manifest_sha256", point.at("native_manifest_sha256"),
         native.at("manifest_sha256"));
  const std::string& job = native.at("job_id").text;
  if (!is_ascii_digits(job) || job[0] == '0') {
    faults.add("'native_receipt.job_id' of the execution evidence", "a job's number",
               native.at("job_id").shown());
  }
}

const JsonValue* normalized_row(const JsonValue& point, const JsonValue& normalized,
                                PointFaults& faults) {
  const bool is_evaluation = point.at("kind").text == "eval";
  const auto matches = [&](const JsonValue& row) {
    const JsonValue* const conc = row.find("conc");
    return row.is_object() &&
           equal_in_python(conc != nullptr ? *conc : row.at("users"), point.at("concurrency")) &&
           (!is_evaluation || equal_in_python(row.at("task"), point.at("task")));
  };
  std::vector<const JsonValue*> rows;
  if (normalized.is_array()) {
    for (const JsonValue& row : normalized.items) {
      if (matches(row)) rows.push_back(&row);
    }
  } else if (matches(normalized)) {
    rows.push_back(&normalized);
  }
  if (rows.size() == 1) return rows[0];
  faults.add("rows of the normalized result with its concurrency and task", "1",
             std::to_string(rows.size()));
  return nullptr;
}

void check_row(const JsonValue& point, const JsonValue& row, PointFaults& faults) {
  const auto expect = [&](const std::string& key, const JsonValue& expected,
                          const JsonValue& found) {
    faults.expect(fmt::format("'{}' of the normalized row", printable(key)), expected, found);
  };
  for (const auto& [key, expected] : point.at("config").members) {
    expect(key, expected, config_value(row, key));
  }
  const JsonValue& topology = point.at("topology");
  if (!row.at("deployment").is_null()) expect("deployment", topology, row.at("deployment"));
  for (const char* const key : {"disagg", "is_multinode"}) {
    const JsonValue& value = row.at(key);
    if (value.kind == JsonKind::boolean && !value.is_true()) continue;
    faults.add(fmt::format("'{}' of the normalized row", key), "false", value.shown());
  }
  expect("tp", topology.at("tp"), row.at("tp"));
  expect("ep", topology.at("ep"), row.at("ep"));
  expect("num_gpus", topology.at("serving_gpus"), row.at("num_gpus"));
  for (const JsonValue& key : point.at("required_metrics").items) {
    const JsonValue& value = metric_value(row, key.text);
    if (value.is_finite_number() && value.as_double() >= 0) continue;
    faults.add(fmt::format("'{}' of the normalized row", printable(key.text)),
               "a number of 0 or more", value.shown());
  }
  if (!point.at("dataset").members.empty()) {
    expect("dataset", point.at("dataset"), row.at("dataset"));
  }
}

EvaluationSamples::EvaluationSamples(const JsonValue& point)
    : point_(point), task_(point.at("task").text) {
  for (const JsonValue& filter : point.at("filters").items) filters_.push_back(filter.text);
  documents_ = static_cast<std::uint64_t>(point.at("sample_count").as_integer().value_or(0));
  if (documents_ > kMostSamples / std::max<std::size_t>(filters_.size(), 1)) {
    fault_ = fmt::format("{} samples are more than can be checked", documents_);
    return;
  }
  met_.resize(documents_ * filters_.size());
}

void EvaluationSamples::take(std::string_view piece) {
  if (!fault_.empty()) return;
  if (piece.empty()) take_line(line_);
  for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    line_ += piece.substr(0, end);
    take_line(line_);
    line_.clear();
    piece.remove_prefix(end + 1);
  }
  line_ += piece;
  if (line_.size() > kMostLineBytes) fault_ = fmt::format("line {}: is too long", lines_ + 1);
}

void EvaluationSamples::take_line(std::string_view line) {
  ++lines_;
  if (!fault_.empty() || strip(line).empty()) return;
  try {
    fault_ = fault_of(parse_json(line));
  } catch (const JsonError& error) {
    fault_ = error.what();
  }
  if (!fault_.empty()) fault_ = fmt::format("line {}: {}", lines_, fault_);
}

std::string EvaluationSamples::fault_of(const JsonValue& sample) {
  const JsonValue& id = sample.at("doc_id");
  const auto document = id.kind == JsonKind::integer ? id.as_integer() : std::nullopt;
  if (!document || *document < 0 || static_cast<std::uint64_t>(*document) >= documents_) {
    return fmt::format("'doc_id' is {}, not one of {}", id.shown(), documents_);
  }
  const JsonValue& name = sample.at("filter");
  const auto filter = std::ranges::find(filters_, name.text);
  if (!name.is_string() || filter == filters_.end()) {
    return fmt::format("'filter' is {}, which is not required", name.shown());
  }
  const JsonValue* const task = sample.find("task_name");
  if (task != nullptr && task->text != task_) {
    return fmt::format("'task_name' is {}, not '{}'", task->shown(), printable(task_));
  }
  const auto place = static_cast<std::size_t>(*document) * filters_.size() +
                     static_cast<std::size_t>(filter - filters_.begin());
  if (met_[place]) return fmt::format("document {} occurs twice for a filter", *document);
  met_[place] = true;
  ++observed_;
  if (*filter != "strict-match") return {};
  const JsonValue* score = sample.find("exact_match,strict-match");
  if (score == nullptr) score = &sample.at("exact_match");
  if (!score->is_number() || (score->as_double() != 0 && score->as_double() != 1)) {
    return fmt::format("the score is {}, not 0 or 1", score->shown());
  }
  strict_passed_ += score->as_double() == 1 ? 1 : 0;
  return {};
}

void EvaluationSamples::check(const JsonValue* row, PointFaults& faults) const {
  const std::string path = printable(point_.at("samples_path").text, 200);
  if (!fault_.empty()) {
    faults.add(fmt::format("the samples in {}: {}", path, fault_));
    return;
  }
  const std::uint64_t wanted = documents_ * filters_.size();
  if (observed_ != wanted) {
    faults.add(fmt::format("the samples in {}, each document with each filter", path),
               std::to_string(wanted), std::to_string(observed_));
    return;
  }
  if (row == nullptr) return;
  if (!is_integer(row->at("n_eff"), static_cast<std::int64_t>(documents_))) {
    faults.add("'n_eff' of the normalized row", std::to_string(documents_),
               row->at("n_eff").shown());
  }
  const double score = static_cast<double>(strict_passed_) / static_cast<double>(documents_);
  const JsonValue& stated = row->at("em_strict");
  if (stated.is_finite_number() && std::fabs(stated.as_double() - score) <= kScoreTolerance) return;
  faults.add(fmt::format("'em_strict' of the normalized row, against the samples in {}", path),
             json_number(score), stated.shown());
}

// ---- Judges the directory of an archive, then unpacks it into digests.

namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

[[noreturn]] void refuse_member(const OpenedFile& file, std::string_view name,
                                const std::string& why) {
  throw Error(fmt::format("{}: member {}: {}", file.name(), printable(name, 200), why));
}

std::string_view without_slash(std::string_view name) {
  if (name.ends_with('/')) name.remove_suffix(1);
  return name;
}

std::string entry_fault(const ZipEntry& entry) {
  if (std::string fault = name_fault(entry.name); !fault.empty()) return fault;
  if (!entry.is_utf8 && !is_ascii(entry.name)) return "its name is not marked as UTF-8";
  const std::uint32_t type = entry.mode & S_IFMT;
  if (type != 0 && type != S_IFREG && type != S_IFDIR) return "is a link or a special file";
  if (entry.bytes > kMostMemberBytes) return "is larger than 10 GiB";
  return {};
}

// Sizes of the files by path.
std::map<std::string, std::uint64_t> judged_directory(const OpenedFile& file) {
  std::map<std::string, std::uint64_t> files;
  std::set<std::string> names;
  std::uint64_t total = 0;
  for (const ZipEntry& entry : zip_directory(file)) {
    if (const std::string fault = entry_fault(entry); !fault.empty()) {
      refuse_member(file, entry.name, fault);
    }
    const std::string path(without_slash(entry.name));
    if (!names.insert(path).second) refuse_member(file, entry.name, "occurs twice");
    if (entry.name.ends_with('/')) continue;
    total += entry.bytes;
    if (total > kMostArchiveBytes) {
      throw Error(fmt::format("{}: holds more than 20 GiB", file.name()));
    }
    files[path] = entry.bytes;
  }
  for (const std::string& name : names) {
    for (std::size_t end = name.find('/'); end != std::string::npos;
         end = name.find('/', end + 1)) {
      const std::string above = name.substr(0, end);
      if (files.contains(above)) refuse_member(file, above, "is a file and a folder");
    }
  }
  return files;
}

ArchiveMember unpacked(ArchiveReader& reader, std::string path, std::uint64_t most_bytes,
                       const OpenedFile& file, const std::multimap<std::string, TakeMember>& wanted,
                       std::span<char> piece) {
  const auto [begin, end] = wanted.equal_range(path);
  ArchiveMember member{std::move(path), 0, {}};
  Sha256 hash;
  while (const std::size_t count = reader.read(piece)) {
    member.bytes += count;
    if (member.bytes > most_bytes) refuse_member(file, member.path, "is longer than it says");
    hash.add({piece.data(), count});
    for (auto taker = begin; taker != end; ++taker) taker->second({piece.data(), count});
  }
  for (auto taker = begin; taker != end; ++taker) taker->second({});
  if (member.bytes != most_bytes) refuse_member(file, member.path, "is shorter than it says");
  member.sha256 = hash.hex();
  return member;
}

}  // namespace

std::string name_fault(std::string_view name) {
  const std::string_view path = without_slash(name);
  if (name.find('\\') != std::string_view::npos) return "has a backslash in its name";
  if (name.find('\0') != std::string_view::npos) return "has a NUL in its name";
  if (name.starts_with('/')) return "has an absolute name";
  const bool has_drive = name.size() > 1 && name[1] == ':' && lower_ascii(name)[0] >= 'a' &&
                         lower_ascii(name)[0] <= 'z';
  if (has_drive) return "has a drive in its name";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return "has a name that leads elsewhere";
    at = end + 1;
  }
  return {};
}

std::vector<ArchiveMember> read_receipt_archive(
    const OpenedFile& file, const std::multimap<std::string, TakeMember>& wanted) {
  std::map<std::string, std::uint64_t> expected = judged_directory(file);
  std::vector<ArchiveMember> members;
  std::vector<char> piece(kPieceBytes);
  ArchiveReader reader(file);
  while (const auto next = reader.next()) {
    if (next->kind == Member::Kind::folder) continue;
    const auto entry = expected.find(next->name);
    if (entry == expected.end() || next->kind != Member::Kind::file) {
      refuse_member(file, next->name, "is another one in the zip's directory");
    }
    members.push_back(unpacked(reader, next->name, entry->second, file, wanted, piece));
    expected.erase(entry);
  }
  if (!expected.empty()) refuse_member(file, expected.begin()->first, "cannot be found");
  std::ranges::sort(members, {}, &ArchiveMember::path);
  return members;
}

}  // namespace aggregate_power
