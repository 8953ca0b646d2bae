set(KEEL_SANITIZE "" CACHE STRING "address (ASan and UBSan), thread (TSan), or empty")
set_property(CACHE KEEL_SANITIZE PROPERTY STRINGS "" address thread)

# The build type of ./check: quick to compile, and stack traces that can be read. Optimising
# instrumented code takes a third of the time to compile it, so only what tests run hot gets -O1:
# keel_optimise_check().
set(CMAKE_CXX_FLAGS_CHECK "-O0 -g1 -fno-omit-frame-pointer")
set(CMAKE_C_FLAGS_CHECK "-O0 -g1 -fno-omit-frame-pointer")

function(keel_optimise_check target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Check>:-O1>)
endfunction()

if(KEEL_SANITIZE STREQUAL "address")
  # GCC's flow analysis sees ghosts in instrumented code: -Wmaybe-uninitialized is for release
  # builds.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -Wno-maybe-uninitialized)
  # These three double the time to compile. AddressSanitizer sees the null pointers that matter.
  add_compile_options(-fno-sanitize=null,alignment,vptr)
  add_link_options(-fsanitize=address,undefined)
elseif(KEEL_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -Wno-maybe-uninitialized)
  # ThreadSanitizer does not know fences (GCC refuses them). Asio needs none where its own mutexes
  # order the handlers, as they do here.
  add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  add_link_options(-fsanitize=thread)
elseif(KEEL_SANITIZE)
  message(FATAL_ERROR "KEEL_SANITIZE is '${KEEL_SANITIZE}'; it may be address, thread or empty")
endif()

add_compile_definitions(_GLIBCXX_ASSERTIONS)
