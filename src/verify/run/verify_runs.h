// Verifies the runs that a caller names, by their audit records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/files/tree.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// What a verification finds.

// Something published that does not hold.
struct PublicationFault {
  int check = 0;      // of a sweep manifest: the number of the check, from 1; 0: none has one
  std::string where;  // a point, or a file
  std::string what;
  std::string expected = {};  // empty: nothing to compare
  std::string found = {};
  std::string verdict = {};  // of a run: "changed", "missing", ...

  std::string text()
      const;  // "POINT: what, expected X, found Y"; of a run "FILE: changed: what ..."
};

struct ProgramIdentity {
  std::string version;
  std::string sha256;
  bool operator==(const ProgramIdentity&) const = default;
};

// What the verification of one bundle says.
struct BundleProof {
  std::string bundle;  // as it was named
  std::string sha256;
  ProgramIdentity writer = {};  // as its manifest says; empty: it cannot be read
  ProgramIdentity verifier = {};
  bool is_redacted = false;
  std::size_t runs = 0;
  std::size_t numbers = 0;  // that were computed again
  bool holds = false;

  std::string text() const;
};

struct Verification {
  // "sweep-manifest", "source-measurement-receipt", "publication-record", "runs", "bundle"
  std::string kind;
  std::size_t points = 0;   // or runs
  std::size_t files = 0;    // that were read
  std::size_t numbers = 0;  // of aggregates of runs, that were computed again
  std::vector<BundleProof> proofs = {};
  std::vector<PublicationFault> faults;
  std::vector<std::string> warnings;       // what could not be checked, and what barely holds
  std::vector<std::string> missing_names;  // of missing inputs, as far as records name them
  bool could_not_open = false;             // a file is there, or was named, and cannot be opened

  bool holds() const { return faults.empty(); }
  // Adds all that `other` found, except what it counted.
  void add(Verification other);
};

// One line for each fault, and a line with the sum.
std::string verification_text(const Verification& found);
// The same as one JSON object. `file` is what was verified.
std::string verification_json(const Verification& found, const std::string& file);

struct RunsRequest {
  // Folders with runs at any depth, aggregates, audit records; normal paths.
  std::vector<std::string> places;
  StoreAccess access = {};
  std::size_t most_threads = 1;
  // Every file that claims power must be of a run with a record, whatever its name and schema.
  bool is_complete = false;
  std::function<void(const StorePath& record)> take_record = {};  // of each run
  std::uint64_t sample = 0;  // so many runs, drawn at random; 0: all
  std::uint64_t seed = 0;    // of the sample: the same one draws the same runs
};

// Whether a file is an aggregate with a power that has a record. Under schema 1 it has none, unless
// one was asked for; `is_complete`: each has.
bool claims_record(const StorePath& aggregate, bool is_complete);

// Changes nothing. An aggregate that claims power and has no record is a fault, and so
// are places without any run. Throws FileError
// if a place cannot be opened.
Verification verify_runs(const RunsRequest& request);

}  // namespace aggregate_power
