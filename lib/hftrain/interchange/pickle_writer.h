// Writer of pickles of tensors and plain containers (protocol 2), as torch.save has them: what torch.load reads with weights_only.
//
//   PickleWriter pickle;
//   pickle.open_dict(); pickle.text("lr"); pickle.number(1e-3); pickle.close_dict();
//   const std::string bytes = pickle.finish();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/storage/dtype.h"

namespace hftrain::interchange {

class PickleWriter {
 public:
  PickleWriter();
  // Keys and values by turns.
  void open_dict();
  void close_dict();
  void open_list();
  void close_list();
  void open_tuple();
  void close_tuple();

  void none();
  void truth(bool value);
  void integer(int64_t value);
  void number(double value);
  void text(std::string_view value);  // UTF-8
  // A dense tensor that has all of the storage `key`. Error(kInternal) for a dtype that torch has no storage of.
  void tensor(storage::DType dtype, const std::vector<int64_t>& shape, const std::string& key);
  // Ends the pickle, which holds one value.
  std::string finish();

 private:
  void global(std::string_view module, std::string_view name);
  std::string bytes_;
};

}  // namespace hftrain::interchange
