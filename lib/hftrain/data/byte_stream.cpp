#include "hftrain/data/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"

namespace hftrain::data {
namespace {

Error damaged(const std::string& path, std::string why) {
  return Error(ExitCode::kData, "cannot decompress a data file")
      .where(path)
      .why(std::move(why))
      .hint("copy the file again; one that is not compressed is not called .gz or .zst");
}

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(const std::string& path) : path_(path) {
    file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_) throw system_error(errno, "cannot open", path, ExitCode::kData);
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  size_t read(char* target, size_t size) override {
    while (true) {
      const ssize_t count = ::read(file_.get(), target, size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw system_error(errno, "cannot read", path_, ExitCode::kData);
      position_ += static_cast<uint64_t>(count);
      return static_cast<size_t>(count);
    }
  }

  uint64_t file_position() const override { return position_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  FileDescriptor file_;
  uint64_t position_ = 0;
};

class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(const std::string& path) : file_(path), input_(1 << 18) {
    constexpr int kGzipOrZlib = 15 + 32;
    if (::inflateInit2(&state_, kGzipOrZlib) != Z_OK) throw std::bad_alloc();
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override { ::inflateEnd(&state_); }

  size_t read(char* target, size_t size) override {
    state_.next_out = reinterpret_cast<Bytef*>(target);
    state_.avail_out = static_cast<uInt>(size);
    while (state_.avail_out == size) {
      if (state_.avail_in == 0 && !refill()) {
        if (inside_member_) throw damaged(file_.path(), "the file ends in the middle of its gzip data");
        return 0;
      }
      inflate_some();
    }
    return size - state_.avail_out;
  }

  uint64_t file_position() const override { return file_.file_position() - state_.avail_in; }

 private:
  bool refill() {
    state_.next_in = input_.data();
    state_.avail_in = static_cast<uInt>(file_.read(reinterpret_cast<char*>(input_.data()), input_.size()));
    return state_.avail_in > 0;
  }

  // Archives are padded with zeros, which Python's reader skips too.
  void skip_padding() {
    while (after_member_ && state_.avail_in > 0 && *state_.next_in == 0) {
      ++state_.next_in;
      --state_.avail_in;
    }
  }

  void inflate_some() {
    skip_padding();
    if (state_.avail_in == 0) return;
    inside_member_ = true;
    after_member_ = false;
    const int result = ::inflate(&state_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      inside_member_ = false;
      after_member_ = true;
      ::inflateReset(&state_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw damaged(file_.path(), state_.msg != nullptr ? state_.msg : "the gzip data is not valid");
    }
  }

  PlainStream file_;
  std::vector<Bytef> input_;
  z_stream state_{};
  bool inside_member_ = true;  // an empty file is no gzip file
  bool after_member_ = false;  // one has ended, and nothing of the next was seen
};

class ZstdStream final : public ByteStream {
 public:
  explicit ZstdStream(const std::string& path)
      : file_(path), buffer_(::ZSTD_DStreamInSize()), state_(::ZSTD_createDStream()) {
    if (state_ == nullptr) throw std::bad_alloc();
  }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;
  ~ZstdStream() override { ::ZSTD_freeDStream(state_); }

  size_t read(char* target, size_t size) override {
    ZSTD_outBuffer output{target, size, 0};
    while (output.pos == 0) {
      // A frame may still hold decoded bytes when all input has been taken, so only an idle decoder is at the
      // end.
      if (input_.pos == input_.size && !refill() && !pending_output_) {
        if (inside_frame_) throw damaged(file_.path(), "the file ends in the middle of its zstd data");
        return 0;
      }
      const size_t result = ::ZSTD_decompressStream(state_, &output, &input_);
      if (::ZSTD_isError(result) != 0) throw damaged(file_.path(), ::ZSTD_getErrorName(result));
      inside_frame_ = result != 0;
      pending_output_ = output.pos == output.size && inside_frame_;
    }
    return output.pos;
  }

  uint64_t file_position() const override { return file_.file_position() - (input_.size - input_.pos); }

 private:
  bool refill() {
    input_ = {buffer_.data(), file_.read(buffer_.data(), buffer_.size()), 0};
    return input_.size > 0;
  }

  PlainStream file_;
  std::vector<char> buffer_;
  ZSTD_DStream* state_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  bool inside_frame_ = true;
  bool pending_output_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> ByteStream::open(const std::string& path) {
  const std::string name = to_lower(path);
  if (name.ends_with(".gz")) return std::make_unique<GzipStream>(path);
  if (name.ends_with(".zst")) return std::make_unique<ZstdStream>(path);
  return std::make_unique<PlainStream>(path);
}

}  // namespace hftrain::data
