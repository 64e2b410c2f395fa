#include "hftrain/interchange/crc32.h"

#include <isa-l/crc.h>

namespace hftrain::interchange {

uint32_t crc32(std::string_view bytes, uint32_t before) {
  return ::crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace hftrain::interchange
