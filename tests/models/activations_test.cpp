// What a config.json may name is what there is a formula for.
#include <algorithm>

#include "hftrain/architectures/architecture.h"
#include "hftrain/nn/activation.h"
#include "support/catch.h"

using namespace hftrain;

TEST_CASE("The activations that a config may name are those that are implemented") {
  std::vector<std::string> named = architectures::activation_names(), computed = nn::activation_names();
  std::sort(named.begin(), named.end());
  std::sort(computed.begin(), computed.end());
  CHECK(named == computed);
}
