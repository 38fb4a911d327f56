#pragma once

extern "C" {

/// The program: its exit code. The Python package calls it when it has registered controllers that
/// are in Python (`in_python`); otherwise commands that run in Python replace the process.
__attribute__((visibility("default"))) int tendril_main(int argc, char** argv, int in_python);
}
