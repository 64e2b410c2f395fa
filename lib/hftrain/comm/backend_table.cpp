#include "hftrain/comm/backend_table.h"

#include "hftrain/comm/gloo_backend.h"

namespace hftrain::comm {

BackendTable builtin_backends() {
  return {{"gloo", make_gloo_backend}};
}

}  // namespace hftrain::comm
