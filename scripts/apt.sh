# Installing with apt-get, for scripts that define say() to source. Quiet unless it fails.

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
