// Giving up a text while it is encoded: one row may hold gigabytes, and whoever stops a program does not wait for it.
#pragma once

#include <atomic>
#include <cstdint>

#include "hftrain/base/error.h"

namespace hftrain::tokenizer {

inline thread_local const std::atomic<bool>* t_encoding_stop = nullptr;

// While one lives, texts that this thread encodes are given up by an Error once `stop` is true.
class EncodingStop {
 public:
  explicit EncodingStop(const std::atomic<bool>& stop) : before_(t_encoding_stop) { t_encoding_stop = &stop; }
  EncodingStop(const EncodingStop&) = delete;
  EncodingStop& operator=(const EncodingStop&) = delete;
  ~EncodingStop() { t_encoding_stop = before_; }

 private:
  const std::atomic<bool>* before_;
};

// Looks at that flag now and then; one for each text.
class StopWatch {
 public:
  void next_piece() {
    constexpr uint32_t kPieces = 4096;  // that are encoded in a millisecond
    if (++pieces_ % kPieces == 0 && stop_ != nullptr && stop_->load(std::memory_order_relaxed))
      throw Error(ExitCode::kTerminatedUnsaved, "a text was given up while it was encoded")
          .where("the data")
          .why("the program was asked to stop")
          .hint("the same command encodes it");
  }

 private:
  const std::atomic<bool>* stop_ = t_encoding_stop;
  uint32_t pieces_ = 0;
};

}  // namespace hftrain::tokenizer
