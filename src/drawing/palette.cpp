// The colours: chosen so that each pair is far apart in CIELAB, also under simulated protanopia,
// deuteranopia and tritanopia (Machado, Oliveira and Fernandes 2009); tests/drawing checks it.
#include "drawing/palette.h"

#include <array>

namespace aggregate_power {
namespace {

constexpr std::array<Colour, kColours> kPalette = {{
    {"#0072b2", "#4aa8ea"},
    {"#ff6400", "#f08020"},
    {"#4dadd0", "#c9e4ff"},
    {"#005223", "#1fe08e"},
    {"#6616e6", "#8a5cff"},
    {"#da8d72", "#b56a6a"},
    {"#805f74", "#f7a8cf"},
    {"#271b1f", "#f2e640"},
}};

constexpr std::array<std::string_view, 4> kDashes = {"", "6 2.5", "1.5 2.5", "8 2.5 1.5 2.5"};

}  // namespace

std::size_t colour_number(std::size_t series) { return series % kColours; }

Colour colour_of(std::size_t series) { return kPalette[colour_number(series)]; }

std::string_view dashes_of(std::size_t series) {
  return kDashes[series / kColours % kDashes.size()];
}

}  // namespace aggregate_power
