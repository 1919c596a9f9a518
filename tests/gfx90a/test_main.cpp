#include <doctest/doctest.h>

#include <cstdio>

#include "machine.h"

int main(int argc, char** argv) {
  if (!gfx90a::host_can_run()) {
    std::puts("skipped: this machine lacks AVX2, FMA or F16C");
    return 0;
  }
  return doctest::Context(argc, argv).run();
}
