# Rows that are read while the run trains.

fault("row N of every hundred is lost between training and validation",
      "lib/hftrain/data/row_source.cpp", "const bool first = row_++ % 100 < count_;", "const bool first = part_ == HundredPart::kRest ? row_++ % 100 <= count_ : row_++ % 100 < count_;",
      tests=["data: the rows of every hundred that are held out of a stream are its validation data, and no others"],
      says=r"streamed\(")

fault("a stream reads ahead without an end",
      "lib/hftrain/data/stream_reading.cpp", "return stopping_ || static_cast<int64_t>(ready_.size()) < std::max(ahead_, wanted_);", "return true;",
      tests=["data: a stream reads a bounded number of rows ahead, and ends when nobody wants more"],
      says=r"rows < 20")

fault("the last round of a stream stays short",
      "lib/hftrain/data/samplers.cpp", "  fill_from_start(whole, start, part * world, position);\n  std::vector<Batch> batches;\n  for (int64_t rank", "  part = count / world + position;\n  std::vector<Batch> batches;\n  for (int64_t rank",
      tests=["data: The rounds of a stream are those that accelerate's IterableDatasetShard gives every rank"],
      says=r"streamed_batches")

fault("a rank that waits for its data hangs",
      "launcher/supervision/hang_watch.cpp", "if (phase == WorkPhase::kWaitingForData) return limits_.most_seconds;", "",
      tests=["launcher: a rank that waits for its data may do so as long as collective operations may take"],
      says=r"ask_for_stacks")

fault("rows are passed over to the last one, though nobody wants any",
      "lib/hftrain/data/stream_reading.cpp", "if (stop_.load(std::memory_order_relaxed) || !source_->next(records)) return false;", "if (!source_->next(records)) return false;",
      tests=["data: a stream that passes over very many rows ends at once when nobody wants them"],
      says=r"rows_read\(\) < kRows")

fault("a rank that waits for its data is deaf",
      "lib/hftrain/trainer/data_wait.cpp", "while (!stop_()) {", "while (true) {",
      tests=["trainer: a rank that waits for its data is seen to, until they come or the run is to stop"],
      says=r"came == !stops|asked ==")

fault("ranks with files of their own hide the same places",
      "lib/hftrain/trainer/own_file_rounds.cpp", "number++ * communicator_.world_size() + communicator_.rank();", "number++;",
      tests=["runs: streaming: ranks read files of their own"],
      says=r"masks by turns")

fault("counts of rows are told without a pause",
      "lib/hftrain/trainer/stream_remarks.cpp", "  pause_ *= 2;\n", "",
      tests=["trainer: counts of rows are told again after a minute, and then after twice as long each time"],
      says=r"at ==")

fault("floats of a stream are cut to whole numbers",
      "lib/hftrain/data/memory_samples.h", "void add(std::span<const float> sequence) override { keep(sequence); }",
      "void add(std::span<const float> sequence) override { keep(std::span<const int32_t>(std::vector<int32_t>(sequence.begin(), sequence.end()))); }",
      tests=["data: a stream has the floats of the prepared data"],
      says=r"floats\(\)|another kind")
