// Parts of a picture: those that torchvision's transforms take, which run_image_classification uses.
#pragma once

#include <cstdint>
#include <functional>

#include "hftrain/images/image.h"

namespace hftrain::images {

struct Rectangle {
  int64_t top = 0, left = 0, height = 0, width = 0;

  bool operator==(const Rectangle&) const = default;
};

// Black where the rectangle reaches beyond the picture.
Image crop(const Image& image, const Rectangle& part);

// Resize(edge): the shorter side gets `edge` pixels, the other keeps the proportion, rounded down.
Image resize_shortest_edge(const Image& image, int64_t edge);

// CenterCrop(height, width); halves are rounded to even.
Rectangle center_of(const Image& image, int64_t height, int64_t width);

// RandomResizedCrop's choice: 8 to 100 % of the area with sides of 3:4 to 4:3, tried ten times; then the largest part
// in the middle whose sides are within that. `uniform` gives numbers in [0, 1).
Rectangle random_part(int64_t width, int64_t height, const std::function<double()>& uniform);

}  // namespace hftrain::images
