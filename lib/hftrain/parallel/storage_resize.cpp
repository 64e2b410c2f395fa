#include "hftrain/parallel/storage_resize.h"

#include <c10/core/StorageImpl.h>

namespace hftrain::parallel {

void resize_storage(const at::Tensor& tensor, size_t bytes) {
  c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  if (storage->nbytes() == bytes) return;
  storage->set_data_ptr_noswap(storage->allocator()->allocate(bytes));
  storage->set_nbytes(bytes);
}

}  // namespace hftrain::parallel
