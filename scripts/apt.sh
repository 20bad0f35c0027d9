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

# $2, of apt, with sources, lists, cache and (empty) package database of its own in folder $1.
private_apt() {
	local dir=$1 command=$2
	shift 2
	"$command" -o Dir="$dir" -o Dir::Etc="$dir/etc" -o Dir::Etc::sourcelist=sources.list \
		-o Dir::Etc::sourceparts=/dev/null -o Dir::State="$dir/state" \
		-o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache" \
		-o Dir::Etc::preferencesparts=/dev/null \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
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

# The home of the user who asked, under sudo too.
user_home() { getent passwd "${SUDO_USER:-$(id -un)}" | cut -d: -f6; }
