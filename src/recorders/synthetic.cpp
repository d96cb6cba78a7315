// Generates telemetry, tick by tick.
#include "recorders/synthetic.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text/lists.h"

namespace aggregate_power {
namespace {

constexpr double kGapS = 5;
constexpr std::size_t kFlushBytes = 1 << 16;

constexpr std::pair<std::string_view, FaultKind> kFaults[] = {
    {"gap", FaultKind::gap},
    {"na", FaultKind::na},
    {"garbage-time", FaultKind::garbage_time},
    {"torn-tail", FaultKind::torn_tail},
    {"repeated-header", FaultKind::repeated_header},
    {"dropped-gpu", FaultKind::dropped_gpu},
    {"duplicate-stamps", FaultKind::duplicate_stamps},
    {"bom", FaultKind::bom},
    {"crlf", FaultKind::crlf},
    {"utf16", FaultKind::utf16},
};

// The columns of `amd-smi metric -p -c -t -u -w 1 --csv` (AMDSMI 26, MI355X), and the cells of a
// row around the power.
constexpr std::string_view kAmdHeader =
    "timestamp,gpu,gfx_activity,umc_activity,mm_activity,vcn_activity,jpeg_activity,gfx_busy_"
    "inst_xcp_0,jpeg_busy_xcp_0,vcn_busy_xcp_0,socket_power,gfx_voltage,soc_voltage,mem_volta"
    "ge,throttle_status,power_management,gfx_0_clk,gfx_0_min_clk,gfx_0_max_clk,gfx_0_clk_lock"
    "ed,gfx_0_deep_sleep,gfx_1_clk,gfx_1_min_clk,gfx_1_max_clk,gfx_1_clk_locked,gfx_1_deep_sl"
    "eep,gfx_2_clk,gfx_2_min_clk,gfx_2_max_clk,gfx_2_clk_locked,gfx_2_deep_sleep,gfx_3_clk,gf"
    "x_3_min_clk,gfx_3_max_clk,gfx_3_clk_locked,gfx_3_deep_sleep,gfx_4_clk,gfx_4_min_clk,gfx_"
    "4_max_clk,gfx_4_clk_locked,gfx_4_deep_sleep,gfx_5_clk,gfx_5_min_clk,gfx_5_max_clk,gfx_5_"
    "clk_locked,gfx_5_deep_sleep,gfx_6_clk,gfx_6_min_clk,gfx_6_max_clk,gfx_6_clk_locked,gfx_6"
    "_deep_sleep,gfx_7_clk,gfx_7_min_clk,gfx_7_max_clk,gfx_7_clk_locked,gfx_7_deep_sleep,mem_"
    "0_clk,mem_0_min_clk,mem_0_max_clk,mem_0_clk_locked,mem_0_deep_sleep,vclk_0_clk,vclk_0_mi"
    "n_clk,vclk_0_max_clk,vclk_0_clk_locked,vclk_0_deep_sleep,vclk_1_clk,vclk_1_min_clk,vclk_"
    "1_max_clk,vclk_1_clk_locked,vclk_1_deep_sleep,vclk_2_clk,vclk_2_min_clk,vclk_2_max_clk,v"
    "clk_2_clk_locked,vclk_2_deep_sleep,vclk_3_clk,vclk_3_min_clk,vclk_3_max_clk,vclk_3_clk_l"
    "ocked,vclk_3_deep_sleep,dclk_0_clk,dclk_0_min_clk,dclk_0_max_clk,dclk_0_clk_locked,dclk_"
    "0_deep_sleep,dclk_1_clk,dclk_1_min_clk,dclk_1_max_clk,dclk_1_clk_locked,dclk_1_deep_slee"
    "p,dclk_2_clk,dclk_2_min_clk,dclk_2_max_clk,dclk_2_clk_locked,dclk_2_deep_sleep,dclk_3_cl"
    "k,dclk_3_min_clk,dclk_3_max_clk,dclk_3_clk_locked,dclk_3_deep_sleep,fclk_0_clk,fclk_0_mi"
    "n_clk,fclk_0_max_clk,fclk_0_clk_locked,fclk_0_deep_sleep,socclk_0_clk,socclk_0_min_clk,s"
    "occlk_0_max_clk,socclk_0_clk_locked,socclk_0_deep_sleep,edge,hotspot,mem";
constexpr std::string_view kAmdBeforePower =
    "0,0,N/A,\"['N/A', 'N/A', 'N/A', 'N/A']\",\"['N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A'"
    ", 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N"
    "/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A']"
    "\",\"[0, 0, 0, 0, 0, 0, 0, 0]\",\"[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
    "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\",\"[0, 0, 0, 0]\",";
constexpr std::string_view kAmdBehindPower =
    ",N/A,N/A,N/A,N/A,ENABLED,95,500,2400,DISABLED,ENABLED,94,500,2400,DISABLED,ENABLED,94,50"
    "0,2400,DISABLED,ENABLED,95,500,2400,DISABLED,ENABLED,109,500,2400,DISABLED,ENABLED,109,5"
    "00,2400,DISABLED,ENABLED,111,500,2400,DISABLED,ENABLED,111,500,2400,DISABLED,ENABLED,200"
    "0,2000,2000,N/A,DISABLED,59,1900,1900,N/A,ENABLED,59,1900,1900,N/A,ENABLED,59,1900,1900,"
    "N/A,ENABLED,59,1900,1900,N/A,ENABLED,48,1520,1520,N/A,ENABLED,48,1520,1520,N/A,ENABLED,4"
    "8,1520,1520,N/A,ENABLED,48,1520,1520,N/A,ENABLED,1250,1250,1250,N/A,DISABLED,41,1200,120"
    "0,N/A,ENABLED,N/A,37,23";

std::string written_time(const Zone& zone, double unix_s) {
  const auto total_ms = static_cast<std::int64_t>(std::llround(unix_s * 1000));
  const std::chrono::sys_time<std::chrono::milliseconds> utc{std::chrono::milliseconds(total_ms)};
  const auto utc_s = std::chrono::floor<std::chrono::seconds>(utc);
  const auto local = utc + std::chrono::seconds(zone.offset_at(utc_s.time_since_epoch().count()));
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{local - day};
  return fmt::format("{:04}/{:02}/{:02} {:02}:{:02}:{:02}.{:03}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

class Writer {
 public:
  Writer(const SyntheticOptions& options, const std::function<void(std::string_view)>& write)
      : options_(options), write_(write), random_(options.seed) {}

  void run() {
    if (has(FaultKind::utf16)) text_ = "\xFF\xFE";
    if (has(FaultKind::bom) && !has(FaultKind::utf16)) text_ = "\xEF\xBB\xBF";
    line(header());
    const std::int64_t ticks = last_tick(options_);
    for (std::int64_t tick = 0; tick <= ticks; ++tick) {
      write_tick(static_cast<double>(tick) * options_.interval_s, tick == ticks);
    }
    flush();
  }

 private:
  bool has(FaultKind kind) const {
    return std::ranges::find(options_.faults, kind, &Fault::kind) != options_.faults.end();
  }

  double fault_at_s(const Fault& fault) const {
    const Window window = benchmark_window(options_);
    return fault.at_s.value_or((window.start_unix_s + window.end_unix_s) / 2 -
                               options_.start_unix_s);
  }

  // Whether the fault's instant is in the tick that begins at `elapsed_s`.
  bool strikes(FaultKind kind, double elapsed_s) const {
    return std::ranges::any_of(options_.faults, [&](const Fault& fault) {
      const double at_s = fault_at_s(fault);
      return fault.kind == kind && at_s >= elapsed_s && at_s < elapsed_s + options_.interval_s;
    });
  }

  // Whether the fault began at most `duration_s` ago.
  bool holds(FaultKind kind, double elapsed_s, double duration_s) const {
    return std::ranges::any_of(options_.faults, [&](const Fault& fault) {
      const double at_s = fault_at_s(fault);
      return fault.kind == kind && elapsed_s >= at_s && elapsed_s < at_s + duration_s;
    });
  }

  void write_tick(double elapsed_s, bool is_last) {
    if (strikes(FaultKind::repeated_header, elapsed_s)) line(header());
    if (strikes(FaultKind::garbage_time, elapsed_s))
      line("not a time" + row(0, elapsed_s).substr(10));
    if (holds(FaultKind::gap, elapsed_s, kGapS)) return;
    const int gpus = options_.gpus - (holds(FaultKind::dropped_gpu, elapsed_s, HUGE_VAL) ? 1 : 0);
    const int times = strikes(FaultKind::duplicate_stamps, elapsed_s) ? 2 : 1;
    for (int repetition = 0; repetition < times; ++repetition) {
      for (int gpu = 0; gpu < gpus; ++gpu) {
        const std::string text = row(gpu, elapsed_s);
        if (is_last && gpu + 1 == gpus && has(FaultKind::torn_tail)) {
          put(text.substr(0, text.find(',') + 2));
        } else {
          line(text);
        }
      }
    }
    if (options_.schema == SyntheticSchema::amd_smi && !is_last) put("\n");
    if (text_.size() >= kFlushBytes) flush();
  }

  std::string header() const {
    switch (options_.schema) {
      case SyntheticSchema::nvidia_smi:
        return "timestamp, index, power.draw [W], temperature.gpu, clocks.current.sm [MHz], "
               "clocks.current.memory [MHz], utilization.gpu [%], utilization.memory [%]";
      case SyntheticSchema::amd_smi:
        return std::string(kAmdHeader);
      case SyntheticSchema::generic:
        return "timestamp,gpu,power_w";
    }
    return {};
  }

  std::string row(int gpu, double elapsed_s) {
    const double unix_s =
        options_.start_unix_s + elapsed_s + options_.jitter_s * random_.symmetric();
    const double watts = synthetic_watts(options_, options_.first_gpu + gpu, elapsed_s, random_);
    const bool none = gpu == 0 && strikes(FaultKind::na, elapsed_s);
    switch (options_.schema) {
      case SyntheticSchema::nvidia_smi:
        return fmt::format("{}, {}, {}, 60, 1980 MHz, 2619 MHz, 97 %, 40 %",
                           written_time(options_.zone, unix_s), gpu,
                           none ? "[N/A]" : fmt::format("{:.2f} W", watts));
      case SyntheticSchema::amd_smi:
        return fmt::format("{},{},{}{}{}", static_cast<std::int64_t>(std::floor(unix_s + 1e-6)),
                           gpu, kAmdBeforePower, none ? "N/A" : fmt::format("{:.0f}", watts),
                           kAmdBehindPower);
      case SyntheticSchema::generic:
        return fmt::format("{:.3f},{},{}", unix_s, gpu, none ? "" : fmt::format("{:.3f}", watts));
    }
    return {};
  }

  void line(const std::string& text) {
    const bool crlf = options_.schema == SyntheticSchema::amd_smi || has(FaultKind::crlf);
    put(text);
    put(crlf ? "\r\n" : "\n");
  }

  void put(std::string_view text) {
    if (!has(FaultKind::utf16)) {
      text_ += text;
      return;
    }
    for (const char c : text) {  // ASCII only
      text_ += c;
      text_ += '\0';
    }
  }

  void flush() {
    write_(text_);
    text_.clear();
  }

  const SyntheticOptions& options_;
  const std::function<void(std::string_view)>& write_;
  SyntheticRandom random_;
  std::string text_;
};

}  // namespace

std::optional<FaultKind> parse_fault(std::string_view name) {
  for (const auto& [known, kind] : kFaults) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kFaults) names.emplace_back(name);
  return names;
}

Window benchmark_window(const SyntheticOptions& options) {
  Window window{options.start_unix_s, options.start_unix_s};
  for (std::size_t i = 0; i <= options.benchmark_phase; ++i) {
    window.start_unix_s = window.end_unix_s;
    window.end_unix_s += options.phases[i].duration_s;
  }
  return window;
}

void write_synthetic(const SyntheticOptions& options,
                     const std::function<void(std::string_view)>& write) {
  Writer(options, write).run();
}

// ---- Computes power from phases.

namespace {

double phase_watts(const SyntheticOptions& options, double elapsed_s) {
  const Window window = benchmark_window(options);
  const double unix_s = options.start_unix_s + elapsed_s;
  if (unix_s >= window.start_unix_s && unix_s <= window.end_unix_s) {
    return options.phases[options.benchmark_phase].watts;
  }
  double end_s = 0;
  for (const Phase& phase : options.phases) {
    end_s += phase.duration_s;
    if (elapsed_s < end_s) return phase.watts;
  }
  return options.phases.back().watts;
}

}  // namespace

std::int64_t last_tick(const SyntheticOptions& options) {
  return static_cast<std::int64_t>(
      std::floor(summed(options.phases, &Phase::duration_s) / options.interval_s + 1e-9));
}

double synthetic_watts(const SyntheticOptions& options, int gpu, double elapsed_s,
                       SyntheticRandom& random) {
  return std::max(0.0, phase_watts(options, elapsed_s) + options.gpu_offset_w * gpu +
                           options.noise_w * random.symmetric());
}

}  // namespace aggregate_power
