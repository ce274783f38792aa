//! Installing with CMake, and finding what was installed with CMake and with pkg-config.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::toolchain::{crate_dir, exists, succeed, target_dir, tmp};

const MAIN: &str = r#"
#include <cstdlib>
#include <hotloop.hpp>
int main(int argc, char**) {
    hotloop::start();
    {
        PROFILE_SCOPE("installed");
        std::free(std::malloc(static_cast<std::size_t>(argc) * 100));
    }
    const hotloop::Entry e = hotloop::find("installed");
    return e.calls == 1 && (e.allocs == 1) == COUNTED ? 0 : 1;
}
"#;

const PROJECT: &str = r#"
cmake_minimum_required(VERSION 3.16)
project(user CXX)
set(CMAKE_CXX_STANDARD 11)
if(HOTLOOP_SOURCE)
    add_subdirectory("${HOTLOOP_SOURCE}" hotloop)
else()
    find_package(hotloop 0.1 REQUIRED)
endif()
add_compile_options(-fno-builtin)
add_executable(shared main.cpp)
target_compile_definitions(shared PRIVATE COUNTED=0)
target_link_libraries(shared hotloop::hotloop)
add_executable(static main.cpp)
target_compile_definitions(static PRIVATE COUNTED=0)
target_link_libraries(static hotloop::hotloop_static)
add_executable(counted main.cpp)
target_compile_definitions(counted PRIVATE COUNTED=1)
target_link_libraries(counted hotloop::malloc hotloop::hotloop)
add_executable(counted_static main.cpp)
target_compile_definitions(counted_static PRIVATE COUNTED=1)
target_link_libraries(counted_static hotloop::malloc hotloop::hotloop_static)
"#;

fn cmake(arguments: &[&str]) {
    succeed(Command::new("cmake").args(arguments));
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}

/// Builds a project that uses hotloop by `how`, and runs its programs.
fn use_it(project: &Path, how: &str) {
    let build = project.join("build");
    cmake(&["-S", shown(project), "-B", shown(&build), "-DCMAKE_BUILD_TYPE=Release", how, &cargo_dir()]);
    cmake(&["--build", shown(&build)]);
    for program in ["shared", "static", "counted", "counted_static"] {
        succeed(&mut Command::new(build.join(program)));
    }
}

/// So that Cargo has nothing to build that the tests have not built already.
fn cargo_dir() -> String {
    format!("-DHOTLOOP_CARGO_TARGET_DIR={}", shown(target_dir()))
}

fn use_by_pkg_config(work: &Path, prefix: &Path) {
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(["--cflags", "--libs", "hotloop"]);
    let flags = succeed(&mut pkg_config);
    let program = work.join("by-pkg-config");
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++11", "-fno-builtin", "-DCOUNTED=0"]).arg(work.join("main.cpp")).arg("-o").arg(&program);
    compiler.args(flags.split_whitespace()).arg(format!("-Wl,-rpath,{}", shown(&prefix.join("lib"))));
    succeed(&mut compiler);
    succeed(&mut Command::new(&program));
}

/// What is installed carries no debug information, which is most of what Cargo builds.
fn check_sizes(prefix: &Path) {
    let size = |path: &Path| fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).len();
    for library in ["libhotloop.so", "libhotloop.a"] {
        let (installed, built) =
            (size(&prefix.join("lib").join(library)), size(&target_dir().join("release").join(library)));
        assert!(installed < built, "{library}: {installed} bytes installed, {built} built");
    }
}

/// A folder with a project that uses hotloop.
fn project(work: &Path) -> &Path {
    // A leftover of an earlier run would hide what the installation forgot.
    let _ = fs::remove_dir_all(work);
    fs::create_dir_all(work).expect("a folder for the project");
    fs::write(work.join("main.cpp"), MAIN).expect("the program is written");
    fs::write(work.join("CMakeLists.txt"), PROJECT).expect("the project is written");
    work
}

#[test]
#[allow(clippy::print_stderr, reason = "says what was not tested")]
fn cmake_installs_what_cmake_and_pkg_config_find() {
    if !exists("cmake") {
        return eprintln!("not tested: cmake is not installed");
    }
    let work = tmp().join("cmake-install");
    let project = project(&work);
    let (build, prefix) = (work.join("hotloop"), work.join("prefix"));
    let to_prefix = format!("-DCMAKE_INSTALL_PREFIX={}", shown(&prefix));
    let source = shown(crate_dir());
    cmake(&["-S", source, "-B", shown(&build), "-DCMAKE_INSTALL_LIBDIR=lib", &to_prefix, &cargo_dir()]);
    cmake(&["--build", shown(&build)]);
    cmake(&["--install", shown(&build)]);
    check_sizes(&prefix);
    use_it(project, &format!("-DCMAKE_PREFIX_PATH={}", shown(&prefix)));
    if exists("pkg-config") {
        use_by_pkg_config(&work, &prefix);
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "says what was not tested")]
fn cmake_projects_can_contain_it() {
    if !exists("cmake") {
        return eprintln!("not tested: cmake is not installed");
    }
    let work = tmp().join("cmake-contain");
    use_it(project(&work), &format!("-DHOTLOOP_SOURCE={}", shown(crate_dir())));
}
