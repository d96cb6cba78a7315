// Tries four places for each label.
#include "drawing/dot_labels.h"

#include <algorithm>

namespace aggregate_power {
namespace {

constexpr double kTextHeight = 12;

bool do_overlap(Box a, Box b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

}  // namespace

void DotLabels::add_dot(Point place, double radius) {
  taken_.push_back({place.x - radius, place.y - radius, place.x + radius, place.y + radius});
}

bool DotLabels::is_free(Box box) const {
  if (box.left < area_.left || box.right > area_.right || box.top < area_.top ||
      box.bottom > area_.bottom) {
    return false;
  }
  return std::ranges::none_of(taken_, [&](Box other) { return do_overlap(box, other); });
}

DotLabels::Placed DotLabels::place(Point dot, double radius, const std::string& label) {
  const double width = text_pixels(label);
  const double away = radius + 3;
  const auto box_at = [&](double left, double middle) {
    return Box{left, middle - kTextHeight / 2, left + width, middle + kTextHeight / 2};
  };
  const Box boxes[] = {box_at(dot.x + away, dot.y), box_at(dot.x - away - width, dot.y),
                       box_at(dot.x - width / 2, dot.y - away - kTextHeight / 2),
                       box_at(dot.x - width / 2, dot.y + away + kTextHeight / 2)};
  const auto* const free = std::ranges::find_if(boxes, [&](Box box) { return is_free(box); });
  const Box box = free == std::end(boxes) ? boxes[0] : *free;
  taken_.push_back(box);
  const bool is_left = free == &boxes[1];
  return {is_left ? box.right : box.left, box.bottom - 2, is_left};
}

}  // namespace aggregate_power
