// Understands an aggregate and its audit record.
#include "core/load/stated_totals.h"
#include "store/catalogue/published_runs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "aggregate_power/energy_estimate.h"
#include "aggregate_power/error.h"
#include "base/files/hash.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/json.h"
#include "base/text/suggest.h"
#include "core/energy/metrics.h"
#include "core/model/units.h"
#include "core/record/edits.h"
#include "core/record/record_write.h"
#include "recorders/recording.h"
#include "store/catalogue/retained_files.h"
#include "store/catalogue/run_record.h"

namespace aggregate_power {
namespace {

std::string shown_value(const JsonValue& value) {
  if (value.is_null()) return {};
  if (value.kind == JsonKind::real && value.is_finite_number()) {
    return fmt::format("{}", value.as_double());
  }
  return value.is_object() || value.is_array() ? std::string() : value.text;
}

// ---- Values in one text: the length of each, its kind, its text or its members.

constexpr unsigned char kLongPart = 255;  // its length follows; of others, it is this byte

void append_part(std::string_view part, std::string& out) {
  if (part.size() < kLongPart) {
    out += static_cast<char>(part.size());
  } else {
    const auto size = static_cast<std::uint32_t>(part.size());
    out += static_cast<char>(kLongPart);
    out.append(reinterpret_cast<const char*>(&size), sizeof size);  // NOLINT
  }
  out += part;
}

std::string_view next_part(std::string_view& rest) {
  std::uint32_t size = static_cast<unsigned char>(rest.front());
  rest.remove_prefix(1);
  if (size == kLongPart) {
    std::memcpy(&size, rest.data(), sizeof size);
    rest.remove_prefix(sizeof size);
  }
  const std::string_view part = rest.substr(0, size);
  rest.remove_prefix(size);
  return part;
}

void append_value(const JsonValue& value, std::string& out) {
  std::string text(1, static_cast<char>(value.kind));
  text += value.text;
  for (const auto& [name, member] : value.members) {
    append_part(name, text);
    append_value(member, text);
  }
  append_part(text, out);
}

JsonValue value_in(std::string_view part) {
  JsonValue value{static_cast<JsonKind>(part[0])};
  if (!value.is_object()) {
    value.text = part.substr(1);
    return value;
  }
  for (std::string_view rest = part.substr(1); !rest.empty();) {
    const std::string_view name = next_part(rest);
    value.members.emplace_back(name, value_in(next_part(rest)));
  }
  return value;
}

bool is_number_of_ours(const JsonValue::Member& member) {
  return is_our_key(member.first) && member.second.is_finite_number() &&
         !member.first.starts_with("power_") && member.first != "cpu_power_valid";
}

// Bounds that --extended adds are the intervals of another number.
bool is_bound(std::string_view key) { return key.ends_with("_low") || key.ends_with("_high"); }

// Without an estimate, that is the middle.
std::optional<Spread> spread_of(const JsonValue& json, const JsonValue& estimate) {
  if (!json.at("low").is_finite_number() || !json.at("high").is_finite_number()) return {};
  const JsonValue& uncertainty = json.at("standard_uncertainty");
  const double low = json.at("low").as_double();
  const double high = json.at("high").as_double();
  if (!uncertainty.is_finite_number()) return {};
  const double middle = estimate.is_finite_number() ? estimate.as_double() : (low + high) / 2;
  return Spread{middle, uncertainty.as_double(), low, high};
}

// Relative. A gain that somebody calibrated is known of those boards alone.
double shared_gain_of(const JsonValue& uncertainty) {
  double shared = 0;
  bool is_of_public_boards = false;
  for (const JsonValue& part : uncertainty.at("total_gpu_energy_j").at("components").items) {
    const std::string_view name = part.at("name").text;
    is_of_public_boards = is_of_public_boards || name == "sensor_gain_each";
    if (name != "sensor_gain_shared" || !part.at("relative").is_finite_number()) continue;
    shared = part.at("relative").as_double();
  }
  return is_of_public_boards ? shared : 0;
}

void add_spreads(const JsonValue& record, PublishedNumber& number) {
  const JsonValue& known = record.at("uncertainty").at(*number.key);
  const JsonValue& estimate = known.at("estimate");
  number.flowed = spread_of(known, estimate);
  if (number.flowed) {
    number.flowed->shared_gain = number.flowed->estimate * shared_gain_of(record.at("uncertainty"));
  }
  number.repeatability = spread_of(known.at("repeatability"), estimate);
}

// The bounds that --extended adds are rounded outwards, by less than the last digit. They are those
// of the estimate, which the aggregate does not have: it is their middle.
std::optional<Spread> bounds_in(const JsonValue& members, const std::string& key) {
  const JsonValue& low = members.at(key + "_low");
  const JsonValue& high = members.at(key + "_high");
  if (!low.is_finite_number() || !high.is_finite_number()) return {};
  return Spread{(low.as_double() + high.as_double()) / 2,
                (high.as_double() - low.as_double()) / 2 / kCoverageFactor, low.as_double(),
                high.as_double()};
}

// Of an aggregate whose record is elsewhere.
void add_bounds(const JsonValue& members, PublishedNumber& number) {
  number.flowed = bounds_in(members, *number.key);
  number.repeatability = bounds_in(members, *number.key + "_repeatability");
}

// Bounds of a number itself, over the places that its window may have: the sensors may be off
// besides. It may be at an end of them: it stays the estimate, and the other side
// is as wide.
void add_bounds_of(double low, double high, PublishedNumber& number) {
  const double above = high - number.value;
  const double below = number.value - low;
  const double half = std::max(above, below);
  number.repeatability =
      Spread{number.value, half / kCoverageFactor, number.value - (below > 0 ? below : half),
             number.value + (above > 0 ? above : half), std::nan("")};
}

// The bounds of an energy whose window is not known exactly hold for all that is divided by exact
// numbers.
void add_window_bounds(const JsonValue& measured, double energy_j, PublishedNumber& number) {
  const JsonValue& low = measured.at("energy_j_low");
  const JsonValue& high = measured.at("energy_j_high");
  if (!low.is_finite_number() || !high.is_finite_number() || !(energy_j > 0)) return;
  const double per_j = number.value / energy_j;
  add_bounds_of(low.as_double() * per_j, high.as_double() * per_j, number);
}

// Of a window that is not known exactly.
void add_recorded_bounds(const JsonValue& record, PublishedNumber& number) {
  const JsonValue& bounds = record.at("metric_intervals").at(*number.key);
  if (number.repeatability || !bounds.at("low").is_finite_number()) return;
  if (!bounds.at("high").is_finite_number()) return;
  add_bounds_of(bounds.at("low").as_double(), bounds.at("high").as_double(), number);
}

double number_or(const JsonValue& value, double otherwise) {
  return value.is_finite_number() ? value.as_double() : otherwise;
}

void take_window(const JsonValue& record, PublishedRun& run) {
  const JsonValue& of_load = record.at("benchmark_window");
  const JsonValue& window = of_load.is_object() ? of_load : record.at("selected_window");
  run.start_unix_s = number_or(window.at("start_time_unix"), 0);
  run.duration_s = number_or(window.at("end_time_unix"), run.start_unix_s) - run.start_unix_s;
  run.completed_requests = window.at("completed").as_integer().value_or(0);
  run.input_tokens = window.at("total_input_tokens").as_integer().value_or(0);
  run.output_tokens = window.at("total_output_tokens").as_integer().value_or(0);
}

bool is_uuid(std::string_view id) {
  constexpr std::size_t kShortest = 12;
  return (id.starts_with("GPU-") || id.starts_with("MIG-")) && id.size() >= kShortest;
}

// Records name UUIDs in a list, by host, by node of a package, or as the ids themselves. A GPU
// without one makes the list worthless.
void take_boards(const JsonValue& record, std::vector<std::string> ids, PublishedRun& run) {
  bool is_complete = true;
  std::vector<std::string> uuids;
  std::vector<std::string> hosts;
  const auto take_uuids = [&](const JsonValue& by_id) {
    for (const auto& [id, uuid] : by_id.members) {
      is_complete = is_complete && uuid.is_string() && !uuid.text.empty();
      uuids.push_back(uuid.text);
    }
  };
  for (const auto& [host, facts] : record.at("hosts").members) {
    hosts.push_back(host);
    take_uuids(facts.at("gpu_uuids"));
  }
  for (const JsonValue& node : record.at("nodes").items) {
    if (node.at("node").is_string()) hosts.push_back(node.at("node").text);
    take_uuids(node.at("physical_gpu_ids"));
  }
  append(uuids, texts_in(record.at("gpu_uuids")));
  if (uuids.empty() && std::ranges::all_of(ids, is_uuid)) uuids = ids;
  if (!is_complete) uuids.clear();
  for (auto* const list : {&ids, &uuids, &hosts}) std::ranges::sort(*list);
  run.gpu_ids = std::move(ids);
  run.gpu_uuids = std::move(uuids);
  run.hosts = std::move(hosts);
}

// What the aggregate itself says of a run whose record is elsewhere.
void take_power_audit(const JsonValue& members, PublishedRun& run) {
  const JsonValue& audit = members.at("power_audit");
  run.start_unix_s = number_or(audit.at("window_start_unix"), 0);
  run.duration_s = number_or(audit.at("window_end_unix"), run.start_unix_s) - run.start_unix_s;
  take_boards(JsonValue(), texts_in(audit.at("observed_gpu_ids")), run);
  run.reasons = texts_in(members.at("power_invalid_reasons"));
}

// The recordings of several hosts have each their own.
std::string recorded_scope(const JsonValue& record) {
  const JsonValue& of_all = recorded_origin(record).at("scope");
  if (of_all.is_string()) return of_all.text;
  std::string scope;
  for (const JsonValue* const recording : recorded_recordings(record)) {
    const std::string& of_one = recording->at("scope").text;
    if (!scope.empty() && of_one != scope) return {};
    scope = of_one;
  }
  return scope;
}

std::vector<std::string> names_in(const JsonValue& object) {
  std::vector<std::string> names;
  names.reserve(object.members.size());
  for (const auto& [name, value] : object.members) names.push_back(name);
  return names;
}

void take_record(const JsonValue& record, PublishedRun& run) {
  take_window(record, run);
  run.reasons = texts_in(record.at("reasons"));
  run.accepted = names_in(record.at("accepted_reasons"));
  std::vector<std::string> ids = texts_in(record.at("observed_gpu_ids"));
  if (ids.empty()) ids = names_in(record.at("per_gpu_energy_j"));
  take_boards(record, std::move(ids), run);
  for (const auto& [id, energy] : record.at("per_gpu_energy_j").members) {
    if (energy.is_finite_number()) run.gpu_energies_j.emplace_back(id, energy.as_double());
  }
  const JsonValue& from = recorded_origin(record);
  run.telemetry = recorded_telemetry(record);
  run.collector = from.at("collector").text;
  run.schema = from.at("schema").text;
  run.scope = recorded_scope(record);
  run.tool_version = from.at("tool_version").text;
  run.verdicts = recorded_verdicts(record);
}

bool has_absurd_bound(const Boxed<Spread>& spread) {
  return spread && (is_beyond_measure(spread->standard_uncertainty) ||
                    is_beyond_measure(spread->low) || is_beyond_measure(spread->high));
}

// Why it cannot be what a run used; empty: it can.
std::string impossible_number(const PublishedNumber& number) {
  const bool is_energy = number.key == "total_gpu_energy_j" || number.key->starts_with("joules_");
  if (number.value < 0 || (is_energy && number.value == 0)) {
    return fmt::format("'{}' is {}, and must be above 0", *number.key, number.value);
  }
  if (is_beyond_measure(number.value)) {
    return fmt::format("'{}' is {}, which no run can have", *number.key, number.value);
  }
  if (has_absurd_bound(number.flowed) || has_absurd_bound(number.repeatability)) {
    return fmt::format("the interval of '{}' is none that a run can have", *number.key);
  }
  return {};
}

// The same of all that a run states.
std::string impossible_number(const PublishedRun& run) {
  for (const PublishedNumber& number : run.numbers) {
    if (std::string why = impossible_number(number); !why.empty()) return why;
  }
  for (const auto& [gpu, energy_j] : run.gpu_energies_j) {
    if (energy_j >= 0 && !is_beyond_measure(energy_j)) continue;
    return fmt::format("the energy of GPU {} is {} J, which no GPU can have", *gpu, energy_j);
  }
  if (is_beyond_measure(run.start_unix_s) || is_beyond_measure(run.duration_s)) {
    return fmt::format("its window, of {} s, is none that a run can have", run.duration_s);
  }
  return {};
}

// Takes the numbers of a run back that cannot be what it used.
void doubt_impossible_numbers(PublishedRun& run) {
  if (run.state == PowerState::valid) {
    run.doubt = impossible_number(run);
    run.is_impossible = !run.doubt.empty();
    if (run.is_impossible) run.state = PowerState::not_valid;
  }
  if (is_beyond_measure(run.start_unix_s) || is_beyond_measure(run.duration_s)) {
    run.start_unix_s = run.duration_s = 0;
  }
  if (run.state == PowerState::valid) return;
  run.numbers.clear();
  run.gpu_energies_j.clear();
}

// Under schema 1, what an aggregate has besides its record is of an earlier run; empty: nothing.
std::string unrecorded_number(const std::vector<PublishedNumber>& numbers,
                              const JsonValue& record) {
  if (record.at("integration_method").text != "mean_of_sample_buckets") return {};
  const std::vector<std::string_view> keys = all_metric_keys();
  for (const PublishedNumber& number : numbers) {
    const bool is_metric = std::ranges::find(keys, *number.key) != keys.end();
    if (!is_metric || record.at("metrics").find(*number.key) != nullptr) continue;
    return fmt::format("'{}' is in the aggregate and not in its audit record", *number.key);
  }
  return {};
}

// Why an aggregate and its record cannot both be true; empty: they can.
std::string contradiction(const std::vector<PublishedNumber>& numbers, const JsonValue& record) {
  if (!is_power_valid(record)) {
    return "its audit record says that the power is not valid";
  }
  for (const PublishedNumber& number : numbers) {
    const JsonValue* const other = other_recorded_number(record, *number.key, number.value);
    if (other == nullptr) continue;
    return fmt::format("'{}' is {} in the aggregate and {} in its audit record", *number.key,
                       number.value, other->text);
  }
  return unrecorded_number(numbers, record);
}

constexpr double kLastBits = 1e-9;  // of a number: sums in another order differ by less

// Two runs hardly ever agree in as many digits.
bool has_many_digits(const PublishedNumber& number, std::ptrdiff_t many = 5) {
  const std::string digits = fmt::format("{:e}", number.value);
  const std::size_t end = digits.find_last_not_of('0', digits.find('e') - 1);
  return std::ranges::count_if(digits.substr(0, end + 1), [](char c) { return c != '.'; }) >= many;
}

std::vector<PublishedNumber> numbers_in(const JsonValue& json) {
  std::vector<PublishedNumber> numbers;
  for (const JsonValue::Member& member : json.members) {
    if (is_number_of_ours(member) && !is_bound(member.first)) {
      numbers.push_back({member.first, member.second.as_double()});
    }
  }
  numbers.shrink_to_fit();
  return numbers;
}

// The power of the server in each phase, by a model that has one: `states`.
void add_phase_powers(const JsonValue& record, std::vector<PublishedNumber>& numbers) {
  constexpr double kCoverage = 1.96;
  constexpr std::pair<const char*, const char*> kPhases[] = {{"prefill", "prefill_power_w"},
                                                             {"decode", "decode_power_w"}};
  for (const auto& [phase, key] : kPhases) {
    const JsonValue& power = record.at("phase_energy").at(phase);
    const double watts = number_or(power.at("watts"), 0);
    if (!(watts > 0)) continue;
    PublishedNumber& number = numbers.emplace_back(PublishedNumber{key, watts});
    const double error_w = number_or(power.at("standard_error"), 0);
    if (!(error_w > 0)) continue;
    number.repeatability =
        Spread{watts, error_w, watts - kCoverage * error_w, watts + kCoverage * error_w};
  }
}

PowerState state_in(const JsonValue& members, bool has_numbers) {
  const JsonValue& valid = power_verdict(members);
  if (!valid.is_null()) return valid.as_double() == 1 ? PowerState::valid : PowerState::not_valid;
  return has_numbers ? PowerState::valid : PowerState::none;
}

}  // namespace

KeptMembers::KeptMembers(const JsonValue& object) : names_(names_in(object)) {
  for (const auto& [name, value] : object.members) append_value(value, values_);
  values_.shrink_to_fit();
}

std::optional<JsonValue> KeptMembers::find(std::string_view name) const {
  const auto found = std::ranges::find(*names_, name);
  if (found == names_.end()) return std::nullopt;
  std::string_view rest = values_;
  for (auto at = names_.begin(); at != found; ++at) next_part(rest);
  return value_in(next_part(rest));
}

JsonValue KeptMembers::at(std::string_view name) const { return find(name).value_or(JsonValue()); }

JsonValue KeptMembers::all() const {
  JsonValue object = JsonValue::object();
  std::string_view rest = values_;
  for (const std::string& name : names_) {
    object.members.emplace_back(name, value_in(next_part(rest)));
  }
  return object;
}

PublishedRun published_run_of(const JsonValue& members, const JsonValue* record) {
  PublishedRun run;
  run.numbers = numbers_in(members);
  run.state = state_in(members, !run.numbers.empty());
  if (record != nullptr) {
    take_record(*record, run);
    if (members.members.empty()) {  // its aggregate was not found
      run.numbers = numbers_in(record->at("metrics"));
      run.state = is_power_valid(*record) ? PowerState::valid : PowerState::not_valid;
    } else if (run.state == PowerState::valid) {
      run.doubt = contradiction(run.numbers, *record);
      if (!run.doubt.empty()) run.state = PowerState::not_valid;
    } else if (run.state == PowerState::none && !is_power_valid(*record)) {
      run.state = PowerState::not_valid;
    }
    for (PublishedNumber& number : run.numbers) {
      add_spreads(*record, number);
      add_recorded_bounds(*record, number);
    }
    if (run.state == PowerState::valid) add_phase_powers(*record, run.numbers);
  } else {
    take_power_audit(members, run);
    for (PublishedNumber& number : run.numbers) add_bounds(members, number);
  }
  doubt_impossible_numbers(run);
  run.members = KeptMembers(members);
  return run;
}

// The runs of `measure --json` have the keys of an aggregate, and those of a record in their own
// words.
PublishedRun measured_run_of(const JsonValue& measured) {
  PublishedRun run;
  JsonValue members = measured;
  // They say nothing of how it was run.
  std::erase_if(members.members, [](const JsonValue::Member& member) {
    return member.second.is_object() || member.second.is_array() || member.first == "details";
  });
  run.members = KeptMembers(members);
  run.state = measured.at("valid").is_true() ? PowerState::valid : PowerState::not_valid;
  run.reasons = texts_in(measured.at("reasons"));
  run.accepted = texts_in(measured.at("accepted_reasons"));
  take_boards(measured, texts_in(measured.at("gpu_ids")), run);
  run.start_unix_s = number_or(measured.at("window").at("start_unix"), 0);
  run.duration_s = number_or(measured.at("duration_s"), 0);
  run.completed_requests = measured.at("completed_requests").as_integer().value_or(0);
  run.input_tokens = measured.at("input_tokens").as_integer().value_or(0);
  run.output_tokens = measured.at("output_tokens").as_integer().value_or(0);
  run.telemetry = measured.at("telemetry").text;
  if (run.state != PowerState::valid) return run;
  run.numbers = numbers_in(measured);
  const auto energy = run.number("total_gpu_energy_j");
  for (PublishedNumber& number : run.numbers) {
    add_spreads(measured, number);
    if (!number.repeatability && energy) add_window_bounds(measured, energy->value, number);
  }
  add_phase_powers(measured, run.numbers);
  doubt_impossible_numbers(run);
  return run;
}

std::optional<PublishedNumber> PublishedRun::number(std::string_view key) const {
  const auto found = std::ranges::find_if(
      numbers, [&](const PublishedNumber& number) { return number.key == key; });
  return found == numbers.end() ? std::nullopt : std::optional(*found);
}

std::string PublishedRun::text_of(std::string_view key) const {
  if (const auto value = members.find(key)) return shown_value(*value);
  const std::size_t dot = key.find('.');
  const auto object = dot == key.npos ? std::nullopt : members.find(key.substr(0, dot));
  const JsonValue* at = object ? &*object : nullptr;
  for (std::string_view rest = key.substr(std::min(dot, key.size())); at && !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view part = rest.substr(0, rest.find('.'));
    rest.remove_prefix(part.size());
    at = at->find(part);
  }
  return at == nullptr ? std::string() : shown_value(*at);
}

// As InferenceX and others write them.
std::span<const std::string_view> configuration_keys() {
  static const std::vector<std::string_view> keys = separated(
      "hw hardware gpu gpu_model gpu_name num_gpus gpu_count driver clock_setting_mhz is_multinode "
      "disagg "
      "framework backend engine model model_id model_name infmax_model_prefix model_prefix "
      "precision quantization dtype spec_decoding "
      "tp pp ep dp dp_attention dcp_size pcp_size num_prefill_gpu num_decode_gpu "
      "prefill_tp prefill_pp prefill_ep prefill_dp_attention prefill_num_workers "
      "decode_tp decode_pp decode_ep decode_dp_attention decode_num_workers "
      "scenario_type dataset isl osl input_len output_len conc users concurrency "
      "max_concurrency "
      "request_rate num_prompts batch_size max_num_seqs generator benchmark "
      "recipe_fingerprint");
  return keys;
}

Configuration configuration_of(const PublishedRun& run, const std::vector<std::string>& keys) {
  Configuration configuration;
  const auto add = [&](std::string_view key) {
    std::string text = run.text_of(key);
    if (!text.empty()) configuration.emplace_back(key, std::move(text));
  };
  if (keys.empty()) {
    const auto known = configuration_keys();
    for (const std::string_view key : known) add(key);
    const std::string set = run.text_of("settings");
    for (std::string_view rest = set; !rest.empty();) {
      const std::string_view key = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(key.size() + 1, rest.size()));
      if (std::ranges::find(known, key) == known.end()) add(key);
    }
  } else {
    for (const std::string& key : keys) add(key);
  }
  return configuration;
}

std::string configuration_text(const Configuration& configuration) {
  std::string text;
  for (const auto& [key, value] : configuration) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  }
  return text.empty() ? "(no configuration)" : text;
}

void set_computed_telemetry(PublishedRun& run, std::string_view path) {
  const std::size_t folder = run.name.rfind('/') + 1;
  run.telemetry_folder = path.starts_with(run.name.substr(0, folder)) ? folder : 0;
  run.telemetry = path.substr(run.telemetry_folder);
}

std::optional<StorePath> telemetry_of(const PublishedRun& run) {
  if (run.telemetry.empty()) return std::nullopt;
  if (!run.read_as.empty()) {
    return place_on_disk(run.name.substr(0, run.telemetry_folder) + run.telemetry);
  }
  if (!run.record) return std::nullopt;
  const StorePath place = run.record.place();
  const RunRecord record{place, read_json_object(place)};
  return record.find(run.telemetry);
}

JsonValue record_of(const PublishedRun& run) {
  if (run.record) return read_json_object(run.record.place());
  return run.read_as.empty() ? JsonValue() : parse_json(*run.read_as);
}

std::string reading_in(const JsonValue& record) {
  Json read = {{"columns", recorded_columns(record).all}};
  for (const char* const key : {"timezone", "utc_offset"}) {
    const JsonValue& value = recorded_origin(record).at(key);
    if (value.is_string()) read[key] = value.text;
  }
  return line_text({{kComputedFrom, std::move(read)}});
}

namespace {

// The members that say how the runs were run; others, if there are none.
std::string keys_text(const std::vector<const PublishedRun*>& runs,
                      const std::vector<std::string>& others) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> keys;
  const auto add = [&](const std::string& key) {
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  };
  for (const PublishedRun* run : runs) {
    for (const auto& [key, value] : configuration_of(*run, {})) add(key);
  }
  if (keys.empty()) std::ranges::for_each(others, add);
  const std::size_t shown = std::min(keys.size(), kMost);
  return fmt::format(
      "{}{}", fmt::join(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      shown < keys.size() ? ", ..." : "");
}

}  // namespace

void require_members(std::string_view option, const std::vector<const PublishedRun*>& runs,
                     const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const auto has_it = [&](const PublishedRun* run) { return !run->text_of(key).empty(); };
    if (std::ranges::any_of(runs, has_it)) continue;
    std::vector<std::string> known;
    for (const PublishedRun* run : runs) {
      append(known, run->members.names());
    }
    const std::string own(loads::setting_name(key));
    const bool is_known = !own.empty() && std::ranges::find(known, own) != known.end();
    throw Error(
        fmt::format("{}: no run has '{}'{}; they have {}", option, key,
                    is_known ? fmt::format(": did you mean {}?", own) : did_you_mean(key, known),
                    keys_text(runs, known)));
  }
}

namespace {

// Decimals of a number as it was written.
int decimals_of(double value) {
  constexpr int kMost = 9;
  int decimals = 0;
  for (double scaled = std::abs(value); decimals < kMost; scaled *= 10, ++decimals) {
    if (std::abs(scaled - std::round(scaled)) <= kLastBits * scaled) break;
  }
  return decimals;
}

// Whether one is the other, rounded to three digits or more.
bool is_rounded(double a, double b) {
  constexpr int kFewestDigits = 3;
  const double size = std::max(std::abs(a), std::abs(b));
  const int least =
      size > 0 ? kFewestDigits - 1 - static_cast<int>(std::floor(std::log10(size))) : 0;
  const int decimals = std::max(std::min(decimals_of(a), decimals_of(b)), least);
  return std::abs(a - b) <= 0.5 * std::pow(10, -decimals) * (1 + kLastBits) + kLastBits * size;
}

bool have_same_numbers(const PublishedRun& a, const PublishedRun& b) {
  constexpr int kFewest = 2;
  constexpr std::ptrdiff_t kDigitsOfOnly = 6;  // that chance does not repeat
  int telling = 0;
  if (a.numbers.size() == 1 && b.numbers.size() == 1) {
    return a.numbers[0].key == b.numbers[0].key && a.numbers[0].value == b.numbers[0].value &&
           has_many_digits(a.numbers[0], kDigitsOfOnly);
  }
  for (const PublishedNumber& own : a.numbers) {
    const auto other = std::ranges::find(b.numbers, own.key, &PublishedNumber::key);
    if (other == b.numbers.end()) continue;
    if (!is_rounded(own.value, other->value)) return false;
    telling += has_many_digits(own) && has_many_digits(*other) ? 1 : 0;
  }
  return telling >= kFewest;
}

bool may_have_same_gpus(const PublishedRun& a, const PublishedRun& b) {
  const auto may_be_same = [&](SharedTexts PublishedRun::*texts) {
    return (a.*texts).empty() || (b.*texts).empty() || a.*texts == b.*texts;
  };
  return may_be_same(&PublishedRun::gpu_ids) && may_be_same(&PublishedRun::gpu_uuids) &&
         may_be_same(&PublishedRun::hosts);
}

// Several recorders of one run: no two runs begin and end in the same microseconds. Windows of
// whole seconds show it only on GPUs, or hosts, that are known to be the same.
bool are_of_one_run(const PublishedRun& a, const PublishedRun& b) {
  constexpr double kOff = 2e-6;
  const auto is_fine = [](double unix_s) { return std::abs(unix_s - std::round(unix_s)) > 1e-3; };
  const bool are_sure =
      (is_fine(a.start_unix_s) && is_fine(a.start_unix_s + a.duration_s)) ||
      (!a.gpu_uuids.empty() && a.gpu_uuids == b.gpu_uuids) ||
      (!a.hosts.empty() && a.hosts == b.hosts && !a.gpu_ids.empty() && a.gpu_ids == b.gpu_ids);
  return are_sure && a.start_unix_s > 0 && std::abs(a.start_unix_s - b.start_unix_s) <= kOff &&
         std::abs(a.duration_s - b.duration_s) <= kOff && may_have_same_gpus(a, b);
}

bool are_copies(const PublishedRun& a, const PublishedRun& b) {
  if (!may_have_same_gpus(a, b)) return false;
  if (a.start_unix_s == 0 || b.start_unix_s == 0) return have_same_numbers(a, b);
  constexpr double kMostApart_s = 0.5;
  return std::abs(a.start_unix_s - b.start_unix_s) <= std::min(kMostApart_s, a.duration_s / 2) &&
         is_rounded(a.duration_s, b.duration_s);
}

}  // namespace

namespace {

// Returns the first known one near `value` for which `is_same` holds.
template <class IsSame>
const PublishedRun* near_run(const std::multimap<double, const PublishedRun*>& runs, double value,
                             IsSame is_same) {
  constexpr double kNear = 0.01;  // more than a number of three digits is rounded by
  const auto end = runs.upper_bound(value + kNear * std::abs(value));
  for (auto known = runs.lower_bound(value - kNear * std::abs(value)); known != end; ++known) {
    if (is_same(*known->second, known->first)) return known->second;
  }
  return nullptr;
}

}  // namespace

const PublishedRun* KnownMeasurements::copied_by(const PublishedRun& run, double value) const {
  return near_run(runs_, value, [&](const PublishedRun& known, double known_value) {
    return are_copies(known, run) && is_rounded(known_value, value);
  });
}

const PublishedRun* KnownMeasurements::copied_or_added(const PublishedRun& run, double value) {
  const PublishedRun* copied = copied_by(run, value);
  if (copied == nullptr) {
    copied = near_run(runs_, value, [&](const PublishedRun& known, double) {
      return are_of_one_run(known, run);
    });
  }
  if (copied == nullptr) add(run, value);
  return copied;
}

int metric_schema(const PublishedRun& run) {
  if (run.numbers.empty()) return 0;
  return run.number("total_gpu_energy_j") || !run.text_of("power_metric_schema_version").empty()
             ? 2
             : 1;
}

std::vector<std::size_t> seeded_order(std::size_t count, std::uint64_t seed,
                                      const std::function<std::string_view(std::size_t)>& text) {
  std::vector<std::pair<std::uint64_t, std::size_t>> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    all.emplace_back(text_hash(fmt::format("{} {}", seed, text(i))), i);
  }
  std::ranges::sort(all);
  std::vector<std::size_t> order;
  for (const auto& [hash, i] : all) order.push_back(i);
  return order;
}

std::unique_ptr<Recording> recording_of_run(const StorePath& telemetry, const JsonValue& record) {
  const auto beside = [telemetry](const std::string& name) -> std::unique_ptr<ByteSource> {
    const auto found = find_beside(telemetry, name);
    return found ? found->tree->open(found->path).source() : nullptr;
  };
  return std::make_unique<Recording>(
      telemetry.display, std::make_unique<OpenedFile>(telemetry.tree->open(telemetry.path)), beside,
      recorded_zone(recorded_origin(record)), recorded_columns(record));
}

}  // namespace aggregate_power
