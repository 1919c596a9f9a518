# Every room of the house is a static library `attngen_<room>` with the same warnings, made from the
# .cpp files beside its CMakeLists.txt; every test is a doctest program named after its room.

add_library(attngen_options INTERFACE)
target_compile_options(attngen_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                 -Wno-sign-conversion -Werror)
target_include_directories(attngen_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(ATTNGEN_SANITIZE)
  target_compile_options(attngen_options INTERFACE -fsanitize=address,undefined
                                                   -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(attngen_options INTERFACE -fsanitize=address,undefined)
endif()
if(ATTNGEN_FUZZ)
  target_compile_options(attngen_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined)
  target_link_options(attngen_options INTERFACE -fsanitize=address,undefined)
endif()

# attngen_room(<room> [DEPENDS <room or library>...]): links other rooms by their short names.
function(attngen_room room)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(attngen_${room} STATIC ${sources})
  set_target_properties(attngen_${room} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(attngen_${room} PUBLIC attngen_options)
  foreach(dependency IN LISTS ARG_DEPENDS)
    if(TARGET attngen_${dependency})
      target_link_libraries(attngen_${room} PUBLIC attngen_${dependency})
    else()
      target_link_libraries(attngen_${room} PUBLIC ${dependency})
    endif()
  endforeach()
endfunction()

# attngen_test(<name> <room or library>...): one doctest program of all *_test.cpp beside the caller.
function(attngen_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  add_executable(${name}_test ${sources} ${PROJECT_SOURCE_DIR}/tests/main.cpp)
  target_link_libraries(${name}_test PRIVATE attngen_options doctest::doctest)
  target_compile_definitions(${name}_test PRIVATE ATTNGEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  foreach(dependency IN LISTS ARGN)
    if(TARGET attngen_${dependency})
      target_link_libraries(${name}_test PRIVATE attngen_${dependency})
    else()
      target_link_libraries(${name}_test PRIVATE ${dependency})
    endif()
  endforeach()
  add_test(NAME ${name} COMMAND ${name}_test)
endfunction()
