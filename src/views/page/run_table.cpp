// Writes the rows into one text.
#include "views/page/page.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/report/json_parts.h"
#include "base/text/shown_number.h"
#include "chart/chart.h"
#include "decide/compare/facility.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMemberCharacters = 40;
// Before the names of members in the page's fragment, which has names of its own.
constexpr const char* kMemberPrefix = "m.";
constexpr std::size_t kManyRuns = 1000;

constexpr ReportQuantity kNumberColumns[] = {ReportQuantity::energy_per_token,
                                             ReportQuantity::gpu_power,
                                             ReportQuantity::energy,
                                             ReportQuantity::duration,
                                             ReportQuantity::throughput,
                                             ReportQuantity::input_throughput,
                                             ReportQuantity::interactivity,
                                             ReportQuantity::prefill_power,
                                             ReportQuantity::decode_power,
                                             ReportQuantity::prefill_worker_power,
                                             ReportQuantity::decode_worker_power,
                                             ReportQuantity::good_requests,
                                             ReportQuantity::energy_per_good_token,
                                             ReportQuantity::prefill_energy_per_good_token,
                                             ReportQuantity::decode_energy_per_good_token,
                                             ReportQuantity::missed_energy};

// Its lines may break after the separators of a path.
void append_path(std::string& out, std::string_view path) {
  for (const char c : html(path)) {
    out += c;
    if (c == '/' || c == '_' || c == '-') out += "<wbr/>";
  }
}

class RunTable {
 public:
  explicit RunTable(const ReportRuns& report)
      : report_(report),
        has_hardware_(report.hardware.size() != 1),
        members_(report.varying),
        most_name_(name_characters(report)) {
    if (members_.size() > kMostMemberColumns) members_.resize(kMostMemberColumns);
    for (const ReportQuantity quantity : kNumberColumns) {
      if (quantity == ReportQuantity::energy_per_token || is_known(quantity)) {
        numbers_.push_back(quantity);
      }
    }
    for (std::size_t i = 0; i < kReportQuantities; ++i) {
      facts_.push_back(facts_of(static_cast<ReportQuantity>(i), *report.metric));
    }
    for (const std::size_t i : report.shown) {
      const ReportRun& run = report.runs[i];
      if (!run.curve) continue;
      ++curves_;
      double& scale_w = run.run.state == PowerState::valid ? scale_w_ : scale_of_others_w_;
      scale_w = std::max(scale_w, run.curve->scale_w());
    }
    if (!(scale_w_ > 0)) scale_w_ = scale_of_others_w_;
  }

  std::string text() {
    constexpr std::size_t kRowBytes = 600;
    out_.reserve(report_.shown.size() * kRowBytes);
    head();
    for (const std::size_t i : report_.shown) row(report_.runs[i]);
    out_ += "</tbody></table></div>\n";
    return std::move(out_);
  }

 private:
  static std::size_t name_characters(const ReportRuns& report) {
    return report.runs.size() > kManyRuns ? 48 : 90;
  }

  bool is_known(ReportQuantity quantity) const {
    return std::ranges::any_of(report_.runs, [&](const ReportRun& run) {
      return quantity_of(run.run, quantity, *report_.metric).has_value();
    });
  }

  void head() {
    Json shared = Json::object();
    for (const auto& [key, value] : report_.shared) shared[kMemberPrefix + key] = value;
    if (!has_hardware_) shared["m.hw"] = report_.hardware[0];
    out_ += "<div class=\"scroll\"><table id=\"runs\" class=\"runs\" data-shared=\"";
    append_html(out_, line_text(shared, JsonCharacters::utf8));
    out_ += "\"><thead><tr>\n";
    title("run", "run", "", false);
    number_title(numbers_[0]);
    if (has_hardware_) title("hw", "hardware", "", true);
    for (const std::string& member : members_) title(kMemberPrefix + member, member, "", true);
    title("valid", "power", "", true);
    for (std::size_t i = 1; i < numbers_.size(); ++i) number_title(numbers_[i]);
    facility_titles();
    if (curves_ > 0) {
      title("peak_w", "peak W/GPU",
            "highest mean of the GPUs, in the window and a tenth of it around", false,
            " class=\"n\"");
    }
    title("record", curves_title(), "links to the audit record", false);
    out_ += "</tr></thead><tbody>\n";
  }

  std::string curves_title() const {
    if (curves_ == 0) return "record";
    const bool is_cut = std::ranges::any_of(report_.shown, [&](std::size_t i) {
      const ReportRun& run = report_.runs[i];
      return run.curve && run.curve->peak_w > scale_w_;
    });
    return fmt::format("power, 0 to {:.0f} W/GPU{}", scale_w_, is_cut ? ", cut off there" : "");
  }

  void title(std::string_view key, std::string_view text, std::string_view tooltip, bool is_filter,
             std::string_view more = "") {
    out_ +=
        fmt::format("<th scope=\"col\" data-k=\"{}\"{}{}", html(cut_text(key, kMemberCharacters)),
                    is_filter ? " data-f=\"1\"" : "", more);
    if (!tooltip.empty()) out_ += fmt::format(" title=\"{}\"", html(tooltip));
    out_ += '>';
    append_html(out_, cut_text(text, kMemberCharacters));
    out_ += "</th>\n";
  }

  void number_title(ReportQuantity quantity) {
    const QuantityFacts& facts = facts_[static_cast<std::size_t>(quantity)];
    title(facts.key, facts.column, fmt::format("{}: {}", facts.title, facts.formula), false,
          " class=\"n\"");
  }

  void facility_titles() {
    const FacilityRates& rates = report_.rates;
    const std::string boundary = "of the " + boundary_of_figures(rates, measured_boundary("gpu"));
    const std::string currency =
        rates.currency.empty() ? "" : " (" + cut_text(rates.currency, kMemberCharacters / 2) + ")";
    if (rates.pue) title("facility_energy_j", "facility (kJ)", boundary, false, " class=\"n\"");
    if (rates.price) title("cost", "cost" + currency, boundary, false, " class=\"n\"");
    if (rates.carbon) title("carbon_gco2e", "gCO2e", boundary, false, " class=\"n\"");
  }

  void facility(const PublishedRun& run) {
    const FacilityRates& rates = report_.rates;
    const FacilityFigures figures = facility_of(run, rates);
    constexpr double kJoulesOfColumn = 1000;
    const auto cell = [&](const std::optional<double>& value, double unit) {
      out_ +=
          fmt::format("<td class=\"n\">{}</td>", value ? shown_number(*value / unit) : "\u2013");
    };
    if (rates.pue) cell(figures.energy_j, kJoulesOfColumn);
    if (rates.price) cell(figures.cost, 1);
    if (rates.carbon) cell(figures.carbon_g, 1);
  }

  void row(const ReportRun& run) {
    if (run.point) {
      fmt::format_to(std::back_inserter(out_), "<tr data-p=\"{}\">", *run.point);
    } else {
      out_ += "<tr>";
    }
    name(run);
    number(run.run, numbers_[0]);
    if (has_hardware_) hardware(run);
    for (const std::string& member : members_) {
      out_ += "<td>";
      append_html(out_, cut_text(member_in(run.configuration, member), kMemberCharacters));
      out_ += "</td>";
    }
    state(run);
    for (std::size_t i = 1; i < numbers_.size(); ++i) number(run.run, numbers_[i]);
    if (report_.rates.is_asked()) facility(run.run);
    curve(run);
    out_ += "</tr>\n";
  }

  void hardware(const ReportRun& run) {
    fmt::format_to(std::back_inserter(out_), "<td class=\"k{}\">", colour_number(run.hardware));
    append_html(out_, cut_text(report_.hardware[run.hardware], kMemberCharacters));
    out_ += "</td>";
  }

  void name(const ReportRun& run) {
    const std::string shown = cut_text(run.name(), most_name_);
    out_ += "<td";
    constexpr std::size_t kMostTitle = 300;
    if (shown.size() < run.name().size() && report_.runs.size() <= kManyRuns) {
      out_ += " title=\"";
      append_html(out_, cut_text(run.name(), kMostTitle));
      out_ += '"';
    }
    out_ += '>';
    append_path(out_, shown);
    out_ += "</td>";
  }

  void state(const ReportRun& run) {
    const PublishedRun& published = run.run;
    constexpr std::size_t kMostReasons = 160;
    switch (published.state) {
      case PowerState::valid:
        out_ += run.is_computed_here ? "<td data-v=\"1\">valid, not written</td>"
                                     : "<td data-v=\"1\">valid</td>";
        return;
      case PowerState::not_valid:
        out_ += "<td class=\"bad\" data-v=\"0\">not valid: ";
        break;
      default:
        out_ += "<td class=\"bad\" data-v=\"none\">no power";
        if (published.reasons.empty()) break;
        out_ += ": ";
    }
    append_html(out_, cut_text(reasons_text(published), kMostReasons));
    out_ += "</td>";
  }

  static std::string reasons_text(const PublishedRun& run) {
    if (!run.doubt.empty()) return run.doubt;
    if (run.state == PowerState::none) return fmt::format("{}", fmt::join(run.reasons, ", "));
    return run.reasons.empty() ? "no reason is stated"
                               : fmt::format("{}", fmt::join(run.reasons, ", "));
  }

  void number(const PublishedRun& run, ReportQuantity quantity) {
    const auto value = quantity_of(run, quantity, *report_.metric);
    if (!value) {
      out_ += "<td class=\"n\">\u2013</td>";
      return;
    }
    out_ += "<td class=\"n\">";
    const QuantityFacts& facts = facts_[static_cast<std::size_t>(quantity)];
    const double unit = facts.column_unit;
    if (const auto spread = repeatability_of(run, quantity, *report_.metric)) {
      out_ += shown_range(spread->estimate / unit, spread->low / unit, spread->high / unit);
    } else {
      out_ += shown_number(*value / unit);
    }
    out_ += "</td>";
  }

  void curve(const ReportRun& run) {
    const bool is_valid = run.run.state == PowerState::valid;
    if (curves_ > 0) {
      out_ += run.curve && is_valid ? fmt::format("<td class=\"n\">{:.0f}</td>", run.curve->peak_w)
                                    : "<td class=\"n\">\u2013</td>";
    }
    out_ += run.curve && !is_valid ? "<td class=\"u\" title=\"not valid\"" : "<td";
    std::string picture;
    if (run.curve) {
      const std::string compact = compact_curve(*run.curve, scale_w_);
      if (curves_ <= kMostDrawnCurves) {
        picture = fmt::format(
            "<svg class=\"s\" viewBox=\"{}\" preserveAspectRatio=\"none\" role=\"img\" "
            "aria-label=\"power over time{}\"><path d=\"{}\"/></svg>",
            kCurveViewBox, is_valid ? "" : ", not valid", curve_path(compact));
      } else {
        out_ += fmt::format(" data-c=\"{}\"", compact);
      }
    }
    out_ += '>';
    if (!run.run.record || !report_.record_link) {
      out_ += picture.empty() ? "\u2013" : picture;
    } else {
      out_ += "<a href=\"";
      append_html(out_, report_.record_link(run.run));
      out_ += "\">";
      out_ += picture.empty() ? "record" : picture;
      out_ += "</a>";
    }
    out_ += "</td>";
  }

  const ReportRuns& report_;
  bool has_hardware_;  // a column, since there are several
  std::vector<std::string> members_;
  std::vector<ReportQuantity> numbers_;  // the first is the energy per token
  std::vector<QuantityFacts> facts_;     // by quantity
  std::size_t most_name_;
  std::size_t curves_ = 0;
  double scale_w_ = 0;  // of the curves: that of the valid runs, if any of them has one
  double scale_of_others_w_ = 0;
  std::string out_;
};

}  // namespace

std::string run_table(const ReportRuns& report) { return RunTable(report).text(); }

}  // namespace aggregate_power
