#include "hftrain/base/quantity.h"

#include "support/catch.h"

namespace hftrain {

TEST_CASE("amounts of memory are read with their unit, of 1024 or of 1000") {
  CHECK(parse_bytes("20GiB") == int64_t{20} << 30);
  CHECK(parse_bytes("20 gib") == int64_t{20} << 30);
  CHECK(parse_bytes("1.5TiB") == int64_t{3} << 39);
  CHECK(parse_bytes("80GB") == int64_t{80'000'000'000});
  CHECK(parse_bytes("7b") == 7);
  CHECK(parse_bytes("0MiB") == 0);
  for (const char* text :
       {"", "20", "GiB", "-1GiB", "1e3GiB", "20GiBs", "nanGiB", "infGiB", "9000000PiB", "20 Gi", "2x8GiB"}) {
    INFO(text);
    CHECK_FALSE(parse_bytes(text));
  }
}

TEST_CASE("ages are read in seconds, minutes, hours, days and weeks") {
  CHECK(parse_age("30d") == 30 * 86400);
  CHECK(parse_age("90m") == 5400);
  CHECK(parse_age("1.5h") == 5400);
  CHECK(parse_age("2w") == 14 * 86400);
  CHECK(parse_age("0s") == 0);
  for (const char* text : {"", "30", "d", "-1d", "30days", "1y"}) {
    INFO(text);
    CHECK_FALSE(parse_age(text));
  }
}

}  // namespace hftrain
