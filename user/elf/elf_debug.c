/* A stripped file → the file its symbols were split into, by build id or by name and checksum. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "elf_priv.h"
#include "log.h"

#define BUILD_ID_MAX 64

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

/* CRC-32 of IEEE 802.3, reflected, as .gnu_debuglink has it (GDB manual, "Separate Debug Files").
 */
static uint32_t crc32(const uint8_t *bytes, size_t size)
{
	uint32_t table[256], crc = ~0u;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	for (size_t i = 0; i < size; i++)
		crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
	return ~crc;
}

/* What must match between a debug file and its file. */
struct identity {
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_len;
	bool check_crc;
	uint32_t crc;
};

static bool belongs(const struct elf_file *debug, const struct identity *wanted)
{
	uint8_t id[BUILD_ID_MAX];
	size_t len = elf_file_build_id(debug, id, sizeof(id));

	if (!elf_file_has_symtab(debug))
		return false;
	/* A matching build id says more than the checksum, and costs no pass over the file. */
	if (wanted->build_id_len && len)
		return len == wanted->build_id_len && !memcmp(id, wanted->build_id, len);
	return wanted->check_crc && crc32(debug->bytes, debug->size) == wanted->crc;
}

/*
 * @path as a process with root directory @root sees it: an absolute link stays below it. O_NONBLOCK: it may
 * be a FIFO that someone put there.
 */
static int open_under(const char *root, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int folder = -1;

	if (!*root)
		return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return folder < 0 ? -1 : (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

static int try_path(const char *root, const char *path, const struct identity *wanted,
	struct elf_file **ret)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *debug = NULL;
	int fd = open_under(root, path), result;
	struct err why;

	if (fd < 0)
		return -ENOENT;
	result = elf_file_open(fd, path, &debug, &why);
	if (result) {
		log_debug("no debug file: %s", why.text);
		return -ENOENT;
	}
	if (!belongs(debug, wanted)) {
		log_debug("%s belongs to another build, or holds no symbols", path);
		return -ENOENT;
	}
	*ret = steal_ptr(debug);
	return 0;
}

static int try_build_id(const struct identity *wanted, const char *root, struct elf_file **ret)
{
	char hex[2 * BUILD_ID_MAX + 1] = "", path[PATH_MAX];

	if (wanted->build_id_len < 2)
		return -ENOENT;
	for (size_t i = 0; i < wanted->build_id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", wanted->build_id[i]);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	return try_path(root, path, wanted, ret);
}

/* The name and the checksum of .gnu_debuglink; the name must be one, not a path. */
static const char *read_link(const struct elf_file *file, uint32_t *ret_crc)
{
	struct elf_section section;
	const char *name;
	size_t at;

	if (!elf_section_find(file, ".gnu_debuglink", &section))
		return NULL;
	name = elf_string(section.bytes, section.size, 0);
	if (!name || !*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return NULL;
	at = (strlen(name) + 1 + 3) & ~(size_t)3;
	if (at > section.size || section.size - at < sizeof(*ret_crc))
		return NULL;
	memcpy(ret_crc, section.bytes + at, sizeof(*ret_crc));
	return name;
}

static int try_link(const char *name, const struct identity *wanted, const char *root,
	const char *path, struct elf_file **ret)
{
	static const char *const patterns[][2] = {
		{"", ""}, {"", "/.debug"}, {"/usr/lib/debug", ""}};
	size_t prefix = strlen(root);
	const char *slash;
	char candidate[PATH_MAX];
	int len;

	if (!strncmp(path, root, prefix) && path[prefix] == '/')
		path += prefix;
	slash = strrchr(path, '/');
	if (!slash || slash - path >= PATH_MAX)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		len = snprintf(candidate, sizeof(candidate), "%s%.*s%s/%s", patterns[i][0],
			(int)(slash - path), path, patterns[i][1], name);
		if (len < (int)sizeof(candidate) && !try_path(root, candidate, wanted, ret))
			return 0;
	}
	return -ENOENT;
}

int elf_file_open_debug(const struct elf_file *file, const char *root, const char *path,
	struct elf_file **ret, struct err *err)
{
	struct identity wanted = {};
	const char *link;

	wanted.build_id_len = elf_file_build_id(file, wanted.build_id, sizeof(wanted.build_id));
	if (!try_build_id(&wanted, root, ret))
		return 0;
	link = read_link(file, &wanted.crc);
	wanted.check_crc = link;
	if (link && !try_link(link, &wanted, root, path, ret))
		return 0;
	return err_set(err, ENOENT,
		"%s has no debug file under %s/usr/lib/debug; install its debug symbols (-dbg or "
		"-dbgsym package)",
		file->name, root);
}
