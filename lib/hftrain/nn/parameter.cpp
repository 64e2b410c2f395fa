#include "hftrain/nn/parameter.h"

#include "hftrain/base/error.h"

namespace hftrain::nn {

void Parameter::refuse_to_drop_adapter() {
  throw Error(ExitCode::kInternal, "a matrix with an adapter is used without it");
}

}  // namespace hftrain::nn
