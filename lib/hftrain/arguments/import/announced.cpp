#include "hftrain/arguments/import/announced.h"

#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

bool says_true(const Environment& environment, const char* name) {
  return to_lower(environment.get_or(name, "")) == "true";
}

}  // namespace

bool announces_fsdp(const Environment& environment) {
  return says_true(environment, "ACCELERATE_USE_FSDP");
}

bool announces_deepspeed(const Environment& environment) {
  return says_true(environment, "ACCELERATE_USE_DEEPSPEED");
}

}  // namespace hftrain::arguments
