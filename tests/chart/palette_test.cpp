// The colours as people with and without each kind of cone see them: matrices of Machado, Oliveira
// and Fernandes (2009), severity 1; distances in CIELAB (1976).
#include "chart/chart.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <string>

namespace aggregate_power {
namespace palette_test {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

constexpr Matrix kNormal = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kProtanopia = {{{0.152286, 1.052583, -0.204868},
                                 {0.114503, 0.786281, 0.099216},
                                 {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeuteranopia = {{{0.367322, 0.860646, -0.227968},
                                   {0.280085, 0.672501, 0.047413},
                                   {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kTritanopia = {{{1.255528, -0.076749, -0.178779},
                                 {-0.078411, 0.930809, 0.147602},
                                 {0.004733, 0.691367, 0.303900}}};
constexpr Matrix kXyz = {{{0.4124564, 0.3575761, 0.1804375},
                          {0.2126729, 0.7151522, 0.0721750},
                          {0.0193339, 0.1191920, 0.9503041}}};

Triple product(const Matrix& matrix, const Triple& vector) {
  Triple result{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) result[i] += matrix[i][j] * vector[j];
  }
  return result;
}

Triple linear_rgb(std::string_view colour) {
  Triple rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = std::stoi(std::string(colour.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    rgb[i] = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  }
  return rgb;
}

Triple lab(std::string_view colour, const Matrix& eyes) {
  Triple rgb = product(eyes, linear_rgb(colour));
  for (double& value : rgb) value = std::fmin(1, std::fmax(0, value));
  const Triple xyz = product(kXyz, rgb);
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f(xyz[0] / 0.95047);
  const double y = f(xyz[1]);
  const double z = f(xyz[2] / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double contrast(std::string_view a, std::string_view b) {
  const double x = product(kXyz, linear_rgb(a))[1];
  const double y = product(kXyz, linear_rgb(b))[1];
  return (std::fmax(x, y) + 0.05) / (std::fmin(x, y) + 0.05);
}

// A distance of 2.3 is just noticeable; that of thin lines must be several times as large.
TEST(Palette, CanBeToldApartByEveryone) {
  for (const Matrix& eyes : {kNormal, kProtanopia, kDeuteranopia, kTritanopia}) {
    for (std::size_t i = 0; i < kColours; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        for (const auto ground : {&Colour::light, &Colour::dark}) {
          const Triple a = lab(colour_of(i).*ground, eyes);
          const Triple b = lab(colour_of(j).*ground, eyes);
          EXPECT_GE(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), 15) << i << " and " << j;
        }
      }
    }
  }
}

TEST(Palette, IsVisibleOnItsGround) {
  for (std::size_t i = 0; i < kColours; ++i) {
    EXPECT_GE(contrast(colour_of(i).light, "#ffffff"), 2.5) << i;
    EXPECT_GE(contrast(colour_of(i).dark, "#16181d"), 4) << i;
  }
}

TEST(Palette, RepeatsItsColoursWithOtherDashes) {
  std::set<std::pair<std::size_t, std::string_view>> looks;
  for (std::size_t i = 0; i < 4 * kColours; ++i) looks.emplace(colour_number(i), dashes_of(i));
  EXPECT_EQ(looks.size(), 4 * kColours);
  for (std::size_t i = 0; i < kColours; ++i) EXPECT_EQ(dashes_of(i), "");
}

}  // namespace palette_test
}  // namespace aggregate_power
