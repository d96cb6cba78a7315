// Collects the files of runs, and writes them as a bundle.
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/files.h"
#include "base/files/hash.h"
#include "base/files/nameless_file.h"
#include "base/files/path.h"
#include "base/system/byte_source.h"
#include "base/text/characters.h"
#include "core/record/record_read.h"
#include "store/catalogue/published_runs.h"
#include "store/catalogue/run_record.h"
#include "verify/bundle/bundle.h"
#include "verify/run/run_check.h"

namespace aggregate_power::bundle {
namespace {

namespace fs = std::filesystem;

std::string whole_path(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

// ---- The runs

// The records of runs whose benchmark wrote this file; empty: it is no result.
std::vector<std::string> records_of_result(const std::string& path, const StoreAccess& access) {
  std::vector<std::string> found;
  const auto place = place_in_store(path, access);
  if (!place || !place->facts || !place->folder) return found;
  for (const StorePath& file : files_below(*place->folder, 0, is_json_name)) {
    const auto record = run_record_in(file);
    const auto result = record ? record->find(record->benchmark()) : std::nullopt;
    if (result && identity_of(*result) == identity_of(*place)) found.push_back(file.path);
  }
  return found;
}

// ---- Their files

using Roles = std::map<std::string, std::string>;  // by whole path

bool is_recording_name(std::string_view name) {
  for (const std::string_view end : kCompressions) {
    if (!end.empty() && name.ends_with(end)) name.remove_suffix(end.size());
  }
  return name.ends_with(".csv");
}

bool is_identity_name(std::string_view name) {
  return name.find("_identity") != name.npos || name.find("_devices") != name.npos ||
         name == "power_node.txt";
}

// Of a file that is read for a run, beyond its record, aggregate and result.
std::string role_of_other(const RunRecord& record, const std::string& path) {
  if (is_identity_name(last_name(path))) return "identity";
  for (const JsonValue* const facts : recorded_recordings(record.content)) {
    const auto place = record.find(facts->at("telemetry").text);
    if (place && whole_path(place->path) == path) return "recording";
  }
  const auto place = record.find(record.telemetry());
  if (place && whole_path(place->path) == path) return "recording";
  const bool is_folder = !place || !place->facts;
  return is_folder && is_recording_name(path) ? "recording" : "context";
}

void set_role(Roles& roles, const std::optional<StorePath>& place, const char* role) {
  if (place && !place->tree->is_archive()) roles[whole_path(place->path)] = role;
}

// What is read when a run is computed again, and archives that were read before.
void add_files(const StorePath& record, const std::string& artifacts, Roles& roles) {
  std::set<std::string> opened;
  RunVerification checked;
  {
    const WatchOpened watch(opened);
    checked = verify_run(record, artifacts);
  }
  const auto content = run_record_in(record);
  for (const std::string& path : opened) {
    if (!content || roles.contains(whole_path(path))) continue;
    roles[whole_path(path)] = role_of_other(*content, whole_path(path));
  }
  set_role(roles, record, "record");
  set_role(roles, checked.aggregate, "aggregate");
  if (content) set_role(roles, content->find(content->benchmark()), "result");
}

// The deepest folder that holds the place that was named and all files.
std::string common_folder(const std::string& named, const Roles& roles) {
  std::string root = named;
  for (const auto& [path, role] : roles) {
    while (root != "/" && !path.starts_with(root + "/")) root = folder_of(root);
  }
  return root;
}

std::vector<BundledFile> members_of(const std::string& place, const Roles& roles) {
  std::string named = whole_path(place);
  if (named.size() > 1 && named.ends_with('/')) named.pop_back();
  if (!disk_tree()->has_folder(named)) named = folder_of(named);
  const std::string root = common_folder(named, roles);
  std::vector<BundledFile> members;
  for (const auto& [path, role] : roles) {
    BundledFile member;
    member.name = path.substr(root == "/" ? 1 : root.size() + 1);
    member.role = role;
    member.path = path;
    const bool is_inside = path.starts_with(named + "/");
    const std::string above =
        is_inside ? named.substr(root == "/" ? 0 : root.size()) : "/" + folder_of(member.name);
    member.levels = above.size() < 2 ? 0 : static_cast<std::size_t>(std::ranges::count(above, '/'));
    members.push_back(std::move(member));
  }
  std::ranges::sort(members, {}, &BundledFile::name);
  return members;
}

// ---- The archive

// Passes on what it gets as one Zstandard frame, with a checksum.
class ZstdFrame {
 public:
  explicit ZstdFrame(std::function<void(std::string_view)> sink)
      : sink_(std::move(sink)), stream_(ZSTD_createCStream(), ZSTD_freeCStream) {
    constexpr int kLevel = 9;
    ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_checksumFlag, 1);
  }

  void add(std::string_view bytes) { compress(bytes, ZSTD_e_continue); }
  void finish() { compress({}, ZSTD_e_end); }

 private:
  void compress(std::string_view bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    std::size_t left = 0;
    do {
      std::array<char, 65536> chunk;
      ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
      left = ZSTD_compressStream2(stream_.get(), &out, &in, how);
      if (ZSTD_isError(left) != 0) {
        throw Error(fmt::format("cannot compress: {}", ZSTD_getErrorName(left)));
      }
      sink_({chunk.data(), out.pos});
    } while (in.pos < in.size || (how == ZSTD_e_end && left > 0));
  }

  std::function<void(std::string_view)> sink_;
  std::unique_ptr<ZSTD_CStream, std::size_t (*)(ZSTD_CStream*)> stream_;
};

constexpr std::size_t kBlockBytes = 512;

std::string padding(std::uint64_t bytes) {
  return std::string((kBlockBytes - bytes % kBlockBytes) % kBlockBytes, '\0');
}

// A header of a tar (ustar, POSIX.1-1988): a plain file of mode 644, with time and owner 0.
std::string tar_header(std::string_view name, std::uint64_t bytes, char type) {
  std::string header(kBlockBytes, '\0');
  const auto set = [&](std::size_t at, std::string_view text) {
    header.replace(at, text.size(), text);
  };
  set(0, name);
  set(100, "0000644");
  set(108, "0000000");
  set(116, "0000000");
  set(124, fmt::format("{:011o}", bytes));
  set(136, "00000000000");
  set(148, "        ");  // the checksum is of blanks here
  header[156] = type;
  set(257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  set(148, fmt::format("{:06o}", sum));
  header[154] = '\0';
  return header;
}

// "27 path=files/agg_run.json", whose first number is its own size.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::string rest = fmt::format(" {}={}\n", key, value);
  std::size_t size = rest.size();
  while (std::to_string(size).size() + rest.size() != size) {
    size = std::to_string(size).size() + rest.size();
  }
  return std::to_string(size) + rest;
}

// With a header of POSIX.1-2001 before it for what does not fit.
std::string tar_headers(const std::string& name, std::uint64_t bytes) {
  constexpr std::size_t kMostName = 100;
  constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 33) - 1;
  std::string more;
  if (name.size() > kMostName) more += pax_record("path", name);
  if (bytes > kMostBytes) more += pax_record("size", std::to_string(bytes));
  std::string headers;
  if (!more.empty()) headers = tar_header("pax", more.size(), 'x') + more + padding(more.size());
  return headers + tar_header(name.substr(0, kMostName), std::min(bytes, kMostBytes), '0');
}

void add_to_tar(ZstdFrame& tar, const std::string& name, std::uint64_t bytes, ByteSource& source) {
  tar.add(tar_headers(name, bytes));
  std::uint64_t sum = 0;
  std::array<char, 65536> chunk;
  while (const std::size_t count = source.read(chunk)) {
    sum += count;
    tar.add({chunk.data(), count});
  }
  if (sum != bytes) throw FileError(name, "was changed while it was bundled");
  tar.add(padding(bytes));
}

std::unique_ptr<ByteSource> content_of(const BundledFile& member, std::uint64_t& bytes) {
  if (!member.redacted_sha256.empty()) {
    bytes = member.redacted.size();
    return std::make_unique<MemorySource>(member.redacted);
  }
  const OpenedFile file = opened_regular(member.path);
  bytes = file.size();
  return file.source();
}

Json file_entry(const BundledFile& member) {
  std::uint64_t bytes = 0;
  std::ignore = content_of(member, bytes);
  // Not the hash of what was redacted: whoever guesses the names could check the guess with it.
  const std::string& redacted = member.redacted_sha256;
  return {{"path", member.name},
          {"role", member.role},
          {"bytes", bytes},
          {"sha256", redacted.empty() ? sha256_of(opened_regular(member.path)) : redacted}};
}

Json manifest_of(const Request& request, const Made& made,
                 const std::vector<BundledFile>& members) {
  return {{"schema", kSchema},
          {"program", {{"version", AGGREGATE_POWER_VERSION}, {"sha256", program_sha256()}}},
          {"schemas", request.schemas},
          {"runs", made.found.points},
          {"numbers", made.found.numbers},
          {"redacted", made.replaced},
          {"files", list_of(members, file_entry)}};
}

std::unique_ptr<const NamelessFile> packed(const Json& manifest,
                                           const std::vector<BundledFile>& files) {
  auto bundle = std::make_unique<NamelessFile>("the bundle");
  ZstdFrame tar([&](std::string_view piece) { bundle->append(piece); });
  const std::string text = indented_lines(manifest);
  MemorySource first(text);
  add_to_tar(tar, std::string(kManifestName), text.size(), first);
  for (const BundledFile& file : files) {
    std::uint64_t bytes = 0;
    const auto source = content_of(file, bytes);
    add_to_tar(tar, std::string(kFiles) + file.name, bytes, *source);
  }
  tar.add(std::string(2 * kBlockBytes, '\0'));
  tar.finish();
  return bundle;
}

// Nothing is handed on that does not hold elsewhere.
void check_elsewhere(const Request& request, const Made& made) {
  const OpenedFile file("bundle.tar.zst", made.bytes->file(), 0, {made.bytes->size(), 0});
  const Unpacked unpacked(file);
  const Verification there = verify_runs(
      {.places = {unpacked.folder()}, .most_threads = request.most_threads, .is_complete = true});
  const bool is_same = there.points == made.found.points && there.numbers == made.found.numbers;
  if (there.holds() && is_same) return;
  const std::string why = with_names_of_bundles(
      there.holds() ? fmt::format("{} numbers of {} runs instead of {} of {}", there.numbers,
                                  there.points, made.found.numbers, made.found.points)
                    : there.faults.front().text());
  throw Error(fmt::format("{}: holds here, and would not hold where only the bundle is: {}{}",
                          printable_path(request.place), why,
                          request.redaction.is_wanted
                              ? "; bundle it without --redact"
                              : "; move the files of the run into one folder, and name that"));
}

}  // namespace

std::string compressed_again(std::string_view text, bool is_gzip) {
  if (!is_gzip) {
    std::string out;
    ZstdFrame zstd([&](std::string_view piece) { out += piece; });
    zstd.add(text);
    zstd.finish();
    return out;
  }
  constexpr int kGzip = 16 + MAX_WBITS;
  constexpr int kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  std::ignore = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

namespace {

// A folder in which no run was found, or a file that claims nothing.
bool is_unpublished(const Request& request, const Verification& found) {
  const auto place = place_in_store(request.place, request.access);
  if (!place) return false;
  return place->facts ? !claims_record(*place, true) : found.points == 0;
}

}  // namespace

Made make_bundle(const Request& request) {
  Made made;
  std::vector<StorePath> records;
  std::set<std::string> read;
  {
    const WatchOpened watch(read);
    RunsRequest runs{.places = records_of_result(request.place, request.access),
                     .access = request.access,
                     .most_threads = request.most_threads,
                     .take_record = [&](const StorePath& record) { records.push_back(record); }};
    if (runs.places.empty()) runs.places = {request.place};
    made.found = verify_runs(runs);
  }
  made.is_unpublished = records.empty() && is_unpublished(request, made.found);
  if (!made.found.holds()) return made;
  Roles roles;
  for (const std::string& path : read) {
    if (is_archive_name(path)) roles[whole_path(path)] = "context";
  }
  for (const StorePath& record : records) add_files(record, request.access.artifacts, roles);
  std::vector<BundledFile> members = members_of(request.place, roles);
  if (request.redaction.is_wanted) made.replaced = redact(members, request.redaction);
  made.files = members.size();
  if (made.files > kMostFiles) {
    throw Error(fmt::format("{}: {}: bundle its folders one by one", printable_path(request.place),
                            too_many_files(made.files)));
  }
  made.bytes = packed(manifest_of(request, made, members), members);
  check_elsewhere(request, made);
  return made;
}

}  // namespace aggregate_power::bundle
