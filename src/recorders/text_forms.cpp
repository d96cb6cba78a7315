// Reads what tools print again and again for people or in XML: lines in which a time, GPUs and
// powers follow each other.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/pattern.h"
#include "base/text/written_time.h"
#include "core/telemetry/csv_telemetry.h"
#include "core/telemetry/lines.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

// Reads the lines of one recording, front to back.
class TextLines {
 public:
  virtual ~TextLines() = default;
  virtual void take(std::string_view line, ReadingSink& sink) = 0;
  // After the last line, which may be cut off: it was not taken then.
  virtual void finish(ReadingSink&) {}
};

struct TextForm {
  const char* name;
  SchemaRow schema;
  const char* time;
  std::string power;
  const char* device;
  Sensor sensor;
  bool (*fits)(std::string_view head);
  std::unique_ptr<TextLines> (*lines)(const TelemetryOptions& options);
  PowerUnit::Size unit = PowerUnit::Size::watt;
  bool names_hosts = false;
  std::string warning = {};
  // Changes a copy of the row to fit a recording, and adds what is against it.
  void (*adapt)(std::string_view head, const TelemetryOptions& options, TextForm& form,
                Reasons& reasons) = nullptr;
};

// The parts of "Key   : value"; the value is empty if there is none.
std::pair<std::string_view, std::string_view> key_and_value(std::string_view line) {
  const std::size_t colon = line.find(" : ");
  if (colon == line.npos) return {strip(line), {}};
  return {strip(line.substr(0, colon)), strip(line.substr(colon + 3))};
}

// "Tue Sep  8 09:20:30 2026" in ISO 8601; what is not written so as it is, to be counted.
std::string iso_or_same(std::string_view ctime) {
  std::string iso = iso_of_ctime(ctime);
  return iso.empty() ? std::string(ctime) : iso;
}

// ---- nvidia-smi -q -l, as text and as XML

// The GPU that is read. Only the sections of the whole GPU's power count: others have parts of it,
// a module with its CPU, limits or extremes.
class NvidiaGpu {
 public:
  void start(std::string_view id, ReadingSink& sink) {
    finish(sink);
    name_ = id;
    is_open_ = true;
  }
  void start_tick(std::string_view time, ReadingSink& sink) {
    finish(sink);
    time_ = iso_or_same(time);
  }
  void set_uuid(std::string_view uuid) {
    if (is_open_ && !uuid.empty() && uuid != "N/A") name_ = uuid;
  }
  // `rank`: the value as it is preferred, from 0.
  void set_power(std::size_t rank, std::string_view watts) {
    if (is_open_) watts_[rank] = watts;
  }
  void set_limit(std::size_t rank, std::string_view watts) {
    if (is_open_) limits_[rank] = watts;
  }
  void set_utilization(std::string_view percent) {
    if (is_open_) utilization_ = percent;
  }
  void finish(ReadingSink& sink) {
    const bool has_some = std::ranges::any_of(watts_, [](auto& text) { return !text.empty(); });
    if (is_open_ && has_some && sink.start_row(time_)) {
      const std::uint32_t device = sink.find(name_);
      sink.state(device, GpuQuantity::power_limit_w, sink.number(best_of(limits_)));
      sink.state(device, GpuQuantity::utilization_pct, parse_state(utilization_));
      sink.add_to(device, best_of(watts_));
    }
    is_open_ = false;
    for (std::string& text : watts_) text.clear();
    for (std::string& text : limits_) text.clear();
    utilization_.clear();
  }

 private:
  using Ranked = std::array<std::string, 3>;
  // The first that is a number.
  static std::string_view best_of(const Ranked& texts) {
    const auto has_number = [](const std::string& text) {
      return !text.empty() && is_ascii_digit(text[0]);
    };
    const auto* const best = std::ranges::find_if(texts, has_number);
    return best == texts.end() ? std::string_view("N/A") : std::string_view(*best);
  }

  std::string time_;
  std::string name_;
  bool is_open_ = false;
  Ranked watts_;
  Ranked limits_;
  std::string utilization_;
};

class NvidiaText : public TextLines {
 public:
  void take(std::string_view line, ReadingSink& sink) override {
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == line.npos) return;
    const char first = line[indent];
    if (indent == 0) {
      if (first == 'T' && line.starts_with("Timestamp ")) {
        gpu_.start_tick(key_and_value(line).second, sink);
      }
      if (first == 'G' && line.starts_with("GPU ")) gpu_.start(strip(line.substr(4)), sink);
      section_ = 0;
      return;
    }
    if (section_ > 0 && indent <= section_) section_ = 0;
    if (of_use_ > 0 && indent <= of_use_) of_use_ = 0;
    if (first == 'U' && strip(line) == "Utilization") of_use_ = indent;
    if (of_use_ > 0 && first == 'G' && lower_ascii(key_and_value(line).first) == "gpu") {
      gpu_.set_utilization(key_and_value(line).second);
    }
    if (first == 'G' || first == 'P') {
      const std::string_view name = strip(line);
      if (name == "GPU Power Readings" || name == "Power Readings") section_ = indent;
      if (name.starts_with("GPU UUID ")) gpu_.set_uuid(key_and_value(line).second);
    }
    if (section_ > 0) take_power(line);
  }
  void finish(ReadingSink& sink) override { gpu_.finish(sink); }

 private:
  void take_power(std::string_view line) {
    const auto [key, value] = key_and_value(line);
    constexpr std::string_view kKeys[] = {"Power Draw", "Average Power Draw",
                                          "Instantaneous Power Draw"};
    constexpr std::string_view kLimits[] = {"Enforced Power Limit", "Current Power Limit",
                                            "Power Limit"};
    for (std::size_t i = 0; i < std::size(kKeys); ++i) {
      if (key == kKeys[i]) gpu_.set_power(i, value);
      if (key == kLimits[i]) gpu_.set_limit(i, value);
    }
  }

  NvidiaGpu gpu_;
  std::size_t section_ = 0;  // its indent, if it is one of power
  std::size_t of_use_ = 0;   // the same of utilization
};

// Calls `take` for each tag of a line, with its name, its attributes, and the text after it.
template <typename Take>
void for_each_tag(std::string_view line, const Take& take) {
  for (std::size_t at = line.find('<'); at != line.npos; at = line.find('<', at)) {
    const std::size_t end = line.find('>', at);
    if (end == line.npos) return;
    const std::string_view tag = line.substr(at + 1, end - at - 1);
    const std::size_t name = std::min(tag.find(' '), tag.size());
    const std::size_t next = std::min(line.find('<', end), line.size());
    take(tag.substr(0, name), tag.substr(name), strip(line.substr(end + 1, next - end - 1)));
    at = end + 1;
  }
}

// A GPU without its end is cut off.
class NvidiaXml : public TextLines {
 public:
  void take(std::string_view line, ReadingSink& sink) override {
    for_each_tag(line, [&](std::string_view name, std::string_view attributes,
                           std::string_view text) { take_tag(name, attributes, text, sink); });
  }

 private:
  void take_tag(std::string_view name, std::string_view attributes, std::string_view text,
                ReadingSink& sink) {
    if (name == "timestamp") gpu_.start_tick(text, sink);
    if (name == "gpu") gpu_.start(id_in(attributes), sink);
    if (name == "/gpu") gpu_.finish(sink);
    if (name == "uuid") gpu_.set_uuid(text);
    if (name == "gpu_util") gpu_.set_utilization(text);
    if (name == "gpu_power_readings" || name == "power_readings") is_in_power_ = true;
    if (name == "/gpu_power_readings" || name == "/power_readings") is_in_power_ = false;
    if (!is_in_power_) return;
    if (name == "power_draw") gpu_.set_power(0, text);
    if (name == "average_power_draw") gpu_.set_power(1, text);
    if (name == "instant_power_draw") gpu_.set_power(2, text);
    if (name == "enforced_power_limit") gpu_.set_limit(0, text);
    if (name == "current_power_limit") gpu_.set_limit(1, text);
    if (name == "power_limit") gpu_.set_limit(2, text);
  }
  static std::string_view id_in(std::string_view attributes) {
    const std::size_t begin = attributes.find('"');
    const std::size_t end = begin == attributes.npos ? begin : attributes.find('"', begin + 1);
    return end == attributes.npos ? "" : attributes.substr(begin + 1, end - begin - 1);
  }

  NvidiaGpu gpu_;
  bool is_in_power_ = false;
};

std::size_t count_of(std::string_view head, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = head.find(text); at != head.npos; at = head.find(text, at + 1)) ++count;
  return count;
}

// One reading is no recording, and foreign_format() says so; of many GPUs it may fill the
// beginning.
bool is_repeated(std::string_view head, std::string_view text) {
  const std::size_t count = count_of(head, text);
  return count > 1 || (count == 1 && head.size() == kHeadBytes);
}
bool fits_nvidia_text(std::string_view head) {
  return head.find("NVSMI LOG=") != head.npos && is_repeated(head, "\nTimestamp  ");
}
bool fits_nvidia_xml(std::string_view head) {
  return head.find("<nvidia_smi_log>") != head.npos && is_repeated(head, "<timestamp>");
}

// ---- python -m zeus.monitor power: a line with the time, then {'GPU0': 412.3, 'GPU1': 405.1},
// which may be broken into lines. Totals follow at the end.

class ZeusLines : public TextLines {
 public:
  void take(std::string_view line, ReadingSink& sink) override {
    line = strip(line);
    if (line.empty()) return;
    if (line.starts_with("Total")) {
      time_.clear();
      return;
    }
    if (!is_open_ && !line.starts_with('{')) {
      time_ = time_of_line(line);
      return;
    }
    if (!is_open_) has_row_ = !time_.empty() && sink.start_row(time_);
    is_open_ = line.find('}') == line.npos;
    if (has_row_) take_gpus(line, sink);
    if (!is_open_) time_.clear();
  }

 private:
  static void take_gpus(std::string_view line, ReadingSink& sink) {
    constexpr std::string_view kGpu = "'GPU";
    for (std::size_t at = line.find(kGpu); at != line.npos; at = line.find(kGpu, at)) {
      at += kGpu.size();
      const std::size_t quote = line.find('\'', at);
      const std::size_t colon = quote == line.npos ? quote : line.find(':', quote);
      if (colon == line.npos) return;
      const std::size_t end = std::min(line.find_first_of(",}", colon), line.size());
      sink.add(line.substr(at, quote - at), strip(line.substr(colon + 1, end - colon - 1)));
      at = end;
    }
  }

  std::string time_;
  bool is_open_ = false;
  bool has_row_ = false;
};

bool fits_zeus_lines(std::string_view head) {
  const auto lines = lines_of(head, 2);
  return lines.size() == 2 && lines[1].starts_with("{'GPU") && !time_of_line(lines[0]).empty();
}

// ---- tegrastats, with its dates: month first, and in each line "VDD_IN 5542mW/5300mW", now and on
// average. The module's input counts, or else the rail of the GPU.

class TegraLines : public TextLines {
 public:
  void take(std::string_view line, ReadingSink& sink) override {
    line = strip(line);
    const std::string time = time_in(line);
    if (time.empty()) return sink.skip(&Skipped::comment);
    if (rail_.empty()) rail_ = rail_of(line);
    const std::string_view power = rail_.empty() ? std::string_view() : rail_in(line, rail_);
    if (!sink.start_row(time)) return;
    sink.add("0", power.empty() ? "N/A" : power.substr(0, power.find_first_of("m/")));
  }

  // The rail that is read; empty: there is none.
  static std::string_view rail_of(std::string_view line) {
    const auto* const rail = std::ranges::find_if(
        kRails, [&](std::string_view name) { return !rail_in(line, name).empty(); });
    return rail == std::end(kRails) ? std::string_view() : *rail;
  }
  static bool is_input(std::string_view rail) { return rail == kRails[0] || rail == kRails[1]; }

  // "09-08-2026 09:20:30 RAM ..." in ISO 8601; empty: it does not begin so.
  static std::string time_in(std::string_view line) {
    constexpr std::size_t kTime = 19;
    static constexpr Pattern date = "\\d\\d-\\d\\d-\\d{4} \\d\\d:\\d\\d:\\d\\d";
    if (line.size() <= kTime || line[2] != '-' || !date.matches(line.substr(0, kTime))) return {};
    return fmt::format("{}-{} {}", line.substr(6, 4), line.substr(0, 5), line.substr(11, 8));
  }
  // What follows a rail's name; empty: it is not there.
  static std::string_view rail_in(std::string_view line, std::string_view rail) {
    for (std::size_t at = line.find(rail); at != line.npos; at = line.find(rail, at + 1)) {
      const std::string_view rest = line.substr(at + rail.size());
      const bool is_word = at == 0 || line[at - 1] == ' ';
      if (is_word && rest.size() > 2 && rest[0] == ' ' && is_ascii_digit(rest[1])) {
        return rest.substr(1, rest.find(' ', 1) - 1);
      }
    }
    return {};
  }

 private:
  // The module's input first, then rails of the GPU.
  static constexpr std::string_view kRails[] = {
      "VDD_IN", "POM_5V_IN", "VDD_GPU_SOC", "VDD_GPU", "VDD_SYS_GPU", "POM_5V_GPU", "GPU"};

  std::string rail_;
};

std::string_view tegra_rail(std::string_view head) {
  const auto lines = lines_of(head, 1);
  return lines.empty() ? std::string_view() : TegraLines::rail_of(lines[0]);
}

bool fits_tegrastats(std::string_view head) {
  const auto lines = lines_of(head, 1);
  return !lines.empty() && lines[0].find(" RAM ") != lines[0].npos &&
         !TegraLines::time_in(lines[0]).empty() && !tegra_rail(head).empty();
}

void adapt_tegrastats(std::string_view head, const TelemetryOptions&, TextForm& form, Reasons&) {
  form.power = tegra_rail(head);
  form.sensor.name = form.power;
  const bool is_input = TegraLines::is_input(form.power);
  form.sensor.scope = is_input ? "module" : "rail";
  form.warning =
      is_input
          ? "module_power: the column is the power of the whole module, with its CPU and memory, in mW"
          : fmt::format("rail_power: {} is the power of one rail, which may feed more than the GPU",
                        form.power);
}

// ---- powermetrics: samples, each the mean of the time before its stamp, as text or as property
// lists. The GPU may be in a sample twice.

class PowermetricsText : public TextLines {
 public:
  void take(std::string_view line, ReadingSink& sink) override {
    constexpr std::string_view kSample = "*** Sampled system activity (";
    constexpr std::string_view kPower = "GPU Power: ";
    if (line.starts_with(kSample)) {
      time_ = time_in(line.substr(kSample.size()));
    } else if (!time_.empty() && line.starts_with(kPower)) {
      if (sink.start_row(time_)) sink.add("0", line.substr(kPower.size()));
      time_.clear();
    }
  }

 private:
  // "Tue Sep  8 09:20:30 2026 +0200) (1003.37ms elapsed) ***".
  static std::string time_in(std::string_view text) {
    text = text.substr(0, text.find(')'));
    const std::size_t blank = text.rfind(' ');
    if (blank == text.npos) return std::string(text);
    const std::string_view offset = text.substr(blank + 1);
    const std::string iso = iso_of_ctime(strip(text.substr(0, blank)));
    if (offset.size() != 5 || iso.empty()) return iso_or_same(text);
    return fmt::format("{}{}:{}", iso, offset.substr(0, 3), offset.substr(3));
  }

  std::string time_;  // of a sample whose GPU is still to come
};

class PowermetricsList : public TextLines {
 public:
  void take(std::string_view line, ReadingSink& sink) override {
    for_each_tag(line, [&](std::string_view name, std::string_view, std::string_view text) {
      if (name == "plist") {
        time_.clear();
        watts_.clear();
      } else if (name == "key") {
        key_ = text;
      } else if (!name.starts_with('/') && !text.empty()) {
        if (key_ == "timestamp") time_ = text;
        if (key_ == "gpu_power" && watts_.empty()) watts_ = text;
        key_.clear();
      } else if (name == "/plist" && !watts_.empty() && sink.start_row(time_)) {
        sink.add("0", watts_);
      }
    });
  }

 private:
  std::string key_;
  std::string time_;
  std::string watts_;
};

bool fits_powermetrics_text(std::string_view head) {
  return has_all(head, {"*** Sampled system activity (", "\nGPU Power: "});
}
bool fits_powermetrics_list(std::string_view head) {
  return has_all(head, {"<plist", "<key>gpu_power</key>", "<key>timestamp</key>"});
}

// ---- MLflow's files of system metrics: "ms value step". A folder of them comes as one text, each
// file after a line with its name.

constexpr std::string_view kMlflowFile = "# mlflow: ";

// "gpu_0_power_usage_watts", also in the folder of a node; nullopt: it is another metric.
struct MlflowName {
  std::string host;
  std::string gpu;
};
std::optional<MlflowName> mlflow_name(std::string_view path) {
  static constexpr Pattern file = "gpu_[0-9]+_power_usage_watts(\\.gz|\\.zst)?";
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  if (!file.matches(name)) return std::nullopt;
  MlflowName found{{}, std::string(name.substr(4, name.find('_', 4) - 4))};
  const std::string_view folder = slash == path.npos ? "" : path.substr(0, slash);
  const std::size_t parent = folder.rfind('/');
  const std::string_view node = parent == folder.npos ? folder : folder.substr(parent + 1);
  if (node != "system" && folder.find("system/") != folder.npos) found.host = node;
  return found;
}

class MlflowLines : public TextLines {
 public:
  explicit MlflowLines(std::string_view path) { name_ = mlflow_name(path); }

  void take(std::string_view line, ReadingSink& sink) override {
    line = strip(line);
    if (line.empty()) return sink.skip(&Skipped::blank);
    if (line.starts_with(kMlflowFile)) {
      name_ = mlflow_name(line.substr(kMlflowFile.size()));
      return;
    }
    const std::size_t blank = line.find(' ');
    if (!sink.start_row(line.substr(0, blank)) || !name_ || blank == line.npos) return;
    const std::string_view rest = line.substr(blank + 1);
    sink.add_to(sink.find_in(name_->host, name_->gpu), rest.substr(0, rest.find(' ')));
  }

 private:
  std::optional<MlflowName> name_;
};

// A file of another metric, such as gpu_0_power_usage_percentage.
void adapt_mlflow(std::string_view head, const TelemetryOptions& options, TextForm&,
                  Reasons& reasons) {
  const auto lines = lines_of(head, 1);
  const bool is_folder = !lines.empty() && lines[0].starts_with(kMlflowFile);
  if (is_folder || mlflow_name(options.path)) return;
  reasons.add(
      Reason::power_column_missing,
      "these are lines of MLflow's metrics, and only the file's name says which metric: give "
      "gpu_N_power_usage_watts under its own name, or the run's folder");
}

bool fits_mlflow(std::string_view head) {
  static constexpr Pattern line = "[0-9]{13} [-+.0-9eE]+( [0-9]+)?";
  const auto lines = lines_of(head, 2);
  if (lines.empty()) return false;
  return lines[0].starts_with(kMlflowFile) || line.matches(lines[0]);
}

// ---- The rows

template <typename Lines>
std::unique_ptr<TextLines> make_lines(const TelemetryOptions& /*options*/) {
  return std::make_unique<Lines>();
}

constexpr const char* kBefore = "over the period before the stamp";

const std::vector<TextForm>& text_forms() {
  static const std::vector<TextForm> forms = {
      {.name = "nvidia-smi -q",
       .schema =
           {"nvidia-smi-q",
            "`Power Draw`, else `Average Power Draw`, else `Instantaneous Power Draw`, of the GPU's own power readings of `nvidia-smi -q -l`, in W",
            "`GPU UUID`, else the bus id"},
       .time = "Timestamp",
       .power = "Power Draw",
       .device = "GPU UUID",
       .sensor = {"nvidia-smi", "Power Draw", "gpu", "unknown"},
       .fits = fits_nvidia_text,
       .lines = make_lines<NvidiaText>},
      {.name = "nvidia-smi -q -x",
       .schema =
           {"nvidia-smi-xml",
            "`power_draw`, else `average_power_draw`, else `instant_power_draw`, of the GPU's own power readings of `nvidia-smi -q -x -l`, in W",
            "`uuid`, else the bus id"},
       .time = "timestamp",
       .power = "power_draw",
       .device = "uuid",
       .sensor = {"nvidia-smi", "power_draw", "gpu", "unknown"},
       .fits = fits_nvidia_xml,
       .lines = make_lines<NvidiaXml>},
      {.name = "zeus.monitor power",
       .schema = {"zeus-power", "what `python -m zeus.monitor power` prints, in W", "`GPUn`"},
       .time = "time before the line",
       .power = "GPUn",
       .device = "GPUn",
       .sensor = {"Zeus", "power", "unknown", "unknown"},
       .fits = fits_zeus_lines,
       .lines = make_lines<ZeusLines>,
       .warning =
           "unknown_domain: Zeus prints the power of GPUs or, if it was asked to, of their memory only, and does not say which"},
      {.name = "powermetrics",
       .schema =
           {"powermetrics",
            "`GPU Power` of `powermetrics --samplers gpu_power`, in mW: the GPU's part of the chip",
            "one device"},
       .time = "Sampled system activity",
       .power = "GPU Power",
       .device = "the chip",
       .sensor = {"powermetrics", "GPU Power", "rail", kBefore},
       .fits = fits_powermetrics_text,
       .lines = make_lines<PowermetricsText>,
       .unit = PowerUnit::Size::milliwatt},
      {.name = "powermetrics -f plist",
       .schema = {"powermetrics-plist",
                  "`gpu_power` of `powermetrics -f plist`, in mW: the GPU's part of the chip",
                  "one device"},
       .time = "timestamp",
       .power = "gpu_power",
       .device = "the chip",
       .sensor = {"powermetrics", "gpu_power", "rail", kBefore},
       .fits = fits_powermetrics_list,
       .lines = make_lines<PowermetricsList>,
       .unit = PowerUnit::Size::milliwatt},
      {.name = "MLflow",
       .schema =
           {"mlflow",
            "the files `metrics/system/gpu_N_power_usage_watts` of a run, or the run's folder, in W",
            "the file's number, with the node's folder if there is one"},
       .time = "first number of each line",
       .power = "gpu_N_power_usage_watts",
       .device = "the file's name",
       .sensor = {"MLflow", "gpu_N_power_usage_watts", "gpu", "unknown"},
       .fits = fits_mlflow,
       .lines = [](const TelemetryOptions& options) -> std::unique_ptr<TextLines> {
         return std::make_unique<MlflowLines>(options.path);
       },
       .names_hosts = true,
       .warning =
           "late_stamps: MLflow reads a value, waits for an interval, 10 s unless set otherwise, and then stamps it: the power is about that much older than its time",
       .adapt = adapt_mlflow},
      {.name = "tegrastats",
       .schema =
           {"tegrastats-lines",
            "`VDD_IN`, `POM_5V_IN`, else a rail of the GPU such as `VDD_GPU_SOC`, of tegrastats' lines with dates, in mW",
            "one device"},
       .time = "first of each line",
       .power = "VDD_IN",
       .device = "the module",
       .sensor = {"tegrastats", "VDD_IN", "module", "unknown"},
       .fits = fits_tegrastats,
       .lines = make_lines<TegraLines>,
       .unit = PowerUnit::Size::milliwatt,
       .adapt = adapt_tegrastats},
  };
  return forms;
}

SeriesFacts text_facts(TextForm form, std::string_view head, const TelemetryOptions& options) {
  Reasons reasons;
  if (form.adapt != nullptr) form.adapt(head, options, form, reasons);
  SeriesNames names = {.schema = std::string(form.schema.name),
                       .timestamp = form.time,
                       .power = form.power,
                       .device = form.device,
                       .unit = form.unit,
                       .is_only_power = true};
  SeriesFacts facts = facts_of_names(names, options);
  facts.reasons.add(reasons);
  facts.sensor = form.sensor;
  facts.names_hosts = form.names_hosts;
  facts.has_power_limit = has_all(head, {"imit"});
  if (!form.warning.empty()) facts.warnings.push_back(form.warning);
  return facts;
}

void read_text(TextLines& lines, ByteSource& bytes, ReadingSink& sink) {
  for_each_line(bytes, [&](std::string_view line, bool is_whole) {
    while (line.starts_with('\0')) line.remove_prefix(1);
    if (!is_whole && !line.ends_with('>')) return sink.skip(&Skipped::torn_tail);
    lines.take(line, sink);
  });
  lines.finish(sink);
}

const TextForm* text_form_of(std::string_view head) {
  const auto found =
      std::ranges::find_if(text_forms(), [&](const TextForm& form) { return form.fits(head); });
  return found == text_forms().end() ? nullptr : &*found;
}

double fits_text_forms(std::string_view head) { return text_form_of(head) != nullptr ? 0.9 : 0; }

Telemetry open_text_forms(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  std::string head = read_up_to(*source, kHeadBytes);
  const TextForm* const form = text_form_of(head);
  source = std::make_unique<ResumedSource>(std::move(head), std::move(source));
  if (form == nullptr) return open_csv(std::move(source), options);
  return open_stream(
      std::move(source), options,
      {.facts_of = [&](std::string_view text) { return text_facts(*form, text, options); },
       .read = [form, options](
                   ByteSource& bytes,
                   ReadingSink& sink) { read_text(*form->lines(options), bytes, sink); }});
}

}  // namespace

const Recorder kTextFormsRecorder = {.name = "texts of tools",
                                     .fits = fits_text_forms,
                                     .open = open_text_forms,
                                     .schemas = schemas_of(text_forms())};

// ---- `rocm-smi --showpower --csv` in a loop, whose lines have no time: a script puts one before
// each line, or in a line of its own before each round.

namespace {

struct RocmHeader {
  bool has_times = false;  // the first cell of each line
  std::string power;       // the name of the first of these columns
  std::vector<std::size_t> columns;
};

// "device,Average Graphics Package Power (W)", or the same after a cell with a time or its name. A
// table with another name there is a plain CSV.
std::optional<RocmHeader> rocm_header(std::string_view line) {
  static constexpr Pattern name_of_time = "epoch|unix|unix_?time|date\\+?%s";
  static constexpr Pattern power[] = {"current socket graphics package power \\((w|watts)\\)",
                                      "average graphics package power \\((w|watts)\\)"};
  const Cells cells = cells_if_any(line);
  const auto is_device = [&](std::size_t i) {
    return i < cells.size() && lower_ascii(strip(cells[i])) == "device";
  };
  RocmHeader header;
  header.has_times = is_device(1) && (!time_of_line(strip(cells[0])).empty() ||
                                      name_of_time.matches(lower_ascii(strip(cells[0]))));
  if (!header.has_times && !is_device(0)) return std::nullopt;
  for (const Pattern& pattern : power) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!pattern.matches(lower_ascii(strip(cells[i])))) continue;
      if (header.columns.empty()) header.power = strip(cells[i]);
      header.columns.push_back(i);
    }
  }
  return header.columns.empty() ? std::nullopt : std::optional(header);
}

class RocmLoop {
 public:
  explicit RocmLoop(ReadingSink* sink) : sink_(sink) {}

  void take(std::string_view line, bool is_whole) {
    line = strip(line);
    if (line.empty()) return skip(&Skipped::blank);
    if (const std::string_view time = time_of_line(line); !time.empty()) {
      time_ = time;
      return;
    }
    if (auto header = rocm_header(line)) {
      if (header_) skip(&Skipped::repeated_header);
      header_ = std::move(header);
      return;
    }
    if (!is_whole) return skip(&Skipped::torn_tail);
    if (!take_row(line)) skip(&Skipped::comment);  // "WARNING: ..."
  }

  const std::optional<RocmHeader>& header() const { return header_; }
  bool has_row_with_time() const { return has_row_with_time_; }

 private:
  bool take_row(std::string_view line) {
    static constexpr Pattern device = "(card|gpu)[0-9]+";
    if (!header_) return false;
    const Cells cells = cells_if_any(line);
    const std::size_t place = header_->has_times ? 1 : 0;
    if (place >= cells.size() || !device.matches(lower_ascii(strip(cells[place])))) return false;
    const std::string_view time = header_->has_times ? strip(cells[0]) : std::string_view(time_);
    has_row_with_time_ = has_row_with_time_ || !time_of_line(time).empty();
    if (sink_ == nullptr || !sink_->start_row(time)) return true;
    sink_->add(strip(cells[place]), power_in(cells));
    return true;
  }

  // Of the columns the first that has a number: a box may have GPUs of two kinds.
  std::string_view power_in(const Cells& cells) const {
    std::string_view power;
    for (const std::size_t column : header_->columns) {
      if (column >= cells.size()) continue;
      const std::string_view cell = strip(cells[column]);
      if (power.empty() || nearest_double(cell)) power = cell;
      if (nearest_double(cell)) break;
    }
    return power;
  }

  void skip(std::uint64_t Skipped::*cause) {
    if (sink_ != nullptr) sink_->skip(cause);
  }

  ReadingSink* sink_;
  std::optional<RocmHeader> header_;
  std::string time_;  // of the round
  bool has_row_with_time_ = false;
};

void read_rocm_loop(ByteSource& source, RocmLoop& loop) {
  for_each_line(source, [&](std::string_view line, bool is_whole) { loop.take(line, is_whole); });
}

SeriesFacts rocm_loop_facts(std::string_view head, const TelemetryOptions& options) {
  RocmLoop loop(nullptr);
  MemorySource source(head);
  read_rocm_loop(source, loop);
  SeriesNames names = {.schema = "rocm-smi-loop", .timestamp = "time before the line"};
  names.device = "device";
  names.is_only_power = true;
  if (loop.header()) names.power = loop.header()->power;
  SeriesFacts facts = facts_of_names(names, options);
  facts.sensor = {"rocm-smi", names.power.value_or("unknown"), "package", "unknown"};
  return facts;
}

double fits_rocm_smi_loop(std::string_view head) {
  if (head.find("Graphics Package Power") == head.npos) return 0;
  RocmLoop loop(nullptr);
  MemorySource source(head);
  read_rocm_loop(source, loop);
  return loop.has_row_with_time() ? 0.9 : 0;
}

Telemetry open_rocm_smi_loop(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_stream(
      std::move(source), options,
      {.facts_of = [&](std::string_view head) { return rocm_loop_facts(head, options); },
       .read =
           [](ByteSource& bytes, ReadingSink& sink) {
             RocmLoop loop(&sink);
             read_rocm_loop(bytes, loop);
           }});
}

}  // namespace

const Recorder kRocmSmiLoopRecorder = {
    .name = "rocm-smi in a loop",
    .fits = fits_rocm_smi_loop,
    .open = open_rocm_smi_loop,
    .schemas = {
        {"rocm-smi-loop",
         "as in `rocm-smi`, from a loop that puts the time before each line, or in a line of its own before each round, in W",
         "`device`"}}};

}  // namespace aggregate_power
