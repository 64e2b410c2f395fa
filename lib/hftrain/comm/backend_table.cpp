#include "hftrain/comm/backend_table.h"

#include "hftrain/comm/gloo_backend.h"
#include "hftrain/comm/shm_backend.h"

namespace hftrain::comm {

BackendTable builtin_backends() {
  return {{"gloo", make_gloo_backend}, {"shm", make_shm_backend}};
}

}  // namespace hftrain::comm
