#include "hftrain/hub/blob_download.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string_view>

#include "hftrain/base/caught_error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "hftrain/hub/content_hash.h"

namespace hftrain::hub {
namespace {

namespace fs = std::filesystem;

constexpr int kMostIdleAttempts = 6;  // in a row that brought nothing new

FileDescriptor opened(const std::string& path, int flags) {
  FileDescriptor file(::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0666));
  if (!file) throw system_error(errno, "cannot open", path);
  return file;
}

// Two programs that fetch the same file: the second one waits, and finds it there. `waits` is called before it does.
FileDescriptor locked(const std::string& path, const std::function<void()>& waits) {
  create_directories(fs::path(path).parent_path().string());
  FileDescriptor file = opened(path, O_RDWR);
  for (int how = LOCK_EX | LOCK_NB; ::flock(file.get(), how) != 0;) {
    if (errno == EWOULDBLOCK) {
      how = LOCK_EX;
      waits();
    } else if (errno != EINTR) {
      throw system_error(errno, "cannot lock", path);
    }
  }
  return file;
}

uint64_t size_of(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw system_error(errno, "cannot look at", path);
  return static_cast<uint64_t>(status.st_size);
}

// The file while it grows.
class Partial {
 public:
  Partial(const Api& api, std::string path, const RemoteFile& file, const Progress& progress)
      : api_(api),
        path_(std::move(path)),
        file_(opened(path_, O_WRONLY)),
        remote_(file),
        progress_(progress),
        have_(size_of(file_.get(), path_)) {
    if (have_ > remote_.size) cut();
  }

  uint64_t have() const { return have_; }
  const std::string& path() const { return path_; }
  // From the beginning.
  void cut() {
    if (::ftruncate(file_.get(), 0) != 0) throw system_error(errno, "cannot empty", path_);
    have_ = 0;
  }
  // What came of a request for all from have() on; libcurl cannot pass an exception on. False: no more of it.
  bool take(const http::Answer& head, std::string_view piece) {
    try {
      if (!begun_) begin(head);
      const bool more = piece.size() > remote_.size - have_;
      piece = piece.substr(0, remote_.size - have_);  // its hash says whether this is the file
      if (::lseek(file_.get(), static_cast<off_t>(have_), SEEK_SET) < 0)
        throw system_error(errno, "cannot write", path_);
      write_all(file_.get(), piece, path_);
      have_ += piece.size();
      if (progress_.has) progress_.has(remote_, have_);
      return !more;
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }
  // Before each request. Throws what the last one met.
  void expect_answer() {
    begun_ = false;
    if (failure_) std::rethrow_exception(failure_);
  }
  void sync() {
    if (::fsync(file_.get()) != 0) throw system_error(errno, "cannot write", path_);
  }

 private:
  // A server that knows no parts sends everything; one that sends another part is not understood.
  void begin(const http::Answer& head) {
    begun_ = true;
    const auto range = head.headers.find("content-range");
    const bool goes_on = head.status == 206 && range != head.headers.end() &&
                         range->second.starts_with("bytes " + std::to_string(have_) + '-');
    if (!goes_on && have_ > 0) cut();
    if (head.status == 206 && !goes_on)
      throw Error(ExitCode::kEnvironment, "the Hub sent another part of a file than was asked for")
          .where(remote_.path)
          .why(range == head.headers.end() ? "it does not say which"
                                           : printable(api_.without_secrets(range->second)))
          .hint("start the command again; what was there of the file is given up");
  }

  const Api& api_;
  std::string path_;
  FileDescriptor file_;
  const RemoteFile& remote_;
  const Progress& progress_;
  uint64_t have_ = 0;
  bool begun_ = false;
  std::exception_ptr failure_;
};

Error wrong_hash(const Repository& repository, const RemoteFile& file, const std::string& found) {
  return Error(ExitCode::kData, "a file that was fetched is not the one of the repository")
      .where(repository.shown() + ": " + file.path)
      .why("its hash is " + found + ", and the Hub says " + file.hash + "; it was fetched twice")
      .hint(
          "something on the way changes it: try without a proxy, or another HF_ENDPOINT; nothing of it was "
          "kept");
}

// Until all is there. Returns what came.
uint64_t receive(Api& api, const Repository& repository, const std::string& commit, const RemoteFile& file,
                 Partial& partial) {
  uint64_t received = 0, most = partial.have();
  const std::string target = repository.web() + "/resolve/" + commit + '/' + path_in_url(file.path);
  for (int idle = 0; partial.have() < file.size;) {
    const uint64_t before = partial.have();
    http::Request request;
    request.headers = {"Accept-Encoding: identity"};
    if (before > 0) request.headers.push_back("Range: bytes=" + std::to_string(before) + '-');
    request.take = [&partial](const http::Answer& head, std::string_view piece) {
      return partial.take(head, piece);
    };
    http::Answer answer = api.once(target, std::move(request));
    partial.expect_answer();
    if (partial.have() > before) received += partial.have() - before;
    if (partial.have() >= file.size) break;
    const bool unsuitable = answer.status == 416 || answer.status / 100 == 2;
    if (answer.status == 416) partial.cut();
    if (!unsuitable && !may_pass(answer)) throw api.refusal(answer, repository, commit, file.path);
    idle =
        partial.have() > most ? 0 : idle + 1;  // what is begun again and ends at the same place goes nowhere
    most = std::max(most, partial.have());
    if (answer.status / 100 == 2) answer.failure = "it sent fewer bytes than the file has";
    if (answer.status / 100 == 2) answer.status = 0;
    if (idle == kMostIdleAttempts || !api.pause_before_retry(idle, answer))
      throw api.refusal(answer, repository, commit, file.path);
  }
  return received;
}

}  // namespace

uint64_t download_blob(Api& api, const Repository& repository, const std::string& commit,
                       const RemoteFile& file, const BlobPlace& place, const Progress& progress) {
  const std::string blob = place.blobs + '/' + file.hash;
  const FileDescriptor lock = locked(place.locks + '/' + file.hash + ".lock", [&] {
    if (progress.waits) progress.waits(file);
  });
  std::error_code ignored;
  if (fs::is_regular_file(blob, ignored) && fs::file_size(blob, ignored) == file.size) return 0;
  Partial partial(api, blob + ".incomplete", file, progress);
  const HashKind kind = file.hash.size() == 64 ? HashKind::kSha256 : HashKind::kGitBlob;
  uint64_t received = 0;
  for (int attempt = 0;; ++attempt) {
    received += receive(api, repository, commit, file, partial);
    const std::string found = hash_of_file(partial.path(), kind);
    if (found == file.hash) break;
    partial.cut();
    if (attempt == 0) continue;
    fs::remove(partial.path(), ignored);
    throw wrong_hash(repository, file, found);
  }
  partial.sync();
  std::error_code failed;
  fs::rename(partial.path(), blob, failed);
  if (failed) throw system_error(failed.value(), "cannot write", blob);
  return received;
}

}  // namespace hftrain::hub
