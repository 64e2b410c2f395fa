#include "launcher/front/end_of_time.h"

#include "support/catch.h"

namespace hftrain::front {

TEST_CASE("the end of a job's time is Slurm's, and a text that is none is told and not used") {
  constexpr double kNow = 2e9;
  const auto end = [](const std::string& text) {
    return end_of_time(Environment({{"SLURM_JOB_END_TIME", text}}), kNow);
  };
  CHECK(end("2000000600").at == kNow + 600);
  CHECK(end("2000000600").warning.empty());
  for (const char* unset_or_over : {"", "0", "-1", "1999999999"}) {
    INFO(unset_or_over);
    CHECK_FALSE(end(unset_or_over).at);
    CHECK(end(unset_or_over).warning.empty());
  }
  for (const std::string wrong : {"abc", "2000000600s", "1e10", "99999999999999999999", "99999999999999"}) {
    INFO(wrong);
    CHECK_FALSE(end(wrong).at);
    CHECK(end(wrong).warning.find("warning: SLURM_JOB_END_TIME=" + wrong +
                                  " of the environment is not used: it is no time in seconds since 1970") ==
          0);
  }
  CHECK_FALSE(end_of_time(Environment(), kNow).at);
}

}  // namespace hftrain::front
