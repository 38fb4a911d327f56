#include "apps/tendril/program.hpp"

int main(int argc, char** argv) { return tendril_main(argc, argv, 0); }
