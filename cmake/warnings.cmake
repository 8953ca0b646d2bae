# What we write is held to these. What protoc writes is not (proto/CMakeLists.txt).
add_library(keel_warnings INTERFACE)
target_compile_options(keel_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wmissing-field-initializers
  -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # GCC 12 sees copies of 2^63 bytes in "text" + std::string at -O3 (GCC bug 105329).
  -Wno-restrict)
