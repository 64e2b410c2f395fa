// hftrain-worker: one rank of a run, which reads a finished plan, trains and reports on its control descriptor; or, for
// commands that generate, a model that writes texts.
#include "rank_main.h"

int main(int argc, char** argv) {
  return hftrain::worker::rank_main(argc, argv, hftrain::worker::train_as_planned);
}
