// Writes a plan down: for people, as JSON, and as commands.
#include <fmt/format.h>

#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "decide/plan/plan.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kPlanColumns = 100;

// 95 %, of two repeats' energies of one configuration: what `measure` prints as repeatability.
double half_width_percent(double standard) { return 100 * kCoverageFactor * standard; }

std::string percent_text(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string goal_text(const PlanRequest& request) {
  const std::string what =
      request.detect > 0
          ? fmt::format("a change of {}", percent_text(request.detect))
          : fmt::format("that no change is more than {}", percent_text(request.margin));
  return fmt::format("{}: found with about {} power, by the test of 'compare' at alpha {}", what,
                     percent_text(request.power), percent_text(request.alpha));
}

std::string way_text(const PlannedWay& way) {
  if (way.sampling_s == 0) return "as the pilot runs";
  return fmt::format("every {:g} s{}", way.sampling_s, way.has_counter ? ", energy counter" : "");
}

std::string ways_text(const Plan& plan) {
  const TextTable table(
      "[recorded <28] [window s >8] [+- % >6.2f] [repeats >7] [decided % >9.1f] [ <]");
  std::string text = "\n" + table.head();
  for (std::size_t i = 0; i < plan.ways.size(); ++i) {
    const PlannedWay& way = plan.ways[i];
    if (!way.worth.refusal.empty()) {
      table.add({way_text(way), plan.window_s, "-", "-", "-", one_line(way.worth.refusal)}, text);
      continue;
    }
    const std::string repeats =
        way.repeats ? fmt::format("{}", *way.repeats) : fmt::format(">{}", kMostRepeats);
    table.add(
        {way_text(way), plan.window_s > 0 ? fmt::format("{:g}", plan.window_s) : "-",
         half_width_percent(way.worth.stated), repeats,
         way.repeats ? std::optional(100 * way.share) : std::nullopt, plan.chosen == i ? "*" : ""},
        text);
  }
  return text + "\n";
}

std::string worth_text(const WindowWorth& worth) {
  return worth.refusal.empty() ? fmt::format("+- {:.2g} %", half_width_percent(worth.stated))
                               : fmt::format("nothing ({})", worth.refusal);
}

std::string short_load_text(const ShortLoad& load) {
  return fmt::format("a load of {:g} s alone: power says {}, an energy counter {}", load.seconds,
                     worth_text(load.power), worth_text(load.counter));
}

std::string order_text() {
  return "alternate: base, new, new, base and so on, so that slow drift affects both sides alike; all "
         "on the same GPUs. Another node is another block: the whole order again, compared by itself";
}

std::string repeats_text(const Plan& plan) {
  if (!plan.chosen) {
    return fmt::format(
        "no way to record decides this with {} repeats: accept a larger change, a lower "
        "power, or lessen what makes repeats differ",
        kMostRepeats);
  }
  const PlannedWay& way = plan.ways[*plan.chosen];
  std::string text = fmt::format("{} of each side, recorded {}; {} of such comparisons decide",
                                 *way.repeats, way_text(way), percent_text(way.share));
  if (plan.smallest) {
    text += fmt::format("; {} decide a change of {}", percent_text(plan.request.power),
                        percent_text(*plan.smallest));
  }
  if (plan.repeats_if_known && *plan.repeats_if_known < *way.repeats) {
    text +=
        fmt::format("; {} would be enough if the spread were known: more pilot runs save repeats",
                    *plan.repeats_if_known);
  }
  return text;
}

// ---- The commands

constexpr const char* kPlanRuns = R"sh(
one() {  # SIDE NUMBER LOAD
  folder=$plan/$1/run_$2
  mkdir -p "$folder"
  RESULT=$folder/result.json
  export RESULT
  sleep "$cool_down"
  aggregate-power-monitor run --interval "$sampling" --margin "$idle" \
    --output "$folder/gpu_metrics.csv" --result "$RESULT" -- sh -c "$3"
}
k=1
while [ "$k" -le "$repeats" ]; do
  if [ $((k % 2)) -eq 1 ]; then
    one base "$k" "$base"
    one new "$k" "$new"
  else
    one new "$k" "$new"
    one base "$k" "$base"
  fi
  k=$((k + 1))
done
)sh";

std::string compare_words(const PlanRequest& request) {
  std::string words = fmt::format("--margin {:g}%", 100 * request.margin);
  if (request.metric != kDefaultCompareMetric) {
    words += " --metric " + shell_word(request.metric);
  }
  if (request.looks > 1) words += fmt::format(" --look {0}/{0}", request.looks);
  if (request.alpha != kChangeAlpha) words += fmt::format(" --alpha {:g}%", 100 * request.alpha);
  return words;
}

std::string plan_commands(const Plan& plan) {
  const PlanRequest& request = plan.request;
  const PlannedWay& way = plan.ways[*plan.chosen];
  std::string text = "# The load of each side, ";
  text += plan.window_s > 0 ? fmt::format("about {:g} s", plan.window_s) : "as the pilot runs";
  text += "; it writes its result to the file $RESULT.\n";
  text += fmt::format("base={}\nnew={}\n", shell_word(request.base_load),
                      shell_word(request.next_load));
  text += fmt::format("plan=plan repeats={} sampling={:g} idle={:g} cool_down={:g}", *way.repeats,
                      way.sampling_s > 0 ? way.sampling_s : 1, plan.idle_s, plan.cool_down_s);
  text += kPlanRuns;
  return text + fmt::format("aggregate-power compare \"$plan/base\" --with \"$plan/new\" {}\n",
                            compare_words(request));
}

}  // namespace

std::string plan_text(const Plan& plan) {
  const auto line = [](std::string_view name, const std::string& value) {
    return fact(name, value, 10, kPlanColumns);
  };
  std::string text = line("decide", goal_text(plan.request));
  text += line("spread",
               fmt::format("{} between repeats, {}", percent_text(plan.spread), plan.spread_from));
  text += line("sensor", plan.sensor);
  text += ways_text(plan);
  text += line("repeats", repeats_text(plan));
  text +=
      line("idle", fmt::format("{:g} s before and after each run, by the sensor's lag and what an "
                               "idle level needs",
                               plan.idle_s));
  text += line("cooling",
               fmt::format("{:g} s before each run, {}", plan.cool_down_s, plan.cool_down_from));
  text += line("order", order_text());
  if (plan.request.looks > 1) {
    text +=
        line("looks",
             fmt::format("{0}, after each of {0} equal parts of the repeats: compare --look "
                         "1/{0} and so on, and stop when one decides; of all looks together, at "
                         "least as many decide as are said for the last one",
                         plan.request.looks));
  }
  for (const ShortLoad& load : plan.short_loads) text += line("limit", short_load_text(load));
  if (const auto minutes = plan_minutes(plan)) {
    text += line("time", fmt::format("{} runs, about {:.0f} minutes",
                                     2 * *plan.ways[*plan.chosen].repeats, *minutes));
  }
  if (plan.chosen) text += "\n" + plan_commands(plan);
  return text;
}

namespace {

Json worth_json(const WindowWorth& worth) {
  const bool is_known = worth.refusal.empty();
  return {{"half_width", is_known ? Json(kCoverageFactor * worth.stated) : Json()},
          {"refusal", text_or_null(worth.refusal)}};
}

}  // namespace

std::string plan_json(const Plan& plan) {
  const PlanRequest& request = plan.request;
  const bool is_found = plan.chosen.has_value();
  Json json = {{"schema", "aggregate-power/plan-1"},
               {"metric", request.metric},
               {"detect", request.detect},
               {"margin", request.margin},
               {"power", request.power},
               {"alpha", request.alpha},
               {"looks", request.looks},
               {"spread", plan.spread},
               {"spread_degrees_of_freedom", number_or_null(plan.spread_freedom)},
               {"spread_from", one_line(plan.spread_from)},
               {"sensor", one_line(plan.sensor)},
               {"window_s", plan.window_s > 0 ? Json(plan.window_s) : Json()},
               {"idle_s", plan.idle_s},
               {"cool_down_s", plan.cool_down_s},
               {"repeats", is_found ? Json(*plan.ways[*plan.chosen].repeats) : Json()},
               {"decided", is_found ? Json(plan.ways[*plan.chosen].share) : Json()},
               {"smallest_change", number_or_null(plan.smallest)},
               {"repeats_if_spread_known", or_null(plan.repeats_if_known)},
               {"minutes", number_or_null(plan_minutes(plan))}};
  json["ways"] = list_of(plan.ways, [](const PlannedWay& way) {
    Json row = {{"sampling_s", way.sampling_s > 0 ? Json(way.sampling_s) : Json()},
                {"counter", way.has_counter}};
    row.update(worth_json(way.worth));
    row["repeats"] = or_null(way.repeats);
    row["decided"] = way.repeats ? Json(way.share) : Json();
    return row;
  });
  json["short_loads"] = list_of(plan.short_loads, [](const ShortLoad& load) -> Json {
    return {{"seconds", load.seconds},
            {"power", worth_json(load.power)},
            {"counter", worth_json(load.counter)}};
  });
  json["commands"] = is_found ? Json(plan_commands(plan)) : Json();
  return indented_lines(json);
}

}  // namespace aggregate_power
