// Finds runs by their aggregates and records, and pairs the two.
#include "store/catalogue/published_runs.h"

#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/system/parallel.h"
#include "base/text/json.h"
#include "core/record/record_write.h"
#include "core/telemetry/lines.h"
#include "store/catalogue/retained_files.h"
#include "store/catalogue/run_record.h"

namespace aggregate_power {
namespace {

// An aggregate with another name than "agg_*.json" is recognized by its keys, if it is not larger.
constexpr std::uint64_t kMostAggregateBytes = 256 * 1024;

bool is_worth_reading(std::string_view name) {
  return name.ends_with(".json") || is_archive_name(name);
}

bool has_power_keys(const JsonValue& members) {
  return members.find(kPowerValid) != nullptr || members.find("avg_power_w") != nullptr;
}

// Where a run was named or found.
struct NamedPlace {
  std::size_t place = 0;  // among those given
  bool is_named = false;  // itself, not a folder around it
};

struct FoundFile {
  KeptPlace kept;
  NamedPlace origin;
  bool is_wanted = true;  // false: only for the aggregates that it may belong to
};

struct FoundRun {
  PublishedRun run;
  NamedPlace origin;
  std::string aggregate_identity;  // empty: it has none
  bool is_wanted = true;
  std::string remark = {};  // what its record names and was not read
};

// What was found so far.
struct Catalogue {
  unsigned most_threads;
  StoreAccess access;
  PublishedRuns found = {};
  std::deque<FoundFile> records = {};
  std::deque<FoundFile> aggregates = {};
  std::deque<FoundRun> ready = {};
  std::map<std::string, std::size_t> record_of = {};  // its index, by its identity
  std::map<std::string, NamedPlace> named = {};       // aggregates
  std::set<std::string> searched = {};                // folders around them
  std::set<std::string> with_record = {};             // aggregates
  std::set<std::string> identities = {};              // of runs in files of several
};

void add_record(Catalogue& all, const StorePath& record, NamedPlace origin, bool is_wanted = true) {
  const auto [known, is_new] = all.record_of.try_emplace(identity_of(record), all.records.size());
  if (is_new) {
    all.records.push_back({KeptPlace(record), origin, is_wanted});
  } else if (is_wanted && !all.records[known->second].is_wanted) {
    all.records[known->second] = {KeptPlace(record), origin, is_wanted};
  }
}

void add_folder(Catalogue& all, const StorePath& folder, std::size_t index) {
  const auto is_wanted = [](const TreeEntry& entry) {
    using enum TreeEntry::Kind;
    return (entry.kind == file || entry.kind == link_out) && is_worth_reading(entry.name);
  };
  for_each_below(folder, kMostLevels, is_wanted, [&](const StorePath& file) {
    if (const std::string out = file.tree->way_out(file.path); !out.empty()) {
      all.found.warnings.push_back(fmt::format("{}: {}", file.display, not_read(out)));
    } else if (is_archive_name(file.path)) {
      try {
        add_folder(all, inside(file), index);
      } catch (const FileError& error) {
        all.found.warnings.push_back(fmt::format("{}; the archive was passed over", error.what()));
      }
    } else if (is_run_record_name(last_name(file.path))) {
      add_record(all, file, {index});
    } else {
      all.aggregates.push_back({KeptPlace(file), {index}});
    }
  });
}

JsonValue parsed(const OpenedFile& file) {
  try {
    const std::string text = read_whole(file, kResultList);
    check_json_values(text, file.name());
    return parse_json(text);
  } catch (const JsonError& error) {
    throw Error(fmt::format("{}:{}", file.name(), error.what()));
  }
}

void add_ready(Catalogue& all, PublishedRun run, const StorePath& file, NamedPlace origin,
               std::size_t number) {
  run.identity = fmt::format("{}:{}", identity_of(file), number);
  if (!all.identities.insert(run.identity).second) return;
  run.name = file.display;
  all.ready.push_back({std::move(run), origin, {}, true});
}

// The record is beside it, or below.
void add_named_aggregate(Catalogue& all, const StorePath& file, NamedPlace origin) {
  all.aggregates.push_back({KeptPlace(file), origin});
  all.named.try_emplace(identity_of(file), origin);
  if (!file.folder || !all.searched.insert(file.folder->display).second) return;
  for (const StorePath& record : files_below(*file.folder, 0, is_json_name)) {
    add_record(all, record, origin, false);
  }
  if (file.folder->path == "/") return;
  for (const StorePath& record : files_below(*file.folder, kNearLevels, is_run_record_name)) {
    add_record(all, record, origin, false);
  }
}

// The report is taken for a part of the store: what it names is looked for in its folder.
// `at`: the file and the number of the line.
void add_line(Catalogue& all, const std::string& at, const StorePath& report, std::string_view line,
              NamedPlace origin) {
  const auto fail = [&](std::string_view what) {
    throw Error(fmt::format("{}: {}: expected a line of the report of a backfill", at, what));
  };
  JsonValue content;
  try {
    content = parse_json(line);
  } catch (const JsonError& error) {
    fail(error.what());
  }
  if (content.find("run") == nullptr) fail("there is no 'run'");
  const JsonValue& aggregate = content.at("aggregate");
  if (!aggregate.is_string()) return;
  const RunRecord named{report, JsonValue::object()};
  const auto place = named.find_on_disk(aggregate.text);
  if (place && place->facts) {
    add_named_aggregate(all, *place, origin);
  } else {
    const std::string out = named.way_out(aggregate.text);
    all.found.warnings.push_back(
        fmt::format("{}: {}: {}", at, aggregate.text, out.empty() ? "no such file" : out));
  }
}

// The lines of a backfill's report.
void add_report(Catalogue& all, const StorePath& file, NamedPlace origin) {
  const OpenedFile opened = file.tree->open(file.path);
  std::size_t number = 0;
  for_each_line(*opened.source(), [&](std::string_view line, bool) {
    ++number;
    if (line.find_first_not_of(" \r\t") == line.npos) return;
    add_line(all, fmt::format("{}:{}", opened.name(), number), file, line, origin);
  });
}

void add_named(Catalogue& all, const StorePath& file, NamedPlace origin) {
  if (file.path.ends_with(".jsonl")) {
    add_report(all, file, origin);
    return;
  }
  const OpenedFile opened = file.tree->open(file.path);
  JsonValue content = parsed(opened);
  if (content.is_array()) {
    for (std::size_t i = 0; i < content.items.size(); ++i) {
      add_ready(all, published_run_of(content.items[i], nullptr), file, origin, i);
    }
  } else if (content.at("schema").text.starts_with("aggregate-power/measure")) {
    const std::vector<JsonValue>& runs = content.at("runs").items;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      add_ready(all, measured_run_of(runs[i]), file, origin, i);
    }
  } else if (is_run_record(content)) {
    add_record(all, file, origin);
  } else if (content.is_object()) {
    add_named_aggregate(all, file, origin);
  } else {
    throw Error(fmt::format(
        "{}: expected an aggregate, an array of them, an audit record, or the output of 'measure --json'",
        opened.name()));
  }
}

void add_place(Catalogue& all, const std::string& path, std::size_t index) {
  const auto place = place_in_store(path, all.access);
  if (!place) throw FileError(path, "open", ENOENT);
  if (!place->facts) {
    add_folder(all, *place, index);
  } else if (is_archive_name(path)) {
    add_folder(all, inside(*place), index);
  } else {
    add_named(all, *place, {index, true});
  }
}

std::string name_without_aggregate(const RunRecord& record) {
  const auto out = record.aggregate_way_out();
  const bool is_link_out = out && is_path_below(out->name);
  return is_link_out ? join_path(record.place.folder->display, out->name) : record.place.display;
}

std::string remark_on(const RunRecord& record) {
  const auto out = record.aggregate_way_out();
  if (!out) return {};
  return fmt::format("{}: its aggregate, {}, is not read: it {}", record.place.display, out->name,
                     out->text);
}

JsonValue read_aggregate(const OpenedFile& file) {
  return json_object_of(read_whole(file, kAggregateFile), file.name());
}

// What `read` makes of a file. Returns nullopt for one that cannot be read, or contains no object,
// unless it was named itself.
template <typename Read>
std::optional<FoundRun> run_in(const FoundFile& file, const Read& read) {
  const bool must_be_run = file.origin.is_named && file.is_wanted;
  try {
    return read();
  } catch (const Error&) {
    if (must_be_run) throw;
  } catch (const FileError&) {
    if (must_be_run) throw;
  }
  return std::nullopt;
}

// Returns nullopt if it is something else.
std::optional<FoundRun> run_of_record(const FoundFile& file) {
  return run_in(file, [&]() -> std::optional<FoundRun> {
    const StorePath place = file.kept.place();
    const auto record = read_run_record(place);
    if (!record) return std::nullopt;
    const auto aggregate = record->find_aggregate();
    const bool is_there = aggregate && aggregate->facts;
    PublishedRun run = published_run_of(
        is_there ? read_aggregate(aggregate->tree->open(aggregate->path)) : JsonValue::object(),
        &record->content);
    run.record = file.kept;
    run.has_aggregate = is_there;
    run.name = is_there ? aggregate->display : name_without_aggregate(*record);
    run.identity = identity_of(is_there ? *aggregate : place);
    std::string aggregate_identity = is_there ? run.identity : "";
    return FoundRun{std::move(run), file.origin, std::move(aggregate_identity), file.is_wanted,
                    is_there ? "" : remark_on(*record)};
  });
}

// Reads files in parallel, a part of them at a time, and passes each with what was read, in order.
template <typename Read, typename Take>
void read_in_parts(const std::deque<FoundFile>& files, unsigned most_threads, const Read& read,
                   const Take& take) {
  constexpr std::size_t kPart = 1024;
  std::vector<std::optional<FoundRun>> found(std::min(files.size(), kPart));
  for (std::size_t first = 0; first < files.size(); first += kPart) {
    const std::size_t count = std::min(kPart, files.size() - first);
    in_parallel(count, most_threads, [&](std::size_t i) { found[i] = read(files[first + i]); });
    for (std::size_t i = 0; i < count; ++i) take(files[first + i], found[i]);
  }
}

void read_records(Catalogue& all) {
  read_in_parts(all.records, all.most_threads, run_of_record,
                [&](const FoundFile&, std::optional<FoundRun>& run) {
                  if (!run) return;
                  if (!run->remark.empty()) all.found.warnings.push_back(std::move(run->remark));
                  const auto named = all.named.find(run->aggregate_identity);
                  if (!run->is_wanted && named == all.named.end()) return;
                  if (!run->is_wanted) run->origin = named->second;
                  if (!run->aggregate_identity.empty()) {
                    all.with_record.insert(run->aggregate_identity);
                  }
                  all.ready.push_back(std::move(*run));
                });
}

void remark_on_size(Catalogue& all, const StorePath& file) {
  if (!is_aggregate_name(last_name(file.path))) return;
  const auto facts = file.tree->find_file(file.path);
  if (!facts || facts->bytes <= kAggregateFile.most_bytes) return;
  all.found.warnings.push_back(
      fmt::format("{}: {}, and was passed over", file.display, too_large(kAggregateFile)));
}

std::optional<FoundRun> run_of_aggregate(const FoundFile& file) {
  return run_in(file, [&]() -> std::optional<FoundRun> {
    const StorePath place = file.kept.place();
    const OpenedFile opened = place.tree->open(place.path);
    const bool is_certain = file.origin.is_named || is_aggregate_name(last_name(place.path));
    if (!is_certain && opened.size() > kMostAggregateBytes) return std::nullopt;
    const JsonValue members = read_aggregate(opened);
    if (is_run_record(members)) return std::nullopt;
    if (!is_certain && !has_power_keys(members)) return std::nullopt;
    PublishedRun run = published_run_of(members, nullptr);
    run.name = place.display;
    run.has_aggregate = true;
    run.identity = identity_of(place);
    return FoundRun{std::move(run), file.origin, {}, true};
  });
}

void read_aggregates_alone(Catalogue& all) {
  std::erase_if(all.aggregates, [&](const FoundFile& file) {
    return !all.with_record.insert(identity_of(file.kept.place())).second;
  });
  read_in_parts(all.aggregates, all.most_threads, run_of_aggregate,
                [&](const FoundFile& file, std::optional<FoundRun>& run) {
                  if (run) {
                    all.ready.push_back(std::move(*run));
                  } else {
                    remark_on_size(all, file.kept.place());
                  }
                });
}

PublishedRuns in_order(Catalogue& all) {
  std::ranges::stable_sort(all.ready, [](const FoundRun& a, const FoundRun& b) {
    if (a.origin.place != b.origin.place || a.origin.is_named) {
      return a.origin.place < b.origin.place;
    }
    return a.run.name < b.run.name;
  });
  all.found.runs.reserve(all.ready.size());
  for (; !all.ready.empty(); all.ready.pop_front()) {
    all.found.runs.push_back(std::move(all.ready.front().run));
  }
  return std::move(all.found);
}

}  // namespace

bool is_run_record_name(std::string_view name) {
  return name.starts_with("power_validation") && name.ends_with(".json");
}

bool is_json_name(std::string_view name) { return name.ends_with(".json"); }

bool is_aggregate_name(std::string_view name) {
  return name.starts_with("agg_") && name.ends_with(".json");
}

PublishedRuns read_published_runs(const std::vector<std::string>& places, unsigned most_threads,
                                  const StoreAccess& access) {
  Catalogue all{.most_threads = most_threads, .access = access};
  for (std::size_t i = 0; i < places.size(); ++i) add_place(all, places[i], i);
  read_records(all);
  all.records = {};
  all.record_of.clear();
  read_aggregates_alone(all);
  all.aggregates = {};
  all.with_record.clear();
  PublishedRuns found = in_order(all);
  ::malloc_trim(0);  // what the search took, before others need as much again
  return found;
}

}  // namespace aggregate_power
