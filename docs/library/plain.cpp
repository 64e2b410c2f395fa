// The whole of a program that does what hftrain does.
#include "hftrain/program/trainer.h"

int main(int argc, char** argv) {
  return hftrain::main<hftrain::Trainer>(argc, argv);
}
