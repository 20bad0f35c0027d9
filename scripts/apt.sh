# Installing and fetching with apt-get, for scripts that define say() to source. Quiet unless it fails.

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -E "$@"
	else
		say "'$1' needs root: run this as root or install sudo"
		return 1
	fi
}

# What apt-get prints is shown only if it fails.
apt_run() {
	local log status=0
	log=$(mktemp)
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 \
		-o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1 || status=$?
	[ $status -eq 0 ] || tail -n 30 "$log" >&2
	rm -f "$log"
	return $status
}

apt_update() { apt_run update; }
apt_install() { apt_run install -y --no-install-recommends "$@"; }

# $2, of apt, with sources, lists, cache and (empty) package database of its own in folder $1; for the machine $apt_arch,
# if that is set.
private_apt() {
	local dir=$1 command=$2
	shift 2
	"$command" -o Dir="$dir" -o Dir::Etc="$dir/etc" -o Dir::Etc::sourcelist=sources.list \
		-o Dir::Etc::sourceparts=/dev/null -o Dir::State="$dir/state" \
		-o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache" \
		-o Dir::Etc::preferencesparts=/dev/null \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		${apt_arch:+-o "APT::Architecture=$apt_arch" -o "APT::Architectures=$apt_arch"} \
		-o DPkg::Post-Invoke= -o APT::Update::Post-Invoke= \
		-o Acquire::Retries=3 -qq "$@"
}

# Makes folder $1 for private_apt and fetches the lists of the sources on standard input.
private_apt_update() {
	mkdir -p "$1"/{etc,state/lists/partial,cache/archives/partial}
	: >"$1/status"
	cat >"$1/etc/sources.list"
	private_apt "$1" apt-get update >&2
}

# Unpacks package file $1 into folder $2, without documentation.
unpack_deb() {
	dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink \
		--no-same-owner --exclude='./usr/share/doc*' --exclude='./usr/share/man' \
		--exclude='./usr/share/locale' --exclude='./usr/share/lintian'
}

# Enters package file $1, unpacked into root $2, into that root's package database, with its terms: for dpkg-query.
register_deb() {
	local base=$2/var/lib/dpkg name
	name=$(dpkg-deb -f "$1" Package) || return 1
	mkdir -p "$base/info"
	{ dpkg-deb -f "$1" && printf 'Status: install ok unpacked\n\n'; } >>"$base/status" || return 1
	dpkg-deb --fsys-tarfile "$1" | tar -t | sed -n 's#^\./\(.*[^/]\)/\{0,1\}$#/\1#p' >"$base/info/$name.list"
	dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink --no-same-owner --wildcards \
		"./usr/share/doc/$name/copyright" 2>/dev/null || true # or there is a link to another's folder
}

# Fetches packages $3… with all they depend on, by private_apt in folder $1, and unpacks them as a root of merged-usr layout
# in $2. No script of theirs runs. The root gets a package database if $apt_database is set.
private_root() {
	local dir=$1 root=$2 deb archives=$1/cache/archives
	shift 2
	rm -f "$archives"/*.deb
	private_apt "$dir" apt-get install --download-only -y --no-install-recommends "$@" >&2 || return 1
	mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$root"/{tmp,proc,sys,dev,etc,root}
	ln -s usr/bin usr/sbin usr/lib usr/lib64 "$root"
	chmod 1777 "$root/tmp"
	for deb in "$archives"/*.deb; do
		case ${deb##*/} in
		dpkg_* | debconf_* | perl-base_* | tzdata_*) continue ;;
		esac
		unpack_deb "$deb" "$root" || return 1
		[ -z "${apt_database:-}" ] || register_deb "$deb" "$root" || return 1
	done
	rm -f "$archives"/*.deb
	printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
	printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
}

# Fetches packages $3… alone, likewise: what they have of /usr/lib/debug becomes folder $2.
private_debug() {
	local dir=$1 debug=$2 work deb
	shift 2
	work=$(mktemp -d "$debug.XXXXXX")
	(cd "$work" && private_apt "$dir" apt-get download "$@" >&2) || return 1
	for deb in "$work"/*.deb; do
		mkdir -p "$work/tree"
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$work/tree" --no-same-owner ./usr/lib/debug || return 1
	done
	mkdir -p "$debug"
	cp -al "$work/tree/usr/lib/debug/." "$debug"
	rm -rf "$work"
}

# The home of the user who asked, under sudo too.
user_home() { getent passwd "${SUDO_USER:-$(id -un)}" | cut -d: -f6; }
