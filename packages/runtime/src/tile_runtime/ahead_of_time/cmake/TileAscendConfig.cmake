# Kernels built by `tile-ascend compile-kernels`, for CMake projects.
#
#   find_package(TileAscend REQUIRED)            with -DTileAscend_DIR=$(tile-ascend where cmake)
#   tilelang_import_kernel_manifest(PREFIX rope MANIFEST_PATH .../manifest.json)
#   tilelang_register_runtime_kernel(NAME rope WRAPPER_SRCS rope_wrapper.cpp)
#
# Targets: TileAscend::headers (dispatch_registry.h) and TileAscend::simulator, which objects built with
# `--target sim` link to. The simulator is found, and built on its first use, by the command itself.
cmake_minimum_required(VERSION 3.19)

get_filename_component(_tile_ascend_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

if(NOT TARGET TileAscend::headers)
  add_library(TileAscend::headers INTERFACE IMPORTED)
  set_target_properties(TileAscend::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_tile_ascend_root}/include")
endif()

find_program(TileAscend_COMMAND tile-ascend DOC "The command of the Python package tile-ascend")

if(NOT TARGET TileAscend::simulator AND TileAscend_COMMAND)
  execute_process(
    COMMAND "${TileAscend_COMMAND}" where simulator
    OUTPUT_VARIABLE _tile_ascend_simulator
    RESULT_VARIABLE _tile_ascend_result
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(_tile_ascend_result EQUAL 0)
    find_package(Threads REQUIRED)
    set(_tile_ascend_sim_include "${_tile_ascend_root}/../simulator/include")
    add_library(TileAscend::simulator SHARED IMPORTED)
    set_target_properties(TileAscend::simulator PROPERTIES
      IMPORTED_LOCATION "${_tile_ascend_simulator}"
      IMPORTED_NO_SONAME ON
      INTERFACE_COMPILE_DEFINITIONS TILE_ASCEND_SIMULATOR
      INTERFACE_INCLUDE_DIRECTORIES "${_tile_ascend_sim_include};${_tile_ascend_sim_include}/host_headers"
      INTERFACE_LINK_LIBRARIES "TileAscend::headers;Threads::Threads")
  endif()
endif()

# Sets <PREFIX>_KERNEL_OBJECTS, <PREFIX>_VARIANTS_INC and <PREFIX>_REGISTRY_INC where it is called.
function(tilelang_import_kernel_manifest)
  cmake_parse_arguments(ARG "" "PREFIX;MANIFEST_PATH" "" ${ARGN})
  if(NOT ARG_PREFIX OR NOT ARG_MANIFEST_PATH)
    message(FATAL_ERROR "tilelang_import_kernel_manifest needs PREFIX and MANIFEST_PATH")
  endif()
  if(NOT EXISTS "${ARG_MANIFEST_PATH}")
    message(FATAL_ERROR "no manifest at ${ARG_MANIFEST_PATH}: run tile-ascend compile-kernels first")
  endif()
  get_filename_component(folder "${ARG_MANIFEST_PATH}" DIRECTORY)
  file(READ "${ARG_MANIFEST_PATH}" manifest)
  # Another build makes other objects: configure again.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${ARG_MANIFEST_PATH}")
  string(JSON version ERROR_VARIABLE problem GET "${manifest}" schema_version)
  if(NOT problem STREQUAL "NOTFOUND" OR NOT version EQUAL 2)
    message(FATAL_ERROR "${ARG_MANIFEST_PATH} is no manifest of schema_version 2")
  endif()
  string(JSON variants_inc GET "${manifest}" variants_inc)
  string(JSON registry_inc ERROR_VARIABLE problem GET "${manifest}" registry_inc)
  if(NOT problem STREQUAL "NOTFOUND")
    set(registry_inc "${variants_inc}")
  endif()
  foreach(name IN ITEMS variants_inc registry_inc)
    _tile_ascend_inside("${folder}" "${${name}}" ${name})
    if(NOT EXISTS "${${name}}")
      message(FATAL_ERROR "${ARG_MANIFEST_PATH} names ${${name}}, which is not there")
    endif()
  endforeach()
  string(JSON count LENGTH "${manifest}" variants)
  if(count EQUAL 0)
    message(FATAL_ERROR "${ARG_MANIFEST_PATH} has no variants")
  endif()
  set(objects "")
  math(EXPR last "${count} - 1")
  foreach(number RANGE ${last})
    string(JSON source GET "${manifest}" variants ${number} generated_source)
    string(JSON object GET "${manifest}" variants ${number} compiled_binary)
    _tile_ascend_inside("${folder}" "${source}" source)
    if(NOT EXISTS "${source}")
      message(FATAL_ERROR "${ARG_MANIFEST_PATH} names ${source}, which is not there")
    endif()
    if(object) # sources only: --target none
      _tile_ascend_inside("${folder}" "${object}" object)
      if(NOT EXISTS "${object}")
        message(FATAL_ERROR "${ARG_MANIFEST_PATH} names ${object}, which is not there")
      endif()
      list(APPEND objects "${object}")
    endif()
  endforeach()
  set_source_files_properties(${objects} PROPERTIES GENERATED TRUE EXTERNAL_OBJECT TRUE)
  set(${ARG_PREFIX}_KERNEL_OBJECTS "${objects}" PARENT_SCOPE)
  set(${ARG_PREFIX}_VARIANTS_INC "${variants_inc}" PARENT_SCOPE)
  set(${ARG_PREFIX}_REGISTRY_INC "${registry_inc}" PARENT_SCOPE)
endfunction()

# Adds a kernel's wrapper and objects to TILELANG_KERNEL_SRCS, and where its registry is to
# TILELANG_KERNEL_PRIVATE_DEFINITIONS. The tree is TILELANG_GENERATED_ROOT.
function(tilelang_register_runtime_kernel)
  cmake_parse_arguments(ARG "" "NAME" "WRAPPER_SRCS" ${ARGN})
  if(NOT ARG_NAME OR NOT ARG_WRAPPER_SRCS)
    message(FATAL_ERROR "tilelang_register_runtime_kernel needs NAME and WRAPPER_SRCS")
  endif()
  if(NOT TILELANG_GENERATED_ROOT)
    message(FATAL_ERROR "set TILELANG_GENERATED_ROOT to the --output-root of tile-ascend compile-kernels")
  endif()
  tilelang_import_kernel_manifest(
    PREFIX kernel
    MANIFEST_PATH "${TILELANG_GENERATED_ROOT}/targets/ascend/${ARG_NAME}/manifest.json")
  string(TOUPPER "${ARG_NAME}" upper)
  set_source_files_properties(${kernel_KERNEL_OBJECTS} PROPERTIES GENERATED TRUE EXTERNAL_OBJECT TRUE)
  set(TILELANG_KERNEL_SRCS ${TILELANG_KERNEL_SRCS} ${ARG_WRAPPER_SRCS} ${kernel_KERNEL_OBJECTS} PARENT_SCOPE)
  set(TILELANG_KERNEL_PRIVATE_DEFINITIONS
    ${TILELANG_KERNEL_PRIVATE_DEFINITIONS}
    "XLLM_TL_${upper}_REGISTRY_INC=\"${kernel_REGISTRY_INC}\"" PARENT_SCOPE)
endfunction()

# A path of a manifest, made whole; it does not lead out of the manifest's folder. Absolute ones are those of trees
# that another tool built.
function(_tile_ascend_inside folder path result)
  if(IS_ABSOLUTE "${path}")
    set(${result} "${path}" PARENT_SCOPE)
    return()
  endif()
  get_filename_component(whole "${folder}/${path}" ABSOLUTE)
  get_filename_component(folder "${folder}" ABSOLUTE)
  string(FIND "${whole}" "${folder}/" at)
  if(NOT at EQUAL 0)
    message(FATAL_ERROR "the path ${path} of a manifest leads out of ${folder}")
  endif()
  set(${result} "${whole}" PARENT_SCOPE)
endfunction()

set(TileAscend_FOUND TRUE)
