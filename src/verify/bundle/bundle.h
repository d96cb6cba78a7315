// Bundles: runs with every file that they were computed from, in one archive, to be verified where
// the original files are not.
//
// A bundle is a tar, compressed by Zstandard: first the manifest, bundle.json, then the files below
// files/, sorted by name, with times and owners of 0. Equal files give equal bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/nameless_file.h"
#include "base/report/json_parts.h"
#include "base/text/json_value.h"
#include "verify/run/verify_runs.h"

namespace aggregate_power::bundle {

inline constexpr std::string_view kManifestName = "bundle.json";
inline constexpr std::string_view kFiles = "files/";
inline constexpr std::string_view kSchema = "aggregate-power/bundle-1";
inline constexpr std::size_t kMostFiles = 200'000;
std::string too_many_files(std::size_t files);

// A file of a bundle, before it is written.
struct BundledFile {
  std::string name;        // below files/
  std::string role;        // "record", "aggregate", "result", "recording", "identity", "context"
  std::string path;        // on disk
  std::size_t levels = 0;  // folders of the name that are above the place that was named
  std::string redacted;    // what is written instead of the file, as it is stored
  std::string redacted_sha256 = {};  // empty: the file is written as it is
};

struct Redaction {
  bool is_wanted = false;
  bool keep_texts = false;  // prompts and answers
  // A text of words that have another meaning: a host or a user of such a name is replaced only
  // where it is marked as one.
  std::string common_words = {};
};

// Replaces in names and contents what identifies people, machines and folders, each by the same
// word wherever it occurs, and the hashes of the files that this changes. Returns how many
// different ones were replaced, by kind. Throws Error for a file that is not text, FileError for
// one that cannot be read.
Json redact(std::vector<BundledFile>& files, const Redaction& how);

// At most 4 GiB.
std::string compressed_again(std::string_view text, bool is_gzip);

struct Request {
  std::string place;  // a folder of runs, or a file of a run; normal path
  Redaction redaction = {};
  StoreAccess access = {};
  std::size_t most_threads = 1;
  std::vector<std::string> schemas = {};  // of all outputs, with their versions
};

struct Made {
  Verification found;           // of the runs at the place
  bool is_unpublished = false;  // nothing there has an audit record, or claims a power
  // The bundle, in a file without a name; null: what is published does not hold.
  std::unique_ptr<const NamelessFile> bytes = {};
  std::size_t files = 0;  // in the bundle, without its manifest
  Json replaced = {};     // what redact() returned; null: nothing
};

// Verifies the runs at a place, and bundles them if all that they publish holds. The bundle was
// read back: it holds, with the same numbers. Throws Error if it would not, FileError if a file
// cannot be opened.
Made make_bundle(const Request& request);

// Why a bundle cannot be trusted.
class BundleFault : public Error {
 public:
  BundleFault(const std::string& bundle, const std::string& member, const char* verdict,
              const std::string& what);
  PublicationFault fault;
};

// Whether a file is a bundle, by its name and its first member.
bool is_bundle(const std::string& path);

// The files of a bundle in a private folder in $TMPDIR, as long as this exists. Each file has its
// SHA-256, and all are there. Throws BundleFault, and FileError for an archive that cannot be read.
class Unpacked {
 public:
  explicit Unpacked(const OpenedFile& bundle);
  ~Unpacked();
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  const std::string& folder() const { return folder_; }
  const JsonValue& manifest() const { return manifest_; }

 private:
  Unpacked();  // delegated to, so that the destructor cleans up after a throw
  void unpack(const OpenedFile& bundle);

  std::string outer_;
  std::string folder_;
  JsonValue manifest_;
};

// A text for people in which files of bundles are named by their bundle: "run.bundle/agg_run.json".
std::string with_names_of_bundles(std::string text);

// The SHA-256 of this program.
const std::string& program_sha256();

// Recomputes all numbers in a bundle. Throws FileError if it cannot be read.
Verification verify_bundle(const std::string& path, std::size_t most_threads);

}  // namespace aggregate_power::bundle
