#include "hftrain/base/cpu_list.h"

#include "support/catch.h"

namespace hftrain {

TEST_CASE("lists of CPUs are read and written as Linux does") {
  CHECK(parse_cpu_list("0-2,5") == std::vector<int>{0, 1, 2, 5});
  CHECK(parse_cpu_list("") == std::vector<int>{});
  for (const char* wrong : {"a", "1-", "-1", "3-1", "1-2-3", "1,,2", "999999"}) {
    INFO(wrong);
    CHECK_FALSE(parse_cpu_list(wrong));
  }
  CHECK(cpu_list_text({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
  CHECK(cpu_list_text({}).empty());
}

}  // namespace hftrain
