#include "hftrain/base/copy_past_cache.h"

#include <algorithm>
#include <vector>

#include "support/catch.h"

namespace hftrain {

TEST_CASE("a copy past the caches has the same bytes, wherever it begins and ends, and touches no others") {
  constexpr size_t kRoom = 1024;
  std::vector<std::byte> source(kRoom);
  for (size_t i = 0; i < kRoom; ++i) source[i] = static_cast<std::byte>(i * 7 + 1);
  for (const size_t size : {0, 1, 63, 64, 65, 200, 512}) {
    for (size_t from = 0; from < 20; from += 3) {
      for (size_t to = 1; to < 70; to += 5) {
        std::vector<std::byte> target(kRoom, std::byte{0xaa}), expected = target;
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
        copy_past_cache(target.data() + to, source.data() + from, size);
        REQUIRE(target == expected);
      }
    }
  }
}

}  // namespace hftrain
