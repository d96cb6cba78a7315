// The runs that were published: the numbers of aggregates with what audit records know of them.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/files/tree.h"
#include "base/text/json_value.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

class Recording;

// ---- Few bytes for what many runs have alike, or lack

// A value that equal ones share, as a pointer; it is kept until the program ends. Any number of
// threads may make some. The order of several means nothing.
template <typename T>
class Shared {
 public:
  Shared() : value_(nothing()) {}
  template <typename From>
  requires(std::constructible_from<T, From> && !std::same_as<std::remove_cvref_t<From>, Shared>)
      Shared(From&& value)  // NOLINT(google-explicit-constructor)
      : value_(kept(T(std::forward<From>(value)))) {}

  operator const T&() const { return *value_; }  // NOLINT(google-explicit-constructor)
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_; }

  auto operator<=>(const Shared&) const = default;
  bool operator==(const Shared&) const = default;
  template <typename Other>
  requires(!std::same_as<Other, Shared>) friend bool operator==(const Shared& shared,
                                                                const Other& other) {
    return *shared.value_ == other;
  }

  // As a list is used; texts are not, since fmt would write their characters one by one.
  auto begin() const requires(!std::same_as<T, std::string>) { return value_->begin(); }
  auto end() const requires(!std::same_as<T, std::string>) { return value_->end(); }
  bool empty() const { return value_->empty(); }
  std::size_t size() const { return value_->size(); }

 private:
  static const T* kept(T value) {
    static std::mutex mutex;
    static std::set<T> values;
    const std::lock_guard guard(mutex);
    return &*values.insert(std::move(value)).first;
  }
  static const T* nothing() {
    static const T* const none = kept(T());
    return none;
  }

  const T* value_;
};
using SharedText = Shared<std::string>;
using SharedTexts = Shared<std::vector<std::string>>;

// As std::optional, but a pointer, for what most runs lack.
template <typename T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(std::nullopt_t) {}                                           // NOLINT
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT
  Boxed(std::optional<T> value)                                      // NOLINT
      : value_(value ? std::make_unique<T>(std::move(*value)) : nullptr) {}
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Boxed() = default;

  operator std::optional<T>() const {  // NOLINT(google-explicit-constructor)
    return value_ ? std::optional<T>(*value_) : std::nullopt;
  }
  explicit operator bool() const { return value_ != nullptr; }
  bool has_value() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  T* operator->() { return value_.get(); }
  bool operator==(std::nullopt_t) const { return !value_; }

 private:
  std::unique_ptr<T> value_;
};

// The members of a JSON object, without lists. Their names are shared, their values are one text.
class KeptMembers {
 public:
  KeptMembers() = default;
  explicit KeptMembers(const JsonValue& object);

  const std::vector<std::string>& names() const { return *names_; }
  // The member; nullopt if there is none.
  std::optional<JsonValue> find(std::string_view name) const;
  // The same; a null value if there is none.
  JsonValue at(std::string_view name) const;
  JsonValue all() const;

 private:
  SharedTexts names_;
  std::string values_;  // as value_text() has each
};

// An interval of 95 % and its standard uncertainty, in the unit of the number.
struct Spread {
  double estimate = 0;  // which is not the middle of all bounds
  double standard_uncertainty = 0;
  double low = 0;
  double high = 0;
  // Standard; what the sensors of all boards of one model have in common. 0: not known. NaN: these
  // are the bounds of an estimated window's place alone, and say nothing about the sensors.
  double shared_gain = 0;
  bool is_of_window() const { return std::isnan(shared_gain); }
};

struct PublishedNumber {
  SharedText key;
  double value = 0;
  // Of the energy that flowed, and of the same boards; nullopt: the record states none.
  Boxed<Spread> flowed = {};
  Boxed<Spread> repeatability = {};
};

enum class PowerState {
  valid,
  not_valid,  // refused, or the aggregate and its record contradict each other
  none,       // the aggregate has no power
};

// A store may have hundreds of thousands of them: each is to be small.
struct PublishedRun {
  std::string name;      // of the file that it was read from, for people
  std::string identity;  // the same for whatever leads to the file; empty: it was not read from one
  bool has_aggregate = false;  // whose displayed path is the name
  KeptPlace record;

  PowerState state = PowerState::none;
  SharedTexts reasons;         // of a run that is not valid
  SharedTexts accepted;        // reasons that its caller accepted
  std::string doubt;           // why it was made not valid here; empty: it was not
  bool is_impossible = false;  // the doubt is about its numbers alone, not about its record

  KeptMembers members;  // of the aggregate: what the benchmark wrote, and our keys
  // The metrics in their order; empty unless the run is valid.
  std::vector<PublishedNumber> numbers;

  // From the record, or else from the aggregate's power_audit; 0, NaN or empty where they do not
  // say.
  double start_unix_s = 0;
  double duration_s = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t completed_requests = 0;
  SharedTexts gpu_ids;  // sorted
  // Sorted; of all GPUs, or empty. Records of the contract's keys alone have none: limit_of_run()
  // finds them in the recording.
  SharedTexts gpu_uuids;
  SharedTexts hosts;  // sorted
  // The energy of each GPU, in the order of the record; empty unless the run is valid.
  std::vector<std::pair<SharedText, double>> gpu_energies_j;
  // As the record names it; of a run that was computed here, its path or nothing.
  std::string telemetry;
  std::size_t telemetry_folder = 0;  // the path begins with so many bytes of `name`
  // Of a run that was computed here, what a record would say of how its recording was read; else
  // empty.
  SharedText read_as;
  SharedText collector;
  SharedText schema;
  SharedText scope;  // of the sensor: "gpu", "module", "node"; hosts that differ: empty
  SharedText tool_version;
  SharedTexts verdicts;

  // Nullopt: the run has no such number, or is not valid.
  std::optional<PublishedNumber> number(std::string_view key) const;
  // A member of the aggregate as people write it ("4", "fp8", "true"); empty: there is none. A path
  // such as "parallelism.tp" leads into objects.
  std::string text_of(std::string_view key) const;
};

// What the configuration of a run is called: the members of its aggregate that say how it was run,
// not what came out. Ordered: hardware, software, model, parallelism, load.
using Configuration = std::vector<std::pair<std::string, std::string>>;
// `keys`: the members to use; empty: all that are known to say how a run was run. Missing ones are
// left out. What `measure --set` named counts, too.
Configuration configuration_of(const PublishedRun& run, const std::vector<std::string>& keys);
// Those known ones.
std::span<const std::string_view> configuration_keys();
// "hw=h100 tp=8 conc=16"; "(no configuration)" if it is empty.
std::string configuration_text(const Configuration& configuration);

// Throws Error, with the nearest name, for one of `keys` that no run has: it is misspelt. `option`
// gave them.
void require_members(std::string_view option, const std::vector<const PublishedRun*>& runs,
                     const std::vector<std::string>& keys);

// Finds copies of one measurement, each with a value that was measured: on the same GPUs and with
// the same value, they began at the same instant and took as long. Where one does not state when it
// began, all numbers that both have agree, two with five digits, or their only ones with six. A
// number that another writer rounded is the same one. The runs must outlive it.
class KnownMeasurements {
 public:
  // Returns nullptr if the run is not a copy.
  const PublishedRun* copied_by(const PublishedRun& run, double value) const;
  void add(const PublishedRun& run, double value) { runs_.emplace(value, &run); }
  // Adds it unless it is a copy, or the same run by another recorder.
  const PublishedRun* copied_or_added(const PublishedRun& run, double value);

 private:
  std::multimap<double, const PublishedRun*> runs_;  // by value
};

// The schema of its metrics: 1, the mean of samples times the duration, or 2, integrals. 0: it has
// none.
int metric_schema(const PublishedRun& run);

// `members`: the aggregate's; an object without members if it was not found. `record`: nullptr if
// there is none. The places are the caller's to fill in.
PublishedRun published_run_of(const JsonValue& members, const JsonValue* record);

// One of the runs in the output of `measure --json`.
PublishedRun measured_run_of(const JsonValue& measured);

// "power_validation*.json"
bool is_run_record_name(std::string_view name);
// "*.json": of a record, too, if an option named it
bool is_json_name(std::string_view name);
// The results of agents, with their record, are this far below what their aggregate is in.
inline constexpr int kNearLevels = 5;
// "agg_*.json"
bool is_aggregate_name(std::string_view name);

struct PublishedRuns {
  std::vector<PublishedRun> runs;     // in the order of the places, sorted within a folder
  std::vector<std::string> warnings;  // files that were passed over, and why
  std::vector<std::string> notes;     // what was done besides reading
};

// The runs at `places`, each once, read in parallel. A place is an aggregate, an array of them, an
// audit record, the output of `measure --json`, the report of a backfill (.jsonl), or a folder or
// archive with any of the first two at any depth; archives below a folder count as folders. Throws
// FileError for a place that cannot be opened, Error for a file that is none of these. Within a
// folder such files are passed over.
PublishedRuns read_published_runs(const std::vector<std::string>& places, unsigned most_threads,
                                  const StoreAccess& access = {});

// A random but reproducible order, to draw samples: the places of `count` texts, sorted by a hash
// of each text and the seed. The order in which the texts are given does not matter.
std::vector<std::size_t> seeded_order(std::size_t count, std::uint64_t seed,
                                      const std::function<std::string_view(std::size_t)>& text);

// The recording that a run's record names, where it is now, or by which it was measured here.
// Returns nullopt if its store has none. May throw FileError.
std::optional<StorePath> telemetry_of(const PublishedRun& run);
// What is recorded of a run, or would be of how its recording was read. Throws FileError.
JsonValue record_of(const PublishedRun& run);
// Sets the recording of a run that was computed here and has its name.
void set_computed_telemetry(PublishedRun& run, std::string_view path);
// That part of a record, for PublishedRun::read_as.
std::string reading_in(const JsonValue& record);
// Opens that recording, as it was read then. `telemetry`: a file. `record`: the run's audit record,
// which says how its stamps and columns were understood. Throws FileError.
std::unique_ptr<Recording> recording_of_run(const StorePath& telemetry, const JsonValue& record);

}  // namespace aggregate_power
