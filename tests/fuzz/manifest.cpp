// A manifest.json. Its hash of itself is set right where it stands empty, so that mutations reach what the
// manifest says.
#include "hftrain/storage/manifest.h"

#include "fuzz.h"
#include "hftrain/base/hash.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    std::string text(reinterpret_cast<const char*>(data), size);
    const std::string blank = "\"manifest_hash\": \"\"";
    const size_t place = text.find(blank);
    if (place != std::string::npos) text.insert(place + blank.size() - 1, hash_bytes(text));
    const storage::Manifest manifest = storage::parse_manifest(text, "manifest.json");
    const std::string rendered = storage::render_manifest(manifest);
    const auto again = fuzz::must([&] { return storage::parse_manifest(rendered, "again"); });
    if (storage::render_manifest(again) != rendered) __builtin_trap();
    storage::verify_files(fuzz::folder(), manifest.files, 1);
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return fuzz::mutate_json(data, size, max_size, seed);
}
