// Reads samples of GPUs that recorders write as JSON: a row says where in a text its time, its GPUs
// and their power are.
#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/json.h"
#include "base/text/pattern.h"
#include "core/telemetry/csv_telemetry.h"
#include "core/telemetry/lines.h"
#include "core/telemetry/power_names.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

// What a value is. `url` is what was asked for the GPU. `record` and `gpu` are objects; where no
// path is a `gpu`, a record is one of a single GPU. `card` is the power of a card with several
// GPUs, whose number is `board`.
enum class Part {
  none,
  record,
  gpu,
  time,
  uuid,
  host,
  host_of_all,
  url,
  index,
  board,
  card,
  power,
  limit,
  utilization,
  counter,
  member
};

// What a member is of an object whose keys are names of values, such as "gpu/0/power".
struct Member {
  Part part = Part::none;
  std::string gpu = {};  // empty: the object is of one GPU
  std::string host = {};
};

struct JsonPart {
  std::string_view path;
  Part part = Part::none;
};

struct JsonForm {
  const char* name;
  SchemaRow schema;
  const char* time;
  const char* power;
  const char* device;
  Sensor sensor;
  std::vector<JsonPart> parts;
  // What the first 64 KiB contain: all of one of these lists.
  std::vector<std::vector<std::string_view>> marks;
  Member (*member)(std::string_view key) = nullptr;
  std::optional<EnergyCounter> counter = {};
  bool names_hosts = false;
  bool naive_is_utc = false;
  const char* warning = "";
};

bool is_no_value(std::string_view text) {
  return text.empty() || text == "N/A" || text == "-1" || text == "-1.0";
}

// A value that may be in a record several times: the first that is one counts.
struct JsonValueText {
  bool is_there = false;
  std::string text;

  void set(JsonKind kind, std::string_view value) {
    is_there = true;
    if (is_no_value(text) && kind != JsonKind::null) text = value;
  }
  void clear() {
    is_there = false;
    text.clear();
  }
};

struct JsonGpu {
  std::string uuid, host, url, index, board;
  JsonValueText card, watts, limit, utilization, count;

  void clear() {
    for (std::string* const text : {&uuid, &host, &url, &index, &board}) text->clear();
    for (JsonValueText* const value : {&card, &watts, &limit, &utilization, &count}) value->clear();
  }
};

class JsonFormWalk : public JsonVisitor {
 public:
  JsonFormWalk(const JsonForm& form, bool reads_counters, ReadingSink& sink)
      : form_(form),
        reads_counters_(reads_counters),
        sink_(sink),
        has_gpus_(has(Part::gpu)),
        are_in_places_(!has(Part::index) && form.member == nullptr) {}

  void begin(std::size_t path) override {
    const Part part = form_.parts[path].part;
    if (part == Part::record) {
      time_.clear();
      host_ = record_key_;
      count_ = 0;
      named_.clear();
    }
    if (part == (has_gpus_ ? Part::gpu : Part::record)) start_gpu();
  }
  // A record's time may come after its GPUs.
  void end(std::size_t path) override {
    if (form_.parts[path].part != Part::record) return;
    if (reads_counters_) return add_all(sink_, &JsonGpu::count);
    add_all(sink_, &JsonGpu::watts);
    if (sink_.counters() != nullptr && form_.counter) add_all(*sink_.counters(), &JsonGpu::count);
  }
  void key(std::size_t path, std::string_view key) override {
    const Part part = form_.parts[path].part;
    if (part == Part::member) member_ = &find_member(key);
    if (part == Part::record) record_key_ = key;
  }
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    const Part part = form_.parts[path].part;
    if (part != Part::member) return set(part, kind, text, nullptr);
    if (member_->part != Part::none) set(member_->part, kind, text, member_);
  }

 private:
  static constexpr std::size_t kMost = 65536;
  struct KnownMember : Member {
    std::string key;
  };

  bool has(Part part) const {
    return std::ranges::find(form_.parts, part, &JsonPart::part) != form_.parts.end();
  }

  // Keys come in the same order with each record.
  const Member& find_member(std::string_view key) {
    if (next_ >= members_.size()) next_ = 0;
    if (next_ < members_.size() && members_[next_].key == key) return members_[next_++];
    const auto known = places_.find(key);
    next_ = (known == places_.end() ? members_.size() : known->second) + 1;
    if (known != places_.end()) return members_[known->second];
    if (members_.size() == kMost) throw TelemetryError("more than 65536 names of values");
    const KnownMember& member =
        members_.emplace_back(KnownMember{form_.member(key), std::string(key)});
    places_.emplace(member.key, members_.size() - 1);
    return member;
  }

  void start_gpu() {
    if (count_ == kMost) throw TelemetryError("more than 65536 GPUs in one record");
    if (++count_ > gpus_.size()) gpus_.emplace_back();
    gpus_[count_ - 1].clear();
  }
  JsonGpu& gpu_of(const Member* member) {
    if (member != nullptr && !member->gpu.empty()) return gpu_named(*member);
    if (count_ == 0) start_gpu();
    return gpus_[count_ - 1];
  }
  JsonGpu& gpu_named(const Member& member) {
    const auto [place, is_new] = named_.try_emplace({member.host, member.gpu}, count_);
    if (!is_new) return gpus_[place->second];
    start_gpu();
    gpus_[count_ - 1].index = member.gpu;
    gpus_[count_ - 1].host = member.host;
    return gpus_[count_ - 1];
  }

  void set(Part part, JsonKind kind, std::string_view text, const Member* member) {
    const auto set_text = [&](std::string& into) {
      if (into.empty() && kind != JsonKind::null) into = text;
    };
    switch (part) {
      case Part::time:
        return set_text(time_);
      case Part::host_of_all:
        return set_text(host_);
      case Part::host:
        return set_text(gpu_of(member).host);
      case Part::url:
        return set_text(gpu_of(member).url);
      case Part::uuid:
        return set_text(gpu_of(member).uuid);
      case Part::index:
        return set_text(gpu_of(member).index);
      case Part::board:
        return set_text(gpu_of(member).board);
      case Part::card:
        return gpu_of(member).card.set(kind, text);
      case Part::power:
        return set_power(gpu_of(member), kind, text, member != nullptr);
      case Part::limit:
        return gpu_of(member).limit.set(kind, text);
      case Part::utilization:
        return gpu_of(member).utilization.set(kind, text);
      case Part::counter:
        return gpu_of(member).count.set(kind, text);
      default:
        return;
    }
  }

  static void set_power(JsonGpu& gpu, JsonKind kind, std::string_view text, bool is_member) {
    if (is_member && !is_no_value(gpu.watts.text) && !is_no_value(text)) {
      throw TelemetryError(fmt::format(
          "GPU {} has two values of power in one record, {} and {}: names must tell GPUs apart",
          printable(gpu.index), gpu.watts.text, printable(text)));
    }
    gpu.watts.set(kind, text);
  }

  // The first GPU of each board that has the card's power.
  using Cards = std::map<std::string_view, const JsonGpu*>;
  Cards cards() const {
    Cards found;
    for (std::size_t i = 0; i < count_; ++i) {
      const JsonGpu& gpu = gpus_[i];
      if (!gpu.board.empty() && !is_no_value(gpu.card.text)) found.emplace(gpu.board, &gpu);
    }
    return found;
  }

  // A card's power counts once, for its first GPU, and no GPU's own power counts then.
  static std::optional<std::string_view> value_of(const JsonGpu& gpu, JsonValueText JsonGpu::*value,
                                                  const Cards& cards) {
    const auto card = gpu.board.empty() ? cards.end() : cards.find(gpu.board);
    const bool is_of_card = card != cards.end() || !is_no_value(gpu.card.text);
    if (value != &JsonGpu::watts || !is_of_card) {
      return (gpu.*value).is_there ? std::optional<std::string_view>((gpu.*value).text)
                                   : std::nullopt;
    }
    const bool counts = card == cards.end() || card->second == &gpu;
    return counts ? std::optional<std::string_view>(gpu.card.text) : std::nullopt;
  }

  // Not what an exporter writes for a GPU whose UUID it does not know, such as "amd-gpu-0".
  static bool is_unique(std::string_view uuid) {
    constexpr std::size_t kShort = 8;
    static constexpr Pattern unique = "(gpu|mig)-.*";
    static constexpr Pattern number = "(0x)?[0-9a-f-]+";
    const std::string lower = lower_ascii(uuid);
    return unique.matches(lower) || (lower.size() >= kShort && number.matches(lower));
  }
  // What was asked, where a GPU's host is only this one's own name for itself.
  std::string host_of(const JsonGpu& gpu) const {
    static constexpr Pattern own = "|localhost.*|127\\..*|::1|0\\.0\\.0\\.0.*";
    const std::string& host = gpu.host.empty() ? host_ : gpu.host;
    if (!has(Part::url) || !own.matches(host)) return host;
    const std::size_t begin = gpu.url.find("://");
    if (begin == gpu.url.npos) return host;
    const std::string asked = gpu.url.substr(begin + 3, gpu.url.find('/', begin + 3) - begin - 3);
    if (!own.matches(asked)) return asked;
    return gpu.uuid.empty() ? host : std::string();
  }

  void add_all(ReadingSink& sink, JsonValueText JsonGpu::*value) {
    bool has_row = false;
    const Cards found = cards();
    for (std::size_t i = 0; i < count_; ++i) {
      const std::optional<std::string_view> text = value_of(gpus_[i], value, found);
      if (!text) continue;
      if (!has_row && !sink.start_row(time_)) return;
      has_row = true;
      const JsonGpu& gpu = gpus_[i];
      const std::uint32_t device = number_of(gpu, i, sink);
      if (value == &JsonGpu::watts && gpu.limit.is_there) {
        sink.state(device, GpuQuantity::power_limit_w, sink.number(gpu.limit.text));
      }
      if (value == &JsonGpu::watts && gpu.utilization.is_there) {
        sink.state(device, GpuQuantity::utilization_pct, parse_state(gpu.utilization.text));
      }
      sink.add_to(device, *text);
    }
  }
  std::uint32_t number_of(const JsonGpu& gpu, std::size_t place, ReadingSink& sink) const {
    const std::string host = host_of(gpu);
    if (!gpu.uuid.empty() && (is_unique(gpu.uuid) || host.empty())) return sink.find(gpu.uuid);
    const std::string number = are_in_places_ ? std::to_string(place) : gpu.index;
    return sink.find_in(host, gpu.uuid.empty() ? number : gpu.uuid);
  }

  const JsonForm& form_;
  bool reads_counters_;
  ReadingSink& sink_;
  bool has_gpus_;
  bool are_in_places_;  // what tells GPUs apart is their place in the record
  std::string time_;
  std::string record_key_;     // a host, where records are members of an object
  std::string host_;           // of all GPUs of the record that name none
  std::vector<JsonGpu> gpus_;  // the first count_ ones are of this record
  std::size_t count_ = 0;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> named_;  // by host and GPU
  std::deque<KnownMember> members_;
  std::map<std::string_view, std::size_t> places_;  // in members_
  std::size_t next_ = 0;
  const Member* member_ = nullptr;
};

// ---- The rows

Member numbered_member(std::string_view key, std::string_view time) {
  if (key == time) return {Part::time};
  if (const auto limit = columns::numbered_limit(key)) {
    const bool is_in_watts = limit->unit.size == PowerUnit::Size::watt;
    return is_in_watts ? Member{Part::limit, limit->gpu, limit->host} : Member{};
  }
  if (const auto used = columns::numbered_utilization(key)) {
    return {Part::utilization, used->gpu, used->host};
  }
  const auto gpu = columns::numbered_power(key);
  if (!gpu || gpu->is_bare) return {};
  if (gpu->unit.size != PowerUnit::Size::watt) {
    throw TelemetryError(fmt::format("'{}' is not in watts, as other names are: write all in watts",
                                     printable(key)));
  }
  return {Part::power, gpu->gpu, gpu->host};
}
// The same with a counter, which is named as the power is, but for the end.
Member counted_member(std::string_view key, std::string_view time, std::string_view counter,
                      std::string_view power) {
  if (!key.ends_with(counter)) return numbered_member(key, time);
  key.remove_suffix(counter.size());
  Member member = numbered_member(fmt::format("{}{}", key, power), time);
  if (member.part == Part::power) member.part = Part::counter;
  return member;
}
Member wandb_member(std::string_view key) {
  return counted_member(key, "_timestamp", ".totalEnergyConsumption", ".powerWatts");
}
Member trackio_member(std::string_view key) {
  return counted_member(key, "timestamp", "/energy_consumed", "/power");
}

Member nvitop_member(std::string_view key) {
  const columns::NvitopName name = columns::nvitop_name(key);
  if (name.is_time_of_last) return {Part::time};
  return name.is_last ? Member{Part::power, name.gpu} : Member{};
}

Member gpustat_member(std::string_view key) {
  if (key == "uuid") return {Part::uuid};
  if (key == "index") return {Part::index};
  if (key == "enforced.power.limit") return {Part::limit};
  if (key == "utilization.gpu") return {Part::utilization};
  return key == "power.draw" ? Member{Part::power} : Member{};
}

Member xpu_smi_member(std::string_view key) {
  return key == "power.draw" ? Member{Part::power} : Member{};
}

// "GPU_1"; of older versions "power_gpu_socket_0" and "power_gpu_watts_socket_0", of all GPUs of a
// socket.
Member variorum_gpu(std::string_view key) {
  constexpr std::string_view kGpu = "GPU_";
  return key.starts_with(kGpu) ? Member{Part::power, std::string(key.substr(kGpu.size()))}
                               : Member{};
}
Member variorum_socket(std::string_view key) {
  if (key == "timestamp") return {Part::time};
  if (key == "hostname") return {Part::host_of_all};
  if (!key.starts_with("power_gpu_")) return {};
  const std::size_t socket = key.find("socket_");
  return socket == key.npos ? Member{} : Member{Part::power, std::string(key.substr(socket))};
}

const std::vector<JsonForm>& json_forms() {
  static const std::vector<JsonForm> forms = {
      {.name = "AIPerf GPU telemetry",
       .schema =
           {"aiperf-gpu-telemetry",
            "`gpu_power_usage`, `nvidia_power_usage` or `amd_power` in the lines of `profile_export_gpu_telemetry.jsonl`, in W",
            "`gpu_uuid`; else `hostname`, or the URL where that is localhost, and `gpu_index`"},
       .time = "timestamp_ns",
       .power = "gpu_power_usage",
       .device = "uuid",
       .sensor = {"AIPerf", "gpu_power_usage", "gpu", "unknown"},
       .parts = {{"", Part::record},
                 {"timestamp_ns", Part::time},
                 {"gpu_uuid", Part::uuid},
                 {"hostname", Part::host},
                 {"dcgm_url", Part::url},
                 {"telemetry_source_url", Part::url},
                 {"gpu_index", Part::index},
                 {"telemetry_data.gpu_power_usage", Part::power},
                 {"telemetry_data.nvidia_power_usage", Part::power},
                 {"telemetry_data.amd_power", Part::power},
                 {"telemetry_data.amd_power_usage", Part::power},
                 {"telemetry_data.gpu_utilization", Part::utilization},
                 {"telemetry_data.nvidia_gpu_utilization", Part::utilization},
                 {"telemetry_data.amd_gpu_utilization", Part::utilization},
                 {"telemetry_data.power_management_limit", Part::limit},
                 {"telemetry_data.energy_consumption", Part::counter},
                 {"telemetry_data.nvidia_energy_consumption", Part::counter},
                 {"telemetry_data.amd_energy_consumption", Part::counter}},
       .marks = {{"\"timestamp_ns\"", "\"telemetry_data\"", "\"gpu_uuid\""}},
       .counter = EnergyCounter{"energy_consumption", "MJ", 1e6}},
      {.name = "all-smi",
       .schema = {"all-smi", "`power_consumption` in the frames of `all-smi record`, in W",
                  "`uuid`"},
       .time = "timestamp",
       .power = "power_consumption",
       .device = "uuid",
       .sensor = {"all-smi", "power_consumption", "gpu", "unknown"},
       .parts = {{"", Part::record},
                 {"timestamp", Part::time},
                 {"gpus[]", Part::gpu},
                 {"gpus[].uuid", Part::uuid},
                 {"gpus[].hostname", Part::host},
                 {"gpus[].index", Part::index},
                 {"gpus[].utilization", Part::utilization},
                 {"gpus[].power_consumption", Part::power}},
       .marks = {{"\"schema\"", "\"header\"", "\"all_smi_version\""},
                 {"\"schema\"", "\"timestamp\"", "\"gpus\""}}},
      {.name = "gpustat",
       .schema = {"gpustat", "`power.draw` of `gpustat --json` in a loop, in whole W",
                  "`uuid`, else host and `index`"},
       .time = "query_time",
       .power = "power.draw",
       .device = "uuid",
       .sensor = {"gpustat", "power.draw", "gpu", "unknown"},
       .parts = {{"", Part::record},
                 {"query_time", Part::time},
                 {"hostname", Part::host_of_all},
                 {"gpus[]", Part::gpu},
                 {"gpus[].*", Part::member}},
       .marks = {{"\"query_time\"", "\"gpus\""}},
       .member = gpustat_member,
       .warning =
           "rounded_down: gpustat writes whole watts, rounded down, so that its power is 0.5 W too low on average"},
      {.name = "amd-smi metric --json",
       .schema =
           {"amd-smi-json",
            "`power.socket_power`, else `current_socket_power` or `average_socket_power`, of `amd-smi metric -p -E -w 1 --json`, in W",
            "`gpu`"},
       .time = "timestamp",
       .power = "socket_power",
       .device = "gpu",
       .sensor = {"amd-smi", "socket_power", "package", "unknown"},
       .parts = {{"[]", Part::record},
                 {"[].timestamp", Part::time},
                 {"[].gpu", Part::index},
                 {"[].power.socket_power", Part::power},
                 {"[].power.socket_power.value", Part::power},
                 {"[].power.current_socket_power.value", Part::power},
                 {"[].power.average_socket_power.value", Part::power},
                 {"[].usage.gfx_activity", Part::utilization},
                 {"[].usage.gfx_activity.value", Part::utilization},
                 {"[].energy.total_energy_consumption.value", Part::counter},
                 {"gpu_data[]", Part::record},
                 {"gpu_data[].timestamp", Part::time},
                 {"gpu_data[].gpu", Part::index},
                 {"gpu_data[].power.socket_power", Part::power},
                 {"gpu_data[].power.socket_power.value", Part::power},
                 {"gpu_data[].power.current_socket_power.value", Part::power},
                 {"gpu_data[].power.average_socket_power.value", Part::power},
                 {"gpu_data[].usage.gfx_activity", Part::utilization},
                 {"gpu_data[].usage.gfx_activity.value", Part::utilization},
                 {"gpu_data[].energy.total_energy_consumption.value", Part::counter}},
       .marks = {{"\"gpu\"", "\"power\"", "_power\"", "\"throttle_status\"", "\"timestamp\""},
                 {"\"gpu\"", "\"power\"", "\"socket_power\"", "\"timestamp\""}},
       .counter = EnergyCounter{"total_energy_consumption", "J", 1}},
      {.name = "tt-smi",
       .schema =
           {"tt-smi",
            "`board_power` of a card, else `power` of the ASIC, of snapshots of `tt-smi -s`, one after the other, in W",
            "host and place in the list; a card with two chips counts once by `board_power`"},
       .time = "time",
       .power = "power",
       .device = "device_info",
       .sensor = {"tt-smi", "power", "gpu", "unknown"},
       .parts = {{"", Part::record},
                 {"time", Part::time},
                 {"host_info.Hostname", Part::host_of_all},
                 {"device_info[]", Part::gpu},
                 {"device_info[].board_info.board_id", Part::board},
                 {"device_info[].telemetry.board_power", Part::card},
                 {"device_info[].telemetry.power", Part::power},
                 {"device_info[].limits.tdp_limit", Part::limit}},
       .marks = {{"\"time\"", "\"device_info\"", "\"board_info\"", "\"telemetry\""}},
       .names_hosts = true},
      {.name = "macmon",
       .schema = {"macmon", "`gpu_power` of `macmon pipe`, in W: the GPU's part of the chip",
                  "one device"},
       .time = "timestamp",
       .power = "gpu_power",
       .device = "the chip",
       .sensor = {"macmon", "gpu_power", "rail", "over the period before the stamp"},
       .parts = {{"", Part::record}, {"timestamp", Part::time}, {"gpu_power", Part::power}},
       .marks = {{"\"timestamp\"", "\"gpu_power\"", "\"ane_power\""}}},
      {.name = "W&B events",
       .schema = {"wandb-events",
                  "`system.gpu.N.powerWatts` in the lines of `wandb-events.jsonl`, in W",
                  "the name's number; with a host if it has a label `/l:HOST`"},
       .time = "_timestamp",
       .power = "system.gpu.N.powerWatts",
       .device = "the name's number",
       .sensor = {"W&B", "system.gpu.N.powerWatts", "gpu", "unknown"},
       .parts = {{"", Part::record}, {"*", Part::member}},
       .marks = {{"\"_timestamp\"", "\"system.gpu.", ".powerWatts"},
                 {"\"_timestamp\"", "\"system/gpu.", ".powerWatts"}},
       .member = wandb_member,
       .counter = EnergyCounter{"totalEnergyConsumption", "mJ", 1e-3}},
      {.name = "Trackio",
       .schema = {"trackio",
                  "`gpu/N/power` in what `trackio get system-metric ... --json` prints, in W",
                  "the name's number"},
       .time = "timestamp",
       .power = "gpu/N/power",
       .device = "the name's number",
       .sensor = {"Trackio", "gpu/N/power", "gpu", "unknown"},
       .parts = {{"system_metrics[]", Part::record}, {"system_metrics[].*", Part::member}},
       .marks = {{"\"system_metrics\"", "\"gpu/", "/power\""}},
       .member = trackio_member,
       .counter = EnergyCounter{"energy_consumed", "J", 1}},
      {.name = "nvitop's collector, JSON",
       .schema =
           {"nvitop-json",
            "`gpu:N/power_usage (W)/last` of nvitop's ResourceMetricCollector in JSON lines, at `last_timestamp`, in W",
            "the name's number, in brackets if there are two"},
       .time = "last_timestamp",
       .power = "power_usage (W)/last",
       .device = "the name's number",
       .sensor = {"nvitop", "power_usage (W)/last", "gpu", "unknown"},
       .parts = {{"", Part::record}, {"*", Part::member}},
       .marks = {{"/power_usage (W)/last\"", "last_timestamp\""}},
       .member = nvitop_member},
      {.name = "Variorum",
       .schema =
           {"variorum",
            "`power_gpu_watts` of Variorum's JSON, in W; of older versions `power_gpu_socket_N`, of all GPUs of a socket",
            "host and `GPU_N`"},
       .time = "timestamp",
       .power = "power_gpu_watts",
       .device = "GPU_N",
       .sensor = {"Variorum", "power_gpu_watts", "gpu", "instantaneous"},
       .parts = {{"*", Part::record},
                 {"*.timestamp", Part::time},
                 {"*.*", Part::none},
                 {"*.*.power_gpu_watts.*", Part::member}},
       .marks = {{"\"timestamp\"", "\"power_gpu_watts\"", "\"GPU_"}},
       .member = variorum_gpu,
       .names_hosts = true},
      {.name = "Variorum, flat",
       .schema = {"variorum-flat",
                  "`power_gpu_socket_N` of older versions of Variorum, in W: all GPUs of a socket",
                  "host and socket"},
       .time = "timestamp",
       .power = "power_gpu_socket_N",
       .device = "the socket",
       .sensor = {"Variorum", "power_gpu_socket_N", "gpu", "instantaneous"},
       .parts = {{"", Part::record}, {"*", Part::member}},
       .marks = {{"\"timestamp\"", "\"hostname\"", "\"power_gpu_", "socket_0\"", "\"power_node"}},
       .member = variorum_socket,
       .names_hosts = true},
      {.name = "xpu-smi dump -j",
       .schema = {"xpu-smi-json",
                  "`power.draw` in the lines of `xpu-smi dump -j --date`, in W; timestamps are UTC",
                  "`device`"},
       .time = "timestamp",
       .power = "power.draw",
       .device = "device",
       .sensor = {"xpu-smi", "power.draw", "gpu", "over the interval before the stamp"},
       .parts = {{"", Part::record},
                 {"timestamp", Part::time},
                 {"device", Part::index},
                 {"metrics.*", Part::member}},
       .marks = {{"\"timestamp\"", "\"device\"", "\"metrics\"", "\"power.draw\""}},
       .member = xpu_smi_member,
       .naive_is_utc = true},
  };
  return forms;
}

const JsonForm* json_form_of(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == head.npos || (head[first] != '{' && head[first] != '[')) return nullptr;
  const auto fits = [&](const JsonForm& form) {
    return std::ranges::any_of(form.marks, [&](const auto& marks) { return has_all(head, marks); });
  };
  const auto found = std::ranges::find_if(json_forms(), fits);
  return found == json_forms().end() ? nullptr : &*found;
}

SeriesFacts json_facts(const JsonForm& form, std::string_view head,
                       const TelemetryOptions& options) {
  SeriesFacts facts = facts_of_names({.schema = std::string(form.schema.name),
                                      .timestamp = form.time,
                                      .power = form.power,
                                      .device = form.device,
                                      .is_only_power = true},
                                     options);
  facts.sensor = form.sensor;
  facts.names_hosts = form.names_hosts;
  facts.naive_is_utc = form.naive_is_utc;
  facts.has_power_limit = has_all(head, {"imit"});
  if (*form.warning != '\0') facts.warnings.emplace_back(form.warning);
  if (form.counter && head.find(form.counter->name + "\":") != head.npos) {
    facts.counter = form.counter;
  }
  return facts;
}

JsonPaths paths_of(const JsonForm& form) {
  return JsonPaths(mapped<std::string_view>(form.parts, &JsonPart::path));
}

void read_json_form(const JsonForm& form, bool reads_counters, ByteSource& bytes,
                    ReadingSink& sink) {
  if (form.counter && reads_counters) sink.count_energy(*form.counter);
  if (form.counter && sink.counters() != nullptr) sink.counters()->count_energy(*form.counter);
  JsonFormWalk walk(form, reads_counters, sink);
  walk_json(bytes, paths_of(form), walk, JsonTexts::several);
}

double fits_json_forms(std::string_view head) { return json_form_of(head) != nullptr ? 0.9 : 0; }

Telemetry open_json_forms(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  std::string head = read_up_to(*source, kHeadBytes);
  const JsonForm* const form = json_form_of(head);
  source = std::make_unique<ResumedSource>(std::move(head), std::move(source));
  if (form == nullptr) return open_csv(std::move(source), options);
  return open_stream(
      std::move(source), options,
      {.facts_of = [&](std::string_view text) { return json_facts(*form, text, options); },
       .read = [form, counters = options.counters && form->counter](
                   ByteSource& bytes,
                   ReadingSink& sink) { read_json_form(*form, counters, bytes, sink); },
       .cut_off_after = at_any_json_line});
}

}  // namespace

const Recorder kJsonFormsRecorder = {.name = "JSON of samples",
                                     .fits = fits_json_forms,
                                     .open = open_json_forms,
                                     .schemas = schemas_of(json_forms())};

// ---- Power timelines as Zeus' PowerMonitor gives them out: by domain and GPU, or by GPU only,
// pairs of Unix seconds and watts. A pair is there only when the power changed: until the next one,
// it is read again and again, as a recorder that writes all its readings would have written it.

namespace {

struct Domain {
  const char* name;
  const char* scope;
  const char* averaging;
};

// Those of GPUs first, in the order in which they are chosen: Zeus' own.
constexpr Domain kDomains[] = {{"device_instant", "gpu", "instantaneous"},
                               {"device_average", "gpu", "1 s"},
                               {"memory_average", "rail", "1 s"},
                               {"package_average", "package", "unknown"},
                               {"dram_average", "rail", "unknown"}};
constexpr std::size_t kGpuDomains = 2;

// For each domain, and at the end without one: the pairs' GPU, a pair, and its numbers.
constexpr std::string_view kTimelinePaths[] = {"*", "*[]", "*[][]"};
constexpr std::size_t kPathsEach = std::size(kTimelinePaths);
constexpr std::size_t kNoDomain = std::size(kDomains);

// The domains that have pairs, up to the point where a text was cut off.
class TimelineWalk : public JsonVisitor {
 public:
  TimelineWalk(std::size_t domain, ReadingSink* sink) : domain_(domain), sink_(sink) {}

  void begin(std::size_t path) override {
    if (path % kPathsEach == 1) size_ = 0;
  }
  void end(std::size_t path) override {
    const std::size_t domain = path / kPathsEach;
    if (path % kPathsEach != 1 || size_ != 2) return;
    has_pairs_[domain] = true;
    if (domain != domain_ || sink_ == nullptr) return;
    const double unix_s = nearest_double(pair_[0]).value_or(kUnknown);
    hold_until(unix_s);
    if (sink_->start_row(pair_[0])) sink_->add(gpu_, pair_[1]);
    held_since_s_ = nearest_double(pair_[1]) ? unix_s : kUnknown;
    held_w_ = pair_[1];
  }
  void key(std::size_t /*path*/, std::string_view key) override {
    gpu_ = key;
    held_since_s_ = kUnknown;
  }
  void scalar(std::size_t path, JsonKind /*kind*/, std::string_view text) override {
    if (path % kPathsEach == 2 && size_++ < 2) pair_[size_ - 1] = text;
  }
  bool has_pairs(std::size_t domain) const { return has_pairs_[domain]; }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  // Changes that come as fast as the sensor's readings are all of them.
  void hold_until(double unix_s) {
    constexpr double kPeriod_s = 0.25;
    constexpr double kMostRows = 4096;           // of one power, where it held for hours
    constexpr double kMost_s = 2.5;              // between two rows: no gap
    constexpr double kLongest_s = 3e6;           // a month: longer, and a time is wrong
    constexpr double kEdge_s = 1.0 / (1 << 20);  // before a change
    const double held_s = unix_s - held_since_s_;
    if (!(held_s > kPeriod_s && held_s <= kLongest_s)) return;
    const double step_s = std::clamp(held_s / kMostRows, kPeriod_s, kMost_s);
    const auto add = [&](double at_s) {
      sink_->start_row(at_s);
      sink_->add(gpu_, held_w_);
    };
    for (double i = 1; i * step_s < held_s - kEdge_s; ++i) add(held_since_s_ + i * step_s);
    add(unix_s - kEdge_s);
  }

  std::size_t domain_;
  ReadingSink* sink_;
  std::string gpu_;
  double held_since_s_ = kUnknown;
  std::string held_w_;
  std::array<std::string, 2> pair_;
  std::size_t size_ = 0;
  std::array<bool, kNoDomain + 1> has_pairs_{};
};

// Whether it is a result of ML.ENERGY's benchmark, which has the timelines of its run in it.
bool is_of_benchmark(std::string_view head) {
  return head.starts_with('{') &&
         has_all(head, {"\"entire_benchmark_measurement\"", "\"gpu_energy\""});
}

JsonPaths timeline_paths(std::string_view parent) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& place) {
    for (const std::string_view path : kTimelinePaths) {
      paths.push_back(fmt::format("{}{}{}", parent, place, path));
    }
  };
  for (const Domain& domain : kDomains) add(fmt::format("{}.", domain.name));
  add("");
  return JsonPaths(std::vector<std::string_view>(paths.begin(), paths.end()));
}

void walk_timeline(ByteSource& source, bool is_of_benchmark, TimelineWalk& walk) {
  static const JsonPaths own = timeline_paths("");
  static const JsonPaths of_benchmark = timeline_paths("timeline.power.");
  walk_json(source, is_of_benchmark ? of_benchmark : own, walk, JsonTexts::one);
}

// The domain to read; those that are only further on in the file are chosen by name.
std::size_t domain_of(std::string_view head, const std::string& wanted) {
  for (std::size_t i = 0; i < std::size(kDomains); ++i) {
    if (wanted == kDomains[i].name) return i;
  }
  TimelineWalk walk(kNoDomain, nullptr);
  MemorySource source(head);
  try {
    walk_timeline(source, is_of_benchmark(head), walk);
  } catch (const JsonError&) {  // cut off
  }
  for (std::size_t i = 0; i < kGpuDomains; ++i) {
    if (walk.has_pairs(i)) return i;
  }
  return is_of_benchmark(head) ? 0 : kNoDomain;  // they may be further on
}

SeriesFacts timeline_facts(std::size_t domain, const TelemetryOptions& options) {
  const bool has_domain = domain != kNoDomain;
  const std::string name = has_domain ? kDomains[domain].name : "power";
  const std::string& wanted = options.columns.power;
  SeriesNames names = {.schema = "zeus-timeline", .timestamp = "first of each pair"};
  names.power = name;
  names.device = "GPU";
  if (!wanted.empty()) names.power_why = "named by --power-column";
  SeriesFacts facts = facts_of_names(names, options);
  if (!wanted.empty() && wanted != name) {
    facts.reasons.add(Reason::named_column_missing,
                      "--power-column: the domains are device_instant, device_average, "
                      "memory_average, package_average and dram_average");
  }
  facts.interpolation = Interpolation::hold;
  facts.lines.push_back({"between", "the last value holds", "the recorder writes only changes"});
  facts.sensor.collector = "Zeus";
  facts.sensor.name = name;
  if (has_domain) facts.sensor.scope = kDomains[domain].scope;
  if (has_domain) facts.sensor.averaging = kDomains[domain].averaging;
  return facts;
}

// A result is read as one unless it is named as a recording.
double fits_zeus_timeline(std::string_view head) {
  constexpr double kIfNamed = 0.4;
  if (is_of_benchmark(head)) return kIfNamed;
  static constexpr Pattern start =
      "\\{\\s*(\"(device_instant|device_average|memory_average|package_average|dram_average)\"\\s*:"
      "\\s*\\{[^\\[]*)?(\"[0-9]+\"\\s*:\\s*\\[\\s*\\[|\\}).*";
  const std::string_view text = strip(head.substr(0, 1024));
  std::string line(text.substr(0, 512));
  std::ranges::replace(line, '\n', ' ');
  std::ranges::replace(line, '\r', ' ');
  return line.starts_with('{') && line.find('[') != line.npos && start.matches(line) ? 0.9 : 0;
}

Telemetry open_zeus_timeline(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  std::string head = read_up_to(*source, kHeadBytes);
  const std::size_t domain = domain_of(head, options.columns.power);
  const bool of_benchmark = is_of_benchmark(head);
  return open_stream(std::make_unique<ResumedSource>(std::move(head), std::move(source)), options,
                     {.facts_of = [&](std::string_view) { return timeline_facts(domain, options); },
                      .read =
                          [domain, of_benchmark](ByteSource& bytes, ReadingSink& sink) {
                            TimelineWalk walk(domain, &sink);
                            walk_timeline(bytes, of_benchmark, walk);
                          },
                      .has_lines = false});
}

}  // namespace

const Recorder kZeusTimelineRecorder = {
    .name = "Zeus timeline",
    .fits = fits_zeus_timeline,
    .open = open_zeus_timeline,
    .schemas = {
        {"zeus-timeline",
         "the timelines of Zeus' `PowerMonitor` in JSON, also in a result of ML.ENERGY's benchmark: `device_instant`, else `device_average`, in W",
         "GPU"}}};

}  // namespace aggregate_power
