# CPythons that no package has ready to run: built from a distribution's source package with the flags of builds that people
# run, or taken from Maven Central. For scripts/runtimes to source. Out: trees $cache/NAME with bin/, lib/ and `rows`, which
# has a line for each program: name, executable, the file with the runtime's code.

# name | when | from | how
# when: always, or named: the build takes many minutes, so only if it is asked for by name
# from: suite and source package, or what Maven calls it
# how: configure's arguments; of a jar, the folder in it
builds() {
	cat <<-'TABLE'
	built-3.13t|always|trixie python3.13|--disable-gil
	built-3.14t|always|resolute python3.14|--disable-gil
	built-3.13-clang|named|trixie python3.13|CC=clang
	maven-3.14.3|always|org.bytedeco:cpython:3.14.3-1.5.13:jar:linux-x86_64|org/bytedeco/cpython/linux-x86_64
	built-3.13-pgo|named|trixie python3.13|CC=clang --enable-optimizations --with-lto --enable-bolt
	built-3.13-shared|named|trixie python3.13|--enable-shared --enable-optimizations --with-lto
	built-3.13-musl|named|trixie python3.13|CC=musl-gcc --enable-shared
	TABLE
}

# What a profile is made of: a compiler at work, and with it the collector.
profile_task='-m compileall -qf Lib/asyncio Lib/email Lib/unittest Lib/multiprocessing'

# Modules that take long to compile and that no test imports; the collector is in none.
left_out=(_ctypes _ctypes_test _curses _curses_panel _dbm _decimal _elementtree _gdbm _hashlib _lzma _bz2 _multibytecodec
	_codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _sqlite3 _ssl _tkinter _uuid _zstd nis
	ossaudiodev pyexpat readline)

# The source without what is not compiled.
unpack_source() {
	tar -xf "$1" -C "$2" --strip-components=1 --exclude='*/Doc' --exclude='*/Lib/test' \
		--exclude='*/Lib/idlelib' --exclude='*/Lib/turtledemo' --exclude='*/Lib/tkinter' \
		--exclude='*/Lib/ensurepip' --exclude='*/PCbuild' --exclude='*/Mac'
}

# The upstream archive of $2's source package in suite $1, unpacked into $3.
fetch_source() {
	update_suite "$1" deb-src &&
		(cd "$3/.." && suite_apt "$1-src" apt-get source --download-only --tar-only "$2" >&2) &&
		unpack_source "$3"/../*.orig.tar.?z "$3"
}

# Puts what was built in the current folder into the tree $1, as `make install` would, less what takes it minutes.
install_build() {
	local tree=$1 name=$2 exe lib elf so
	read -r exe lib < <(LD_LIBRARY_PATH=. ./python -c 'import os, sysconfig
print("python" + sysconfig.get_config_var("LDVERSION"), os.path.basename(sysconfig.get_config_var("LIBDEST")))')
	mkdir -p "$tree/bin" "$tree/lib/$lib/lib-dynload"
	cp -r Lib/. "$tree/lib/$lib" &&
		cp -L "$(cat pybuilddir.txt)"/*.so "$tree/lib/$lib/lib-dynload" &&
		cp "$(cat pybuilddir.txt)"/_sysconfigdata*.py "$tree/lib/$lib" &&
		cp python "$tree/bin/$exe" || return 1
	elf=bin/$exe
	for so in libpython3.*.so.1.0; do
		[ ! -e "$so" ] || { cp "$so" "$tree/lib/" && elf=lib/$so; }
	done
	echo "$name bin/$exe $elf" >"$tree/rows"
	if [ -e python.prebolt ]; then # as it was before BOLT rewrote it
		cp python.prebolt "$tree/bin/$exe-prebolt"
		echo "$name-prebolt bin/$exe-prebolt bin/$exe-prebolt" >>"$tree/rows"
	fi
	[ "$elf" = "bin/$exe" ] || embed "$tree" "$name" "$elf"
}

# Beside a libpython $3: a program of another kind that is linked to it.
embed() {
	local tree=$1 name=$2 elf=$3
	printf '%s\n' '#include <Python.h>' \
		'int main(int argc, char **argv) { return Py_BytesMain(argc, argv); }' >embedded.c
	$(sed -n 's/^CC=[[:space:]]*//p' Makefile | head -n 1) -IInclude -I. -o "$tree/bin/embedded" embedded.c \
		"$tree/$elf" -Wl,-rpath,"$cache/$name/lib" || return 1
	echo "$name-embedded bin/embedded $elf" >>"$tree/rows"
}

# Compiles $2/source as $cache/$1 will have it, into $2/tree; what follows is for configure.
compile() {
	local name=$1 work=$2 targets=(python sharedmods) without=("${left_out[@]/#/py_cv_module_}")
	without=("${without[@]/%/=n/a}")
	shift 2
	cd "$work/source" || return 1
	case " $* " in *--enable-optimizations*) targets=(all) ;; esac
	case " $* " in *--enable-shared*) set -- "$@" LDFLAGS="-Wl,-rpath,$cache/$name/lib" ;; esac
	# It names glibc's place for libraries, which configure takes for a mistake.
	printf '%s\n' '#!/bin/sh' '[ "$1" = --print-multiarch ] || exec /usr/bin/musl-gcc "$@"' >"$work/musl-gcc"
	chmod +x "$work/musl-gcc"
	PATH=$work:$PATH:/usr/lib/llvm-19/bin # where bolt-19 has what configure looks for
	# Without debug information, which nothing here reads: with it, llvm-bolt 19.1.7 crashed after clang's ThinLTO.
	./configure --prefix="$cache/$name" --without-ensurepip --disable-test-modules \
		ac_cv_prog_cc_g=no "${without[@]}" "$@" &&
		sed -i '/^build_all:/,/^$/s# Programs/_testembed # #' Makefile && # a second link of everything, for CPython's tests
		make -j"$(nproc)" "${targets[@]}" PROFILE_TASK="$profile_task" &&
		install_build "$work/tree" "$name"
}

# What the build of arguments $1 needs beside a C compiler, installed where it is missing.
need_tools() {
	local tool package
	while read -r tool package; do
		command -v "$tool" >/dev/null || [ -x "/usr/lib/llvm-19/bin/$tool" ] ||
			apt_install "$package" || return 1
	done < <(
		echo make make
		case $1 in *clang*) echo clang clang ;; esac
		case $1 in *clang*--enable-optimizations*) echo llvm-profdata llvm ;; esac # and llvm-ar, for LTO
		case $1 in *musl*) echo musl-gcc musl-tools ;; esac
		case $1 in *bolt*) echo llvm-bolt bolt-19 ;; esac
		case $1 in *org/*) echo mvn maven ;; esac
	)
}

# What Maven calls $3, unpacked from folder $4 of its jar into $2/tree.
take_jar() {
	local name=$1 work=$2 folder=$4 exe
	mvn -B -q dependency:copy -Dartifact="$3" -DoutputDirectory="$work/jar" &&
		"$(system_python)" -m zipfile -e "$work"/jar/*.jar "$work/unpacked" || return 1
	rmdir "$work/tree" && mv "$work/unpacked/$folder" "$work/tree" || return 1
	exe=$(cd "$work/tree" && ls bin/python3.[0-9]* | grep -v config) || return 1
	chmod +x "$work/tree/$exe"
	echo "$name $exe $(cd "$work/tree" && ls libpython3.*.so.1.0)" >"$work/tree/rows"
}

make_build() {
	local name=$1 work=$2 from=$3
	shift 3
	mkdir "$work/source" "$work/tree"
	need_tools "$*" || return 1
	case $from in
	*:*) take_jar "$name" "$work" "$from" "$1" ;;
	*)
		# shellcheck disable=SC2086 # a suite and a package
		fetch_source $from "$work/source" && (compile "$name" "$work" "$@")
		;;
	esac
}

fetch_build() {
	local name=$1 from=$2 how=$3 want="$2|$3" work
	[ "$(cat "$cache/$name/stamp" 2>/dev/null)" != "$want" ] || return 0
	say "making $name from $from ($how)"
	work=$(mktemp -d "$cache/build.XXXXXX")
	# shellcheck disable=SC2086 # a list of words
	if make_build "$name" "$work" "$from" $how >"$cache/$name.log" 2>&1; then
		printf '%s' "$want" >"$work/tree/stamp"
		rm -rf "${cache:?}/$name"
		mv "$work/tree" "$cache/$name"
		rm -f "$cache/$name.log"
	else
		say "$name: could not be made, skipped; see $cache/$name.log"
	fi
	rm -rf "$work"
}

# The programs of all that was made: name, executable, ELF with the code.
built_pythons() {
	local name program exe elf
	while IFS='|' read -r name _; do
		[ -e "$cache/$name/stamp" ] || continue
		while read -r program exe elf; do
			printf '%s %s %s\n' "$program" "$cache/$name/$exe" "$cache/$name/$elf"
		done <"$cache/$name/rows"
	done < <(builds)
}
