# Rows that are read while the run trains.

fault("row N of every hundred is lost between training and validation",
      "lib/hftrain/data/row_source.cpp", "const bool first = row_++ % 100 < count_;", "const bool first = part_ == HundredPart::kRest ? row_++ % 100 <= count_ : row_++ % 100 < count_;",
      tests=["data: the rows of every hundred that are held out of a stream are its validation data, and no others"],
      says=r"streamed\(")

fault("a stream reads ahead without an end",
      "lib/hftrain/data/sample_stream.cpp", "return stopping_ || static_cast<int64_t>(ready_.size()) < std::max(ahead_, wanted_);", "return true;",
      tests=["data: a stream reads a bounded number of rows ahead, and ends when nobody wants more"],
      says=r"rows < 20")

fault("the last round of a stream stays short",
      "lib/hftrain/data/samplers.cpp", "  fill_from_start(whole, start, part * world, position);\n  std::vector<Batch> batches;\n  for (int64_t rank", "  part = count / world + position;\n  std::vector<Batch> batches;\n  for (int64_t rank",
      tests=["data: The rounds of a stream are those that accelerate's IterableDatasetShard gives every rank"],
      says=r"streamed_batches")
