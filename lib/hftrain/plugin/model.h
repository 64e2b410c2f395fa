// A family of decoders: what hftrain knows of it before anything is loaded is a text (HFTRAIN_FAMILY), what it computes a Decoder. Who
// computes one includes LibTorch, too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

// Where the description lies.
#define HFTRAIN_FAMILY_SECTION ".hftrain_family"

namespace hftrain::plugin {

using Tensors = std::vector<at::Tensor>;

// The model's config.json, and a number of it by its key.
struct FamilyConfig {
  std::string json;
  std::function<double(const std::string&)> number;
};

// Parameters come in the compute dtype, in the order of the description, and only while a unit runs: nothing of them is kept. A unit may run
// again in the backward pass, so it is a function of its input.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // ids [B, T] int64 → [B, T, C].
  virtual at::Tensor embed(const Tensors& parameters, const at::Tensor& ids) const = 0;
  // x [B, T, C]; mask [B, T] int64, 0: padding, undefined: none that a token could see.
  virtual at::Tensor block(int64_t layer, const Tensors& parameters, const at::Tensor& x,
                           const at::Tensor& mask) const = 0;
  // Before the head's matrix.
  virtual at::Tensor last(const Tensors& parameters, const at::Tensor& x) const = 0;
};

using MakeDecoder = std::function<std::unique_ptr<Decoder>(const FamilyConfig&)>;

}  // namespace hftrain::plugin

// clang-format off
#define HFTRAIN_FAMILY(DESCRIPTION)                                         \
  extern "C" {                                                              \
  __attribute__((visibility("default"), section(HFTRAIN_FAMILY_SECTION)))   \
  extern const char hftrain_family_description[];                           \
  const char hftrain_family_description[] = DESCRIPTION;                    \
  }
// clang-format on
