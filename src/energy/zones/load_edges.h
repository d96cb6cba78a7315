// Finds where the power of a recording rises and where it falls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aggregate_power {

// Power on some clock, second by second.
struct PowerCurve {
  struct Second {
    double sum_w = 0;
    std::uint64_t readings = 0;
  };
  double first_s = 0;  // on the clock
  std::vector<Second> seconds;
};

// Builds a curve from readings in any order; most of its seconds may have none.
class CurveGatherer {
 public:
  // The curve of `seconds` seconds, starting at `first_s`; readings outside are skipped.
  CurveGatherer(double first_s, std::size_t seconds)
      : first_s_(first_s),
        end_(static_cast<double>(seconds)),
        pieces_((seconds + kPiece - 1) / kPiece) {}

  void add(double at_s, double watts) {
    const double place = at_s - first_s_;
    if (!(place >= 0 && place < end_)) return;
    const auto second = static_cast<std::size_t>(place);
    Piece& piece = pieces_[second / kPiece];
    if (piece.empty()) piece.resize(kPiece);
    piece[second % kPiece].sum_w += watts;
    ++piece[second % kPiece].readings;
  }

  // Everything between the first and the last piece with readings.
  PowerCurve curve() const;

 private:
  using Piece = std::vector<PowerCurve::Second>;
  static constexpr std::size_t kPiece = 512;
  double first_s_;
  double end_;
  std::vector<Piece> pieces_;  // empty: no readings
};

// How much higher the mean power is on the load's side of an instant than on the other side.
struct Edge {
  float height_w = 0;
  float idle_w = 0;                  // of the side without the load
  float highest_near_w = 0;          // of all edges within kNear_s
  float highest_visible_near_w = 0;  // of those that noise alone would hardly produce
  bool known = false;                // both sides have readings
  bool visible = false;              // may be more than noise
  bool clear = false;                // is more than noise

  // Whether the edge is here, and not somewhere nearby.
  bool sits() const { return clear && height_w >= 0.7F * highest_near_w; }
};

// An edge is clear if it is this many times as high as its noise, and has this share of the higher
// side's power. One second with readings beside it is a spike.
inline constexpr double kClearNoises = 5;
inline constexpr double kClearShare = 0.05;
inline constexpr double kLeastFilled = 2;  // seconds

// Sums over any stretch of a curve. A second counts once, however many readings it has.
class CurveSums {
 public:
  struct Stretch {
    double filled = 0;  // seconds with readings
    double mean_w = 0;
    double variance_w2 = 0;
  };

  explicit CurveSums(const PowerCurve& curve);

  // From second `begin` up to but excluding `end`. There are no readings outside the curve.
  Stretch between(std::ptrdiff_t begin, std::ptrdiff_t end) const;

 private:
  struct Sum {
    std::size_t filled = 0;
    double sum_w = 0;
    double sum_w2 = 0;
  };
  const Sum& before(std::ptrdiff_t second) const;

  std::vector<Sum> before_;  // [i]: sum of all seconds before i
};

// The edges of a curve at each of its seconds. The load of a client that ran from 0 to 100 rises a
// little after 0 and falls a little before 100, when its last requests finish; recorders report
// means of the last second. So a rise at 0 is searched for from -1 to 4, a fall at 100 from 96 to
// 101, and either is found, a little lower, up to two seconds beyond.
class Edges {
 public:
  static constexpr std::size_t kNear_s = 10;
  static constexpr std::size_t kInside_s = 4;   // the load is present this far inside the window
  static constexpr std::size_t kOutside_s = 1;  // and gone this far outside it

  // Each side is a mean over six seconds, or four intervals of the recording if that is longer, but
  // never more than `most_side_s`.
  Edges(const PowerCurve& curve, std::size_t most_side_s);

  // Median distance between seconds with readings; 0 if there are fewer than two.
  std::size_t interval_s() const { return interval_s_; }
  // One for each second of the curve; [i] is at first_s + i.
  std::span<const Edge> rises() const { return rises_; }
  std::span<const Edge> falls() const { return falls_; }
  // The same at any second; beyond the curve nothing is known.
  Edge rise_at(std::ptrdiff_t second) const { return at(rises_, second); }
  Edge fall_at(std::ptrdiff_t second) const { return at(falls_, second); }
  // Whether power clearly rises or falls anywhere.
  bool has_clear_edge() const;
  const CurveSums& sums() const { return sums_; }

  // The first and the last second with readings; -1 if there is none.
  std::ptrdiff_t first_filled() const { return first_filled_; }
  std::ptrdiff_t last_filled() const { return last_filled_; }
  // Whether readings are missing in some of the seconds from `begin` to `end`, for far longer than
  // between other readings, as far as the recording goes.
  bool has_hole(std::ptrdiff_t begin, std::ptrdiff_t end) const;

  // The lowest and the highest mean of 20 seconds.
  struct Extremes {
    double lowest_w = 0;
    double highest_w = 0;
  };
  Extremes extremes() const { return extremes_; }
  // Standard deviation of a mean over ten seconds, which includes slow noise.
  double block_noise_w() const { return block_noise_w_; }

 private:
  static Edge at(const std::vector<Edge>& edges, std::ptrdiff_t second);
  void find_holes(const std::vector<std::size_t>& filled);
  void find_levels(double second_noise_w);

  CurveSums sums_;
  std::size_t interval_s_;
  std::vector<Edge> rises_;
  std::vector<Edge> falls_;
  std::ptrdiff_t first_filled_ = -1;
  std::ptrdiff_t last_filled_ = -1;
  std::vector<std::size_t> holes_before_;  // [i]: number of seconds before i that are in holes
  Extremes extremes_;
  double block_noise_w_ = 0;
};

}  // namespace aggregate_power
