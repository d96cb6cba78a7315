// Lists made of other lists, their texts and sums, and what is in a list or a map.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace aggregate_power {

// What `make` makes of each item, in order: values of the type that it returns, or of Value.
template <typename Value = void, typename Items, typename Make>
auto mapped(Items&& items, const Make& make) {
  using Made = std::remove_cvref_t<decltype(std::invoke(make, *std::begin(items)))>;
  std::vector<std::conditional_t<std::is_void_v<Value>, Made, Value>> made;
  if constexpr (requires { std::size(items); }) made.reserve(std::size(items));
  for (auto&& item : items) made.emplace_back(std::invoke(make, item));
  return made;
}

// The items for which `is` is true, in order.
template <typename Items, typename Is>
auto items_where(const Items& items, const Is& is) {
  std::vector<std::remove_cvref_t<decltype(*std::begin(items))>> found;
  std::ranges::copy_if(items, std::back_inserter(found), is);
  return found;
}

// Adds `more` to the end: copies, or moved items if it is a moved container.
template <typename Item, typename Items>
void append(std::vector<Item>& all, Items&& more) {
  if constexpr (std::is_lvalue_reference_v<Items> || std::ranges::view<Items>) {
    all.insert(all.end(), std::begin(more), std::end(more));
  } else {
    std::ranges::move(more, std::back_inserter(all));
  }
}

// What `make` makes of each item, with `between` between any two.
template <typename Items, typename Make = std::identity>
std::string joined_text(const Items& items, std::string_view between, const Make& make = {}) {
  return fmt::format("{}", fmt::join(mapped(items, make), between));
}

// The sum of what `key` is of each item, added in order.
template <typename Value = double, typename Items, typename Key = std::identity>
Value summed(const Items& items, const Key& key = {}) {
  Value sum = 0;
  for (const auto& item : items) sum += std::invoke(key, item);
  return sum;
}

// The largest of `least` and of what `key` is of each item.
template <typename Value, typename Items, typename Key = std::identity>
Value largest_of(Value least, const Items& items, const Key& key = {}) {
  for (const auto& item : items) least = std::max<Value>(least, std::invoke(key, item));
  return least;
}

// The first item whose `key` is `value`. Returns nullptr if there is none.
template <typename Items, typename Value, typename Key = std::identity>
auto* find_item(Items& items, const Value& value, const Key& key = {}) {
  const auto found = std::ranges::find(items, value, key);
  return found == std::end(items) ? nullptr : &*found;
}

// The value of `key` in a map. Returns nullptr if it has none.
template <typename Map, typename Key>
auto* find_in_map(Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace aggregate_power
