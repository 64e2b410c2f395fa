// Seeded example images of three classes, whose best possible accuracy and loss are known.
//
// A picture is grey noise with spots all over it, discs and squares, in shades of one colour: blue, green or red. It lies in
// the folder of that colour, but for one in ten, which lies in one of the other two. PNG and JPEG take turns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace hftrain::data {

struct SampleImage {
  std::string name;   // "red/00007.png"
  std::string bytes;  // of the file
};

// Gives pictures to `take` until their files hold `bytes` bytes, at least one of each class. The same seed gives the same
// pictures on every machine.
void sample_images(uint64_t seed, int64_t bytes, const std::function<void(const SampleImage&)>& take);

struct ImageFloor {
  double nats_per_image = 0;
  double accuracy = 0;
};
// Of what is expected of pictures drawn for ever.
ImageFloor sample_images_floor();

}  // namespace hftrain::data
