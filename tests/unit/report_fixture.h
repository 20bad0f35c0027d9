/*
 * Recordings made from tests/golden/NAME.sql and their reports. GCTRACE_GOLDEN=DIR says where those are. To be
 * included after cmocka.h.
 */
#pragma once

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis.h"
#include "cleanup.h"
#include "json.h"
#include "report.h"
#include "store.h"

#ifndef GCTRACE_GOLDEN
#define GCTRACE_GOLDEN "tests/golden"
#endif

static char folder[] = "/tmp/gctrace-test-report-XXXXXX";

static inline const char *golden_folder(void)
{
	const char *given = getenv("GCTRACE_GOLDEN");

	return given ? given : GCTRACE_GOLDEN;
}

/* The whole file as a string, or NULL. Caller frees. */
static inline char *slurp(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (file && getdelim(&text, &size, EOF, file) < 0 && !text)
		text = strdup("");
	return text;
}

/* SQL that make_recording() runs after the recording's own; NULL: none. */
static const char *recording_more;

static inline struct store_reader *make_recording(const char *name)
{
	_cleanup_free_ char *sql = NULL;
	char path[256], sql_path[256];
	struct store_reader *reader = NULL;
	struct err err = {""};
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/%s.gct", folder, name);
	snprintf(sql_path, sizeof(sql_path), "%s/%s.sql", golden_folder(), name);
	sql = slurp(sql_path);
	if (!sql)
		fail_msg("cannot read %s: set GCTRACE_GOLDEN to the folder tests/golden", sql_path);
	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, store_schema_sql, NULL, NULL, NULL), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql_path, sqlite3_errmsg(db));
	if (recording_more && sqlite3_exec(db, recording_more, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", recording_more, sqlite3_errmsg(db));
	sqlite3_close(db);
	if (store_open(path, &reader, &err))
		fail_msg("%s", err.text);
	return reader;
}

/*
 * The report of golden recording @name, as `gctrace report --step @step` makes it, with --gc-only or not.
 * Caller frees.
 */
static inline char *make_report_of(const char *name, const char *format, const char *step,
	bool gc_only)
{
	struct reading reading = {.gc_only = gc_only, .step = step ? &reading.spec : NULL};
	struct report_input input;
	struct analysis analysis;
	struct err err = {""};
	char *text = NULL, path[256];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	store_reader_free(make_recording(name));
	snprintf(path, sizeof(path), "%s/%s.gct", folder, name);
	if ((step && step_spec_parse(step, &reading.spec, &err)) ||
		analysis_open(&analysis, path, &reading, ANALYSIS_ADVICE, &err) ||
		analysis_input(&analysis, NULL, name, &input, &err))
		fail_msg("%s", err.text);
	if (gc_only)
		input.left_out = &analysis.left_out;
	if (report_find(format)->write(&input, out, &err))
		fail_msg("%s", err.text);
	fclose(out);
	analysis_close(&analysis);
	return text;
}

static inline char *make_report(const char *name, const char *format)
{
	return make_report_of(name, format, NULL, false);
}

/* Goldens written by the run that compares with them prove nothing: CI must not ask for it. */
static inline bool is_refused(const char *update, const char *ci)
{
	return update && ci && *ci;
}

static inline bool golden_refused(void)
{
	if (!is_refused(getenv("GCTRACE_GOLDEN_UPDATE"), getenv("CI")))
		return false;
	fputs("GCTRACE_GOLDEN_UPDATE is refused under CI: update on your own machine and commit the "
	      "difference\n",
		stderr);
	return true;
}

/* Compares @report with NAME.SUFFIX, byte for byte, or writes that. */
static inline void golden_compare(const char *report, const char *name, const char *suffix)
{
	_cleanup_free_ char *expected = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.%s", golden_folder(), name, suffix);
	if (getenv("GCTRACE_GOLDEN_UPDATE")) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fputs(report, file);
		fclose(file);
	}
	expected = slurp(path);
	if (!expected)
		fail_msg("cannot read %s", path);
	if (strcmp(report, expected))
		fail_msg("%s differs; the report is now:\n%s", path, report);
}

/* Every line of @records is a record of the schema, and has no key that is not in it. */
static inline void check_schema(const char *records)
{
	char path[256];
	FILE *pipe;

	if (system("python3 -c 'import jsonschema' 2>/dev/null")) {
		print_message("skipped: python3-jsonschema is not installed\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/schema.json", folder);
	pipe = fopen(path, "w");
	assert_non_null(pipe);
	fputs(json_schema, pipe);
	fclose(pipe);
	snprintf(path, sizeof(path), "GCTRACE_SCHEMA=%s/schema.json python3 -", folder);
	pipe = popen(path, "w");
	assert_non_null(pipe);
	fputs("import json, os, jsonschema\n"
	      "v = jsonschema.Draft202012Validator(json.load(open(os.environ['GCTRACE_SCHEMA'])))\n"
	      "v.check_schema(v.schema)\n"
	      "for line in r'''",
		pipe);
	fputs(records, pipe);
	fputs("'''.splitlines():\n"
	      "    record = json.loads(line)\n"
	      "    v.validate(record)\n"
	      "    known = v.schema['$defs'][record['type']]['properties']\n"
	      "    assert not set(record) - set(known), set(record) - set(known)\n"
	      "for bad in ({}, {'type': 'pause'}, {'type': 'drop', 'cause': 1, 'count': 1}):\n"
	      "    assert not v.is_valid(bad), bad\n",
		pipe);
	assert_int_equal(pclose(pipe), 0);
}

static inline int setup(void **state)
{
	alarm(120);
	setenv("TZ", "UTC", 1);
	return mkdtemp(folder) ? 0 : -1;
}

static inline int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}
