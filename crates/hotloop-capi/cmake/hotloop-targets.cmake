# The targets of hotloop, over libraries that are built or installed already.
function(hotloop_add_targets include_dir shared static)
    find_package(Threads REQUIRED)
    add_library(hotloop::hotloop SHARED IMPORTED GLOBAL)
    set_target_properties(hotloop::hotloop PROPERTIES
        IMPORTED_LOCATION "${shared}"
        IMPORTED_SONAME "libhotloop${CMAKE_SHARED_LIBRARY_SUFFIX}"
        INTERFACE_INCLUDE_DIRECTORIES "${include_dir}")
    add_library(hotloop::hotloop_static STATIC IMPORTED GLOBAL)
    set_target_properties(hotloop::hotloop_static PROPERTIES
        IMPORTED_LOCATION "${static}"
        INTERFACE_INCLUDE_DIRECTORIES "${include_dir}"
        INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endfunction()
