// Unpacks bundles, and verifies what they publish.
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/files.h"
#include "base/files/hash.h"
#include "base/files/nameless_file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/characters.h"
#include "verify/bundle/bundle.h"
#include "verify/run/run_check.h"

namespace aggregate_power::bundle {
namespace {

namespace fs = std::filesystem;

constexpr std::ptrdiff_t kMostFolders = 50;  // as names in an audit record
constexpr FileKind kManifest = {"the manifest of a bundle", 64 * kMiB};

// The beginnings of paths that people do not see.
struct Hidden {
  std::mutex mutex;
  std::vector<std::string> beginnings;
};
Hidden& hidden() {
  static Hidden all;
  return all;
}

// In a folder of this process, which is removed even if it is killed.
std::string made_folder() {
  make_own_folder();
  std::string path = folder_for_temporaries() + "/XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw FileError(path, "create", errno);
  return path;
}

struct Listed {
  std::uint64_t bytes = 0;
  std::string sha256;
  bool is_found = false;
};
using Listing = std::map<std::string, Listed>;  // by the name of the member

std::string name_of_member(const std::string& path) { return std::string(kFiles) + path; }

JsonValue read_manifest(ArchiveReader& reader, const std::string& bundle) {
  std::string text;
  std::array<char, 65536> chunk;
  while (const std::size_t count = reader.read(chunk)) {
    text.append(chunk.data(), count);
    if (text.size() > kManifest.most_bytes) throw FileError(bundle, too_large(kManifest));
  }
  const auto refuse = [&](const std::string& what) {
    throw BundleFault(bundle, std::string(kManifestName), kTampered, what);
  };
  JsonValue manifest;
  try {
    manifest = parse_json(text);
  } catch (const JsonError& error) {
    refuse(error.what());
  }
  if (const auto key = repeated_json_key(text)) refuse(fmt::format("'{}' occurs twice", *key));
  if (manifest.at("schema").text != kSchema) {
    refuse(fmt::format("its schema is {}, and this program reads {}", manifest.at("schema").shown(),
                       kSchema));
  }
  return manifest;
}

// Why a file cannot have this name below a folder; empty: it can.
std::string why_no_name(const std::string& member, const std::string& folder) {
  const std::string path = member.substr(kFiles.size());
  if (path.empty() || member_path(member) != member || path.find('\0') != path.npos) {
    return "its name leads elsewhere";
  }
  std::size_t longest = 0;
  for (std::size_t at = 0, end = 0; end != path.npos; at = end + 1) {
    end = path.find('/', at);
    longest = std::max(longest, std::min(end, path.size()) - at);
  }
  if (longest > NAME_MAX) {
    return fmt::format("a part of its name has {} bytes, and at most {} are allowed", longest,
                       NAME_MAX);
  }
  if (const auto depth = std::ranges::count(path, '/'); depth > kMostFolders) {
    return fmt::format("it is in {} folders, and at most {} are allowed", depth, kMostFolders);
  }
  const std::size_t bytes = join_path(folder, path).size();
  if (bytes < PATH_MAX) return {};
  return fmt::format("its path in {} has {} bytes, and at most {} are allowed", temporary_folder(),
                     bytes, PATH_MAX - 1);
}

// A file above another one.
std::optional<std::string> file_above(const Listing& listing, const std::string& member) {
  for (std::size_t at = member.find('/', kFiles.size()); at != member.npos;
       at = member.find('/', at + 1)) {
    if (std::string above = member.substr(0, at); listing.contains(above)) return above;
  }
  return std::nullopt;
}

// All that must hold before anything is written to `folder`.
Listing listing_of(const JsonValue& manifest, const OpenedFile& bundle, const std::string& folder) {
  const std::string& name = bundle.name();
  const auto refuse = [&](const std::string& member, const std::string& what) {
    throw BundleFault(name, member, kTampered, what);
  };
  const std::uint64_t most = std::min(most_unpacked_bytes(), most_expanded_bytes(bundle.size()));
  std::uint64_t sum = 0;
  Listing listing;
  const std::vector<JsonValue>& files = manifest.at("files").items;
  if (files.size() > kMostFiles) {
    refuse(std::string(kManifestName), too_many_files(files.size()));
  }
  for (const JsonValue& file : files) {
    const std::string member = name_of_member(file.at("path").text);
    const auto bytes = file.at("bytes").as_integer();
    if (const std::string why = why_no_name(member, folder); !why.empty()) refuse(member, why);
    if (!bytes || *bytes < 0) refuse(member, "the manifest does not state its size");
    if (!is_sha256(file.at("sha256").text)) refuse(member, "the manifest has no SHA-256 of it");
    const auto size = static_cast<std::uint64_t>(*bytes);
    if (size > most || sum > most - size) refuse(member, too_much_unpacked(most_unpacked_bytes()));
    sum += size;
    if (!listing.try_emplace(member, Listed{size, file.at("sha256").text}).second) {
      refuse(member, "the manifest lists it twice");
    }
  }
  for (const auto& [member, listed] : listing) {
    if (const auto above = file_above(listing, member)) {
      refuse(member, fmt::format("the manifest lists {} as a file, too", printable_path(*above)));
    }
  }
  return listing;
}

// A new file, with the folders above it, in a folder of our own.
Descriptor created(const std::string& path) {
  const auto create = [&] {
    return open_fd(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  };
  int fd = create();
  if (fd < 0 && errno == ENOENT) {
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    if (error) throw FileError(path, "create", error.value());
    fd = create();
  }
  if (fd < 0) throw FileError(path, "create", errno);
  return Descriptor(fd);
}

// Never more bytes than are listed.
void copy_member(ArchiveReader& reader, const std::string& path, const Listed& listed,
                 const BundleFault& other_size, const BundleFault& other_content) {
  const Descriptor file = created(path);
  Sha256 hash;
  std::uint64_t bytes = 0;
  std::array<char, 65536> chunk;
  while (const std::size_t count = reader.read(chunk)) {
    bytes += count;
    if (bytes > listed.bytes) throw other_size;
    hash.add({chunk.data(), count});
    write_all(file.get(), {chunk.data(), count}, path);
  }
  if (bytes != listed.bytes) throw other_size;
  if (hash.hex() != listed.sha256) throw other_content;
}

bool has_ending(std::string_view path) { return path.ends_with(".tar.zst"); }

std::string stem_of(const std::string& bundle) {
  const std::string stem(archive_stem(last_name(bundle)));
  return stem.empty() || stem == "." || stem == ".." ? "bundle" : stem;
}

}  // namespace

BundleFault::BundleFault(const std::string& bundle, const std::string& member, const char* verdict,
                         const std::string& what)
    : Error(one_line(fmt::format("{}: {}: {}; fetch the bundle again", bundle, member, what))),
      fault{.where = fmt::format("{}: {}", bundle, member),
            .what = what + "; fetch the bundle again",
            .verdict = verdict} {}

bool is_bundle(const std::string& path) {
  if (!has_ending(path) || !is_regular_file(path)) return false;
  try {
    const OpenedFile file = opened_regular(path);
    ArchiveReader reader(file);
    const auto first = reader.next();
    return first && first->name == kManifestName;
  } catch (const FileError&) {  // whoever reads the archive says why
    return false;
  }
}

Unpacked::Unpacked() : outer_(made_folder()) {
  const std::lock_guard guard(hidden().mutex);
  hidden().beginnings.push_back(outer_ + "/");
}

Unpacked::Unpacked(const OpenedFile& bundle) : Unpacked() {
  folder_ = join_path(outer_, stem_of(bundle.name()));
  std::error_code error;
  if (!fs::create_directory(folder_, error)) throw FileError(folder_, "create", error.value());
  unpack(bundle);
}

Unpacked::~Unpacked() {
  std::error_code ignored;
  fs::remove_all(outer_, ignored);
}

void Unpacked::unpack(const OpenedFile& bundle) {
  const std::string& name = bundle.name();
  const auto fault = [&](const std::string& member, const char* verdict, const char* what) {
    return BundleFault(name, member, verdict, what);
  };
  ArchiveReader reader(bundle);
  const auto first = reader.next();
  if (!first || first->name != kManifestName || first->kind != Member::Kind::file) {
    throw fault(std::string(kManifestName), kMissing, "is not the first member");
  }
  manifest_ = read_manifest(reader, name);
  Listing listing = listing_of(manifest_, bundle, folder_);
  while (const auto member = reader.next()) {
    const auto listed = listing.find(member->name);
    if (listed == listing.end()) {
      throw fault(member->name, kTampered, "is not in the manifest");
    }
    if (member->kind != Member::Kind::file) {
      throw fault(member->name, kTampered, "is not a plain file");
    }
    if (std::exchange(listed->second.is_found, true)) {
      throw fault(member->name, kTampered, "is in it twice");
    }
    const std::string path = join_path(folder_, member->name.substr(kFiles.size()));
    copy_member(reader, path, listed->second,
                fault(member->name, kTampered, "its size is not what the manifest states"),
                fault(member->name, kTampered, "its SHA-256 is not what the manifest states"));
  }
  for (const auto& [member, listed] : listing) {
    if (!listed.is_found) throw fault(member, kMissing, "is in the manifest only");
  }
}

std::string with_names_of_bundles(std::string text) {
  const std::lock_guard guard(hidden().mutex);
  for (const std::string& beginning : hidden().beginnings) {
    for (std::size_t at = text.find(beginning); at != text.npos; at = text.find(beginning, at)) {
      text.erase(at, beginning.size());
    }
  }
  return text;
}

const std::string& program_sha256() {
  static const std::string hash = sha256_of(OpenedFile("/proc/self/exe"));
  return hash;
}

// ---- Verifies a bundle

namespace {

// What the manifest says was published.
void compare_count(const std::string& bundle, const JsonValue& manifest, const char* key,
                   std::size_t found, Verification& all) {
  if (manifest.at(key).as_integer() == static_cast<std::int64_t>(found)) return;
  all.faults.push_back({.where = fmt::format("{}: {}", bundle, kManifestName),
                        .what = fmt::format("'{}'", key),
                        .expected = std::to_string(found),
                        .found = manifest.at(key).shown(),
                        .verdict = kTampered});
}

}  // namespace

std::string too_many_files(std::size_t files) {
  return fmt::format("{} files are more than a bundle may have ({})", files, kMostFiles);
}

Verification verify_bundle(const std::string& path, std::size_t most_threads) {
  const OpenedFile bundle = opened_regular(path);
  BundleProof proof{.bundle = path,
                    .sha256 = sha256_of(bundle),
                    .verifier = {AGGREGATE_POWER_VERSION, program_sha256()}};
  Verification found;
  try {
    const Unpacked unpacked(bundle);
    const JsonValue& manifest = unpacked.manifest();
    const JsonValue& program = manifest.at("program");
    proof.writer = {program.at("version").text, program.at("sha256").text};
    proof.is_redacted = manifest.at("redacted").is_object();
    found = verify_runs(
        {.places = {unpacked.folder()}, .most_threads = most_threads, .is_complete = true});
    compare_count(path, manifest, "runs", found.points, found);
    compare_count(path, manifest, "numbers", found.numbers, found);
  } catch (const BundleFault& refused) {
    found.faults.push_back(refused.fault);
  }
  proof.runs = found.points;
  proof.numbers = found.numbers;
  proof.holds = found.holds();
  found.proofs.push_back(std::move(proof));
  found.kind = "bundle";
  return found;
}

}  // namespace aggregate_power::bundle
