// toml++ compiled into a wheel, from its headers.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
