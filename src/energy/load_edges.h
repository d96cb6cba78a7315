// Where the power of a recording rises and where it falls.
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
  double first_s = 0;  // of the clock
  std::vector<Second> seconds;
};

// A curve of readings in any order, most of whose seconds may have none.
class CurveGatherer {
 public:
  // Of the `seconds` seconds from `first_s` on; readings outside of them are passed over.
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

  // All that is between the first and the last piece with readings.
  PowerCurve curve() const;

 private:
  using Piece = std::vector<PowerCurve::Second>;
  static constexpr std::size_t kPiece = 512;
  double first_s_;
  double end_;
  std::vector<Piece> pieces_;  // empty: no readings
};

// How much higher the mean power is on the load's side of an instant than on the other.
struct Edge {
  float height_w = 0;
  float idle_w = 0;                  // of the side that the load is not on
  float highest_near_w = 0;          // of all edges within kNear_s
  float highest_visible_near_w = 0;  // of those that noise alone would hardly make
  bool known = false;                // both sides have readings
  bool visible = false;              // may be more than noise
  bool clear = false;                // is more than noise

  // Here, and not somewhere near.
  bool sits() const { return clear && height_w >= 0.7F * highest_near_w; }
};

// Sums over any stretch of a curve. A second counts once, however many readings it has.
class CurveSums {
 public:
  struct Stretch {
    double filled = 0;  // seconds that have readings
    double mean_w = 0;
    double variance_w2 = 0;
  };

  explicit CurveSums(const PowerCurve& curve);

  // From second `begin` on, `end` not included. What lies off the curve has no readings.
  Stretch between(std::ptrdiff_t begin, std::ptrdiff_t end) const;

 private:
  struct Sum {
    std::size_t filled = 0;
    double sum_w = 0;
    double sum_w2 = 0;
  };
  const Sum& before(std::ptrdiff_t second) const;

  std::vector<Sum> before_;  // [i]: of all seconds before i
};

// The edges of a curve at each of its seconds. The load of a client that ran from 0 to 100 rises a
// little after 0 and falls a little before 100, when its last requests run out; recorders show
// means of the last second. So a rise at 0 is looked for from -1 to 4, a fall at 100 from 96 to
// 101, and either is found, a little lower, up to two seconds beyond.
class Edges {
 public:
  static constexpr std::size_t kNear_s = 10;
  static constexpr std::size_t kInside_s = 4;   // the load is there this far inside the window
  static constexpr std::size_t kOutside_s = 1;  // and gone this far outside of it

  // Each side is a mean over six seconds, or four intervals of the recording if that is longer;
  // never more than `most_side_s`.
  Edges(const PowerCurve& curve, std::size_t most_side_s);

  // Median distance of seconds that have readings; 0 with fewer than two.
  std::size_t interval_s() const { return interval_s_; }
  // As many as the curve has seconds; [i] is at first_s + i.
  std::span<const Edge> rises() const { return rises_; }
  std::span<const Edge> falls() const { return falls_; }
  // The same at any second; beyond the curve nothing is known.
  Edge rise_at(std::ptrdiff_t second) const { return at(rises_, second); }
  Edge fall_at(std::ptrdiff_t second) const { return at(falls_, second); }
  // Whether power clearly rises or falls anywhere.
  bool has_clear_edge() const;
  const CurveSums& sums() const { return sums_; }

  // The first and the last second that have readings; -1 where none has.
  std::ptrdiff_t first_filled() const { return first_filled_; }
  std::ptrdiff_t last_filled() const { return last_filled_; }
  // Whether readings are missing, for far longer than between any others, in some of the seconds
  // from `begin` to `end`, as far as the recording goes.
  bool has_hole(std::ptrdiff_t begin, std::ptrdiff_t end) const;

  // The lowest and the highest mean of 20 seconds.
  struct Extremes {
    double lowest_w = 0;
    double highest_w = 0;
  };
  Extremes extremes() const { return extremes_; }
  // Standard deviation of a mean of ten seconds, in which slow noise counts too.
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
  std::vector<std::size_t> holes_before_;  // [i]: seconds before i that lie in holes
  Extremes extremes_;
  double block_noise_w_ = 0;
};

}  // namespace aggregate_power
