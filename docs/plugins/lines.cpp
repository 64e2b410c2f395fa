// A reporter: a line of text for each record, in lines.txt of the output folder.
#include <fstream>
#include <memory>
#include <string>

#include "hftrain/plugin/plugin.h"

namespace {

using namespace hftrain::plugin;

class Lines final : public Reporter {
 public:
  explicit Lines(const std::string& path) : file_(path) {
    file_.exceptions(std::ios::failbit | std::ios::badbit);
  }

  void record(const Record& record) override {
    file_ << "step " << record.step;
    for (const auto& [name, value] : record.metrics) file_ << "  " << name << ' ' << value;
    file_ << '\n';
  }
  void flush() override { file_.flush(); }
  void end(End how) override { file_ << (how == End::kFinished ? "finished\n" : "ended early\n"); }

 private:
  std::ofstream file_;
};

}  // namespace

HFTRAIN_PLUGIN("lines") {
  registry.reporter("lines",
                    [](const Run& run) { return std::make_unique<Lines>(run.output_dir + "/lines.txt"); });
}
