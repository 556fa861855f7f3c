# Text that is both source and data. embed_text writes a C file that defines `const char SYMBOL[]`
# with the contents of the files; it is remade when they change.
function(embed_text room symbol)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  string(REPLACE ";" "," in "${files}")
  set(out ${CMAKE_BINARY_DIR}/generated/${symbol}.c)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} "-DIN=${in}" -DOUT=${out} -DSYMBOL=${symbol}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake)
  set(embedded_${room} ${embedded_${room}} ${out} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
embed_text(expr clsi_kernels_text src/expr/elementary.inc src/expr/kernels.inc)
embed_text(expr clsi_pairs_text src/expr/pairs.inc)
if(EXISTS ${CMAKE_SOURCE_DIR}/src/field/network_node.inc)
  embed_text(field clsi_network_node_text src/field/network_node.inc)
endif()
# The built-in systems: clsi_builtin_<name with _> for every file, plus the template of `clausius new`.
file(GLOB builtin_files RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS src/system/builtin/*.clausius)
foreach(file IN LISTS builtin_files)
  get_filename_component(stem ${file} NAME_WE)
  string(REPLACE "-" "_" stem ${stem})
  embed_text(system clsi_builtin_${stem} ${file})
endforeach()
# The texts that exported C is made of: those that the library compiles too, and its own.
embed_text(export clsi_dense_text src/system/dense.inc)
embed_text(export clsi_sparse_lu_text src/system/sparse_lu.inc)
embed_text(export clsi_newton_text src/simulate/newton.inc)
embed_text(export clsi_step_text src/simulate/step.inc)
embed_text(export clsi_lawful_text src/simulate/lawful.inc)
embed_text(export clsi_export_model_text src/export/templates/model.c.in)
embed_text(export clsi_export_slopes_text src/export/templates/slopes.c.in)
embed_text(export clsi_export_dense_slopes_text src/export/templates/dense_slopes.c.in)
embed_text(export clsi_export_main_text src/export/templates/main.c.in)
embed_text(export clsi_export_few_names_text src/export/templates/few_names.c.in)
embed_text(export clsi_export_many_names_text src/export/templates/many_names.c.in)
embed_text(export clsi_export_fmu_text src/export/templates/fmu.c.in)
embed_text(export clsi_export_fmi2_text src/export/templates/fmi2.c.in)
embed_text(export clsi_export_fmi3_text src/export/templates/fmi3.c.in)
embed_text(export clsi_export_prelude_text src/export/templates/prelude.mjs.in)
# What a report brings along.
embed_text(page clsi_page_css src/page/page.css)
embed_text(page clsi_page_zoom src/page/zoom.js)
embed_text(page clsi_page_sketch src/page/sketch.js)
embed_text(page clsi_page_try src/page/try.js)
