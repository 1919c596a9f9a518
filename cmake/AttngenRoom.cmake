# Every room of the house is a static library `attngen_<room>` with the same warnings, made from the
# .cpp files beside its CMakeLists.txt; every test is a doctest program named after its room. The
# presets for tests compile a room's files as one (CMAKE_UNITY_BUILD): names are the room's.

add_library(attngen_options INTERFACE)
# Without multiply-adds that the source does not have: clang's with -mfma would make other numbers,
# and the same spec is to give the same bytes on every machine.
target_compile_options(attngen_options INTERFACE -ffp-contract=off)
# -Wrestrict of GCC 12 is wrong about std::string's operator+ at -O3 (GCC bug 105651).
target_compile_options(attngen_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                 -Wno-sign-conversion
                                                 $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(ATTNGEN_WERROR)  # for who works on attngen: another's compiler may know more warnings
  target_compile_options(attngen_options INTERFACE -Werror)
endif()
target_include_directories(attngen_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(attngen_options INTERFACE ATTNGEN_VERSION="${PROJECT_VERSION}")
if(ATTNGEN_SANITIZE)
  target_compile_options(attngen_options INTERFACE -fsanitize=address,undefined
                                                   -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(attngen_options INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(attngen_options INTERFACE ATTNGEN_SANITIZED)  # tests are fewer then
endif()
if(ATTNGEN_FUZZ)
  target_compile_options(attngen_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# For programs that test and leave the work to rooms: optimising them takes longer than it saves.
function(attngen_optimise_little target)
  target_compile_options(${target} PRIVATE $<IF:$<CONFIG:Release>,-O1,-O0>)
endfunction()

# Links rooms by their short names and libraries by their own.
function(attngen_link target visibility)
  foreach(dependency IN LISTS ARGN)
    if(TARGET attngen_${dependency})
      set(dependency attngen_${dependency})
    endif()
    target_link_libraries(${target} ${visibility} ${dependency})
  endforeach()
endfunction()

# attngen_room(<room> [DEPENDS <room or library>...])
function(attngen_room room)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(attngen_${room} STATIC ${sources})
  set_target_properties(attngen_${room} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  attngen_link(attngen_${room} PUBLIC options ${ARG_DEPENDS})
endfunction()

# attngen_test(<name> <room or library>...): one doctest program of all *_test.cpp beside the caller.
function(attngen_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  add_executable(${name}_test ${sources})
  target_compile_definitions(${name}_test PRIVATE ATTNGEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  attngen_link(${name}_test PRIVATE options doctest_main ${ARGN})
  attngen_optimise_little(${name}_test)
  add_test(NAME ${name} COMMAND ${name}_test)
endfunction()

# A test that cannot run here, and why; ctest lists it as skipped.
function(attngen_skipped_test name reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
  message(STATUS "Test ${name} will be skipped: ${reason}")
endfunction()
